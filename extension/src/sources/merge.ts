/** One list of what the sources of a page offer. */

import { isObject } from "../check";
import type { Json, Source, Sources, Tool } from "../protocol";

/**
 * The union by name, native first. A tool that is there natively is called natively, whoever else has it: copies made
 * by libraries of what the browser has do not always work. What others know of it beyond that is kept.
 */
export function merge(found: { source: Source; tools: Tool[] }[]): { tools: Tool[]; sources: Sources } {
  const order: Source[] = ["native", "channel", "shim"];
  const merged = new Map<string, { source: Source; tool: Tool }>();
  for (const source of order) {
    for (const tool of found.filter((it) => it.source === source).flatMap((it) => it.tools)) {
      const there = merged.get(tool.name);
      if (!there) merged.set(tool.name, { source, tool });
      else if (there.source !== source) there.tool = enriched(there.tool, tool);
    }
  }
  const all = [...merged.values()].sort((left, right) => (left.tool.name < right.tool.name ? -1 : 1));
  return {
    tools: all.map((it) => it.tool),
    sources: Object.fromEntries(all.map((it) => [it.tool.name, it.source])),
  };
}

function enriched(tool: Tool, other: Tool): Tool {
  const said = Object.entries(other).filter(
    ([, value]) => value !== "" && value !== undefined && value !== null,
  );
  const annotations = { ...objectOr(tool.annotations), ...objectOr(other.annotations) };
  return {
    ...tool,
    ...Object.fromEntries(said),
    name: tool.name,
    inputSchema: isEmptySchema(other.inputSchema) ? tool.inputSchema : other.inputSchema,
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
}

function isEmptySchema(schema: Json): boolean {
  return !isObject(schema.properties) || Object.keys(schema.properties).length === 0;
}

function objectOr(value: unknown): Json {
  return isObject(value) ? value : {};
}
