/** The tools of a chat: its bud's servers and its own, without what either has turned off. */

import type { Meta, RegistryEntry } from "@/api/types";
import type { McpConfig, Overrides } from "@/api/types.gen";

export const NO_OVERRIDES: Overrides = { additional_servers: [], disabled_tools: [] };

export type ServerRow = {
  entry: RegistryEntry;
  /** What a configuration calls it. */
  word: string;
  /** Who put it there; the chat cannot take the bud's away. */
  by: "bud" | "chat" | undefined;
  /** Unknown until its methods are here. */
  tools: ToolRow[] | undefined;
};
export type ToolRow = { name: string; description: string; on: boolean; tokens: number };

const namesOf = (entry: RegistryEntry) => [
  entry.id,
  entry.name,
  ...[entry.instance, ...entry.instances].flatMap((it) => (it ? [it.slug, it.id] : [])),
];

export function serverRows(
  entries: RegistryEntry[],
  metaOf: (id: string) => Meta | undefined,
  bud: McpConfig | undefined,
  chat: Overrides,
): ServerRow[] {
  return entries
    .filter((it) => it.reason === null)
    .map((entry) => {
      const names = namesOf(entry);
      const has = (list: readonly string[]) => list.some((it) => names.includes(it));
      const by = has(bud?.servers ?? []) ? "bud" : has(chat.additional_servers) ? "chat" : undefined;
      const off = [...(bud?.disabled_tools ?? []), ...chat.disabled_tools];
      const only = by === "bud" ? (bud?.available_tools ?? []) : [];
      const named = (list: readonly string[], tool: string) =>
        list.includes(tool) || names.some((it) => list.includes(`${it}.${tool}`));
      const tools = metaOf(entry.id)?.methods.map((it) => ({
        name: it.name,
        description: it.description,
        on: !named(off, it.name) && (only.length === 0 || named(only, it.name)),
        tokens: Math.ceil(
          (it.name.length + it.description.length + JSON.stringify(it.inputSchema).length) / 4,
        ),
      }));
      return { entry, word: entry.instance?.slug ?? entry.name, by, tools };
    });
}

export function totalOf(rows: ServerRow[]): { tools: number; tokens: number } {
  const on = rows.filter((it) => it.by).flatMap((it) => it.tools?.filter((tool) => tool.on) ?? []);
  return { tools: on.length, tokens: on.reduce((sum, it) => sum + it.tokens, 0) };
}

/** With or without a server of the chat's own. */
export function toggledServer(chat: Overrides, { entry, word }: ServerRow, wanted: boolean): Overrides {
  const names = namesOf(entry);
  const others = chat.additional_servers.filter((it) => !names.includes(it));
  return { ...chat, additional_servers: wanted ? [...others, word] : others };
}

export function toggledTool(
  chat: Overrides,
  { entry, word }: ServerRow,
  tool: string,
  wanted: boolean,
): Overrides {
  const names = namesOf(entry).map((it) => `${it}.${tool}`);
  const others = chat.disabled_tools.filter((it) => it !== tool && !names.includes(it));
  return { ...chat, disabled_tools: wanted ? others : [...others, `${word}.${tool}`] };
}
