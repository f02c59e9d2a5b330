import { expect, test } from "vitest";
import type { Meta, RegistryEntry } from "@/api/types";
import { choicesFor, wantedAt } from "./slash-choices";

const entry = (name: string, more: Partial<RegistryEntry> = {}): RegistryEntry => ({
  id: `s-${name}`,
  name,
  kind: "external",
  transport: "stdio",
  icon: "",
  description: "",
  tools: 1,
  status: "ready",
  instance: { id: `i-${name}`, slug: name, name, enabled: true, status: "ready", failure: null },
  instances: [],
  reason: null,
  ...more,
});
const META = {
  methods: [{ name: "search", description: "Finds", signature: "", inputSchema: {} }],
} as unknown as Meta;
const known = {
  entries: [
    entry("github"),
    entry("notes"),
    entry("My bud", { kind: "bud" }),
    entry("blocked", { reason: "not allowed" }),
  ],
  metaOf: (id: string) => (id === "s-github" ? META : undefined),
  addresses: [{ id: "s-My bud", address: "bud://home/My%20bud" }],
};
const labels = (text: string) => {
  const wanted = wantedAt(text, text.length);
  return wanted && choicesFor(wanted, known).map((it) => it.label);
};

test("a slash offers commands, buds and tools, and nothing that is not allowed", () => {
  expect(labels("/")).toEqual(["/call", "/invoke", "/new", "/tools", '@"My bud"', "github.search", "notes."]);
});

test("what is typed narrows what is offered", () => {
  expect(labels("/ca")).toEqual(["/call"]);
  expect(labels("/sear")).toEqual(["github.search"]);
  expect(labels("/call git")).toEqual(["github.search"]);
  expect(labels("@my")).toEqual(['@"My bud"']);
  expect(labels("/invoke bud://ho")).toEqual(["bud://home/My%20bud"]);
});

test("in the middle of a text nothing is offered", () => {
  for (const text of ["hello /", "a @my", "/call github.search(", "line\n/call x"])
    expect(labels(text)).toBeUndefined();
});

test("a chosen tool is inserted with its arguments selected, and a server waits for its methods", () => {
  const [tool] = choicesFor({ of: "tool", word: "github" }, known);
  expect(tool?.text).toBe("/call github.search(…)");
  expect(tool?.text.slice(...(tool.select ?? [0, 0]))).toBe("…");
  const [server] = choicesFor({ of: "tool", word: "notes" }, known);
  expect(server).toMatchObject({ text: "/call notes.", serverId: "s-notes" });
});
