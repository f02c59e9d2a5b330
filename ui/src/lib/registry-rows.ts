/** The registry sidebar as a flat list of rows: kinds, their servers, and the methods of those that are open. */

import type { Meta, Method, RegistryEntry, RegistryKind } from "@/api/types";

export type Row =
  | { kind: "group"; key: string; label: string; open: boolean; size: number; level: 1 }
  | { kind: "server"; key: string; entry: RegistryEntry; open: boolean; level: 2; parent: string }
  | { kind: "method"; key: string; entry: RegistryEntry; method: Method; level: 3; parent: string }
  | { kind: "note"; key: string; text: string; level: 3; parent: string };

const GROUPS: [RegistryKind, string][] = [
  ["bud", "Buds"],
  ["external", "Servers"],
  ["builtin", "Built-in"],
  ["tab", "Tabs"],
  ["wasm", "Modules"],
];

export type MetaState = { meta?: Meta; failed?: boolean };

type Shown = {
  entries: RegistryEntry[];
  metaOf: (id: string) => MetaState;
  /** Closed groups and open servers, by key. */
  toggled: ReadonlySet<string>;
  search: string;
};

export function registryRows({ entries, metaOf, toggled, search }: Shown): Row[] {
  const wanted = search.trim().toLowerCase();
  const rows: Row[] = [];
  for (const [kind, label] of GROUPS) {
    const found = entries.filter((it) => it.kind === kind && isFound(it, metaOf(it.id).meta, wanted));
    if (found.length === 0) continue;
    const group = `group ${kind}`;
    const isOpen = wanted !== "" || !toggled.has(group);
    rows.push({ kind: "group", key: group, label, open: isOpen, size: found.length, level: 1 });
    if (isOpen)
      for (const entry of found) rows.push(...serverRows(entry, metaOf(entry.id), toggled, wanted, group));
  }
  return rows;
}

function serverRows(
  entry: RegistryEntry,
  { meta, failed }: MetaState,
  toggled: ReadonlySet<string>,
  wanted: string,
  parent: string,
): Row[] {
  const key = `server ${entry.id}`;
  const hits =
    wanted === "" ? [] : (meta?.methods ?? []).filter((it) => it.name.toLowerCase().includes(wanted));
  const open = toggled.has(key) || hits.length > 0;
  const row: Row = { kind: "server", key, entry, open, level: 2, parent };
  if (!open) return [row];
  const note = (text: string): Row[] => [
    row,
    { kind: "note", key: `${key} note`, text, level: 3, parent: key },
  ];
  if (!meta) return note(failed ? "Not available" : "Loading…");
  if (meta.methods.length === 0) return note("No tools");
  const methods = hits.length > 0 && !toggled.has(key) ? hits : meta.methods;
  return [
    row,
    ...methods.map(
      (method): Row => ({
        kind: "method",
        key: `${key} ${method.name}`,
        entry,
        method,
        level: 3,
        parent: key,
      }),
    ),
  ];
}

function isFound(entry: RegistryEntry, meta: Meta | undefined, wanted: string): boolean {
  if (wanted === "") return true;
  const texts = [
    entry.name,
    entry.description,
    entry.instance?.slug ?? "",
    ...(meta?.methods.map((it) => it.name) ?? []),
  ];
  return texts.some((it) => it.toLowerCase().includes(wanted));
}

/** Where a key of a tree leads. `toggle` opens or closes the row itself. */
export type Move = { to: number } | "toggle" | "activate" | "open-page" | undefined;

export function moveIn(rows: Row[], at: number, key: string, shift: boolean): Move {
  const row = rows[at];
  if (!row) return rows.length > 0 ? { to: 0 } : undefined;
  const isBranch = row.kind === "group" || row.kind === "server";
  switch (key) {
    case "ArrowDown":
      return at + 1 < rows.length ? { to: at + 1 } : undefined;
    case "ArrowUp":
      return at > 0 ? { to: at - 1 } : undefined;
    case "Home":
      return { to: 0 };
    case "End":
      return { to: rows.length - 1 };
    case "ArrowRight":
      if (!isBranch) return undefined;
      if (!row.open) return "toggle";
      return (rows[at + 1]?.level ?? 0) > row.level ? { to: at + 1 } : undefined;
    case "ArrowLeft": {
      if (isBranch && row.open) return "toggle";
      const parent = "parent" in row ? rows.findIndex((it) => it.key === row.parent) : -1;
      return parent >= 0 ? { to: parent } : undefined;
    }
    case "Enter":
      if (shift) return row.kind === "server" || row.kind === "method" ? "open-page" : undefined;
      return isBranch ? "toggle" : row.kind === "method" ? "activate" : undefined;
    case " ":
      return isBranch ? "toggle" : undefined;
    default:
      return undefined;
  }
}
