import { expect, test } from "vitest";
import type { Meta, RegistryEntry } from "@/api/types";
import type { McpConfig } from "@/api/types.gen";
import { NO_OVERRIDES, serverRows, toggledServer, toggledTool, totalOf } from "./chat-tools";

const entry = (name: string, reason: string | null = null): RegistryEntry => ({
  id: `s-${name}`,
  name,
  kind: "external",
  transport: "stdio",
  icon: "",
  description: "",
  tools: 2,
  status: "ready",
  instance: { id: `i-${name}`, slug: name, name, enabled: true, status: "ready", failure: null },
  instances: [],
  reason,
});
const method = (name: string) => ({ name, description: "", signature: "", inputSchema: {} });
const META = { methods: [method("read"), method("delete")] } as unknown as Meta;
const ENTRIES = [entry("files"), entry("notes"), entry("blocked", "not allowed")];
const BUD: McpConfig = { servers: ["files"], available_tools: [], disabled_tools: ["files.delete"] };
const rows = (bud?: McpConfig, chat = NO_OVERRIDES) => serverRows(ENTRIES, () => META, bud, chat);

test("a bud's servers and the chat's own are there, and each is said to be whose it is", () => {
  const shown = rows(BUD, { ...NO_OVERRIDES, additional_servers: ["s-notes"] });
  expect(shown.map((it) => [it.word, it.by])).toEqual([
    ["files", "bud"],
    ["notes", "chat"],
  ]);
  expect(shown[0]?.tools?.map((it) => it.on)).toEqual([true, false]);
  expect(totalOf(shown).tools).toBe(3);
  expect(totalOf(rows()).tools).toBe(0);
});

test("a bud may name the only tools it has", () => {
  const shown = rows({ ...BUD, disabled_tools: [], available_tools: ["delete"] });
  expect(shown[0]?.tools?.map((it) => it.on)).toEqual([false, true]);
});

test("what is turned on and off again is as it was", () => {
  const [files, notes] = rows();
  if (!files || !notes) throw new Error("no rows");
  const added = toggledServer(NO_OVERRIDES, notes, true);
  expect(added.additional_servers).toEqual(["notes"]);
  expect(toggledServer(added, notes, false)).toEqual(NO_OVERRIDES);
  const off = toggledTool(NO_OVERRIDES, files, "read", false);
  expect(off.disabled_tools).toEqual(["files.read"]);
  expect(toggledTool(off, files, "read", true)).toEqual(NO_OVERRIDES);
});
