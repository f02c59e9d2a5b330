/** What the composer offers while a line begins: from what is already here, so typing asks nothing. */

import type { Meta, RegistryEntry, RegistryKind } from "@/api/types";
import { callSnippet } from "./call-snippet";
import { budWord } from "./slash";

export type Wanted = { of: "anything" | "tool" | "address" | "bud"; word: string };

export type Choice = {
  key: string;
  kind: "command" | "tool" | "server" | "bud";
  label: string;
  about: string;
  text: string;
  select?: [number, number];
  /** Where the hub keeps a bud's picture. */
  icon?: string;
  /** Where the tool or bud comes from. */
  from?: RegistryKind;
  /** A server whose methods are not here yet. */
  serverId?: string;
  /** Done at once instead of being inserted. */
  run?: "new" | "tools";
};

const MOST = 60;

/** Only the beginning of a text calls something, so only there anything is offered. */
export function wantedAt(text: string, caret: number): Wanted | undefined {
  const before = text.slice(0, caret).trimStart();
  const forms: [RegExp, Wanted["of"]][] = [
    [/^\/(\S*)$/, "anything"],
    [/^\/call\s+([^\s(]*|"[^"]*"?\.?[^\s(]*)$/, "tool"],
    [/^\/invoke\s+(\S*)$/, "address"],
    [/^@"?([^\s"]*)$/, "bud"],
  ];
  for (const [form, of] of forms) {
    const found = form.exec(before);
    if (found) return { of, word: (found[1] ?? "").toLowerCase() };
  }
  return undefined;
}

type Known = {
  entries: RegistryEntry[];
  metaOf: (id: string) => Meta | undefined;
  addresses: { id: string; address: string }[];
};

const COMMANDS: Choice[] = [
  { key: "/call", kind: "command", label: "/call", about: "Call a tool", text: "/call " },
  {
    key: "/invoke",
    kind: "command",
    label: "/invoke",
    about: "Call a bud by its address",
    text: "/invoke bud://",
  },
  { key: "/new", kind: "command", label: "/new", about: "Begin a new chat", text: "", run: "new" },
  {
    key: "/tools",
    kind: "command",
    label: "/tools",
    about: "Choose the tools of this chat",
    text: "",
    run: "tools",
  },
];

export function choicesFor({ of, word }: Wanted, { entries, metaOf, addresses }: Known): Choice[] {
  const usable = entries.filter((it) => it.reason === null);
  const buds = usable.filter((it) => it.kind === "bud");
  const has = (...texts: string[]) => texts.some((it) => it.toLowerCase().includes(word));
  if (of === "bud")
    return buds
      .filter((it) => has(it.name))
      .map(byName)
      .slice(0, MOST);
  if (of === "address") {
    const addressOf = (id: string) => addresses.find((it) => it.id === id)?.address ?? `bud://${id}`;
    const byAddress = (it: RegistryEntry): Choice => ({
      ...byName(it),
      key: `address ${it.id}`,
      label: addressOf(it.id),
      text: `/invoke ${addressOf(it.id)} `,
    });
    return buds
      .map(byAddress)
      .filter((it) => has(it.label))
      .slice(0, MOST);
  }
  const tools = usable.flatMap((entry) => toolsOf(entry, metaOf(entry.id))).filter((it) => has(it.label));
  if (of === "tool") return tools.slice(0, MOST);
  // A bud whose methods are not here stands there by its name already.
  const more = tools.filter((it) => it.kind === "tool" || it.from !== "bud");
  const commands = COMMANDS.filter((it) => it.key.slice(1).startsWith(word));
  return [...commands, ...buds.filter((it) => has(it.name)).map(byName), ...more].slice(0, MOST);
}

const byName = (entry: RegistryEntry): Choice => ({
  key: `bud ${entry.id}`,
  kind: "bud",
  label: budWord(entry.name),
  about: entry.description,
  text: `${budWord(entry.name)} `,
  from: "bud",
  icon: entry.icon,
});

function toolsOf(entry: RegistryEntry, meta: Meta | undefined): Choice[] {
  const server = entry.instance?.slug ?? entry.name;
  if (!meta) {
    const text = callSnippet(server, "").text.slice(0, -"(…)".length);
    const about = entry.description;
    return [
      {
        key: `server ${entry.id}`,
        kind: "server",
        label: `${server}.`,
        about,
        text,
        from: entry.kind,
        serverId: entry.id,
      },
    ];
  }
  return meta.methods.map((it) => ({
    key: `tool ${entry.id} ${it.name}`,
    kind: "tool",
    label: `${server}.${it.name}`,
    about: it.description,
    from: entry.kind,
    ...callSnippet(server, it.name),
  }));
}
