/** Prompts and resources, over the instance's own MCP door. */

import { queryOptions } from "@tanstack/react-query";
import { listAll, oneOf } from "@/api/mcp";
import { type JsonObject, member } from "@/lib/json";

export type Prompt = {
  name: string;
  title: string;
  description: string;
  arguments: { name: string; description: string; required: boolean }[];
};
export type Resource = {
  uri: string;
  name: string;
  description: string;
  mimeType: string;
  isTemplate: boolean;
};

const text = (object: JsonObject, key: string) => (typeof object[key] === "string" ? object[key] : "");

export const promptsQuery = (id: string, slug: string) =>
  queryOptions({
    queryKey: ["offer", id, "prompts"],
    queryFn: async ({ signal }) =>
      (await listAll(oneOf(slug), "prompts/list", "prompts", signal)).map(promptOf),
  });

export const resourcesQuery = (id: string, slug: string) =>
  queryOptions({
    queryKey: ["offer", id, "resources"],
    queryFn: async ({ signal }) => {
      const door = oneOf(slug);
      const [fixed, templates] = await Promise.all([
        listAll(door, "resources/list", "resources", signal),
        listAll(door, "resources/templates/list", "resourceTemplates", signal),
      ]);
      return [
        ...fixed.map((it) => resourceOf(it, "uri")),
        ...templates.map((it) => resourceOf(it, "uriTemplate")),
      ];
    },
  });

function promptOf(prompt: JsonObject): Prompt {
  const given = Array.isArray(prompt.arguments) ? prompt.arguments : [];
  return {
    name: text(prompt, "name"),
    title: text(prompt, "title"),
    description: text(prompt, "description"),
    arguments: given.map((it) => ({
      name: String(member(it, "name") ?? ""),
      description: String(member(it, "description") ?? ""),
      required: member(it, "required") === true,
    })),
  };
}

function resourceOf(resource: JsonObject, key: "uri" | "uriTemplate"): Resource {
  const uri = text(resource, key);
  return {
    uri,
    name: text(resource, "title") || text(resource, "name") || uri,
    description: text(resource, "description"),
    mimeType: text(resource, "mimeType"),
    isTemplate: key === "uriTemplate",
  };
}

/** The names in `{braces}` of a template, without its operators. */
export function variablesOf(template: string): string[] {
  const found = [...template.matchAll(/\{[+#./;?&]?([^}]*)\}/g)].flatMap((it) => (it[1] ?? "").split(","));
  return [...new Set(found.map((it) => it.replace(/[*:].*$/, "").trim()).filter(Boolean))];
}

/** A template with its values in: simple, reserved and path expansion, which is what servers use. */
export function expand(template: string, values: Record<string, string>): string {
  return template.replace(/\{([+#./;?&]?)([^}]*)\}/g, (_, operator: string, names: string) => {
    const given = names.split(",").map((it) => it.replace(/[*:].*$/, "").trim());
    const filled = given.filter((it) => values[it] !== undefined && values[it] !== "");
    if (filled.length === 0) return "";
    const encode = (it: string) =>
      operator === "+" || operator === "#"
        ? encodeURI(values[it] ?? "")
        : encodeURIComponent(values[it] ?? "");
    const isNamed = operator === "?" || operator === "&" || operator === ";";
    const pairs = filled.map((it) => (isNamed ? `${it}=${encode(it)}` : encode(it)));
    const joint = { "?": "&", "&": "&", ";": ";", ".": ".", "/": "/" }[operator] ?? ",";
    const head = operator === "+" ? "" : operator;
    return head + pairs.join(joint);
  });
}
