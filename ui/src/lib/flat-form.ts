/** Forms that pages and servers may ask for: MCP allows one level of texts, numbers, choices and yes or no. */

import type { Json, JsonObject } from "./json";

export type FlatField = {
  name: string;
  label: string;
  about: string;
  kind: "text" | "number" | "choice" | "yes";
  choices: string[];
  isRequired: boolean;
  initial: Json | undefined;
};

// Not that of `json.ts`, so that a question comes without everything else in there.
const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields of a schema; what MCP does not allow is asked for as text. */
export function flatFields(schema: Json): FlatField[] {
  if (!isObject(schema) || !isObject(schema.properties)) return [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(schema.properties).map(([name, it]) => {
    const field = isObject(it) ? it : {};
    const choices = Array.isArray(field.enum) ? field.enum.filter((it) => typeof it === "string") : [];
    const isNumber = field.type === "number" || field.type === "integer";
    const kind = field.type === "boolean" ? "yes" : isNumber ? "number" : choices.length ? "choice" : "text";
    return {
      name,
      label: typeof field.title === "string" ? field.title : name,
      about: typeof field.description === "string" ? field.description : "",
      kind,
      choices,
      isRequired: required.includes(name),
      initial: field.default,
    };
  });
}

/** What was filled in, as the schema wants it. A text that was left empty is not there. */
export function flatValues(fields: FlatField[], data: FormData): JsonObject {
  const values: JsonObject = {};
  for (const { name, kind } of fields) {
    const typed = data.get(name);
    if (kind === "yes") values[name] = typed !== null;
    else if (typeof typed === "string" && typed !== "") {
      values[name] = kind === "number" ? Number(typed) : typed;
    }
  }
  return values;
}
