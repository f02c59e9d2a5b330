import { expect, test } from "vitest";
import type { Meta, RegistryEntry, RegistryKind } from "@/api/types";
import { moveIn, type Row, registryRows } from "./registry-rows";

const entry = (id: string, kind: RegistryKind): RegistryEntry => ({
  id,
  name: id,
  kind,
  transport: "stdio",
  icon: "terminal",
  description: "",
  tools: 2,
  status: "ready",
  instance: null,
  instances: [],
  reason: null,
});
const entries = [entry("compare", "bud"), entry("github", "external"), entry("weather", "external")];
const meta = (id: string): Meta => ({
  id,
  name: id,
  description: "",
  kind: "external",
  icon: "terminal",
  fetched_at: 0,
  age_s: 1,
  methods: ["search", "create"].map((name) => ({
    name,
    description: "",
    signature: `${name}()`,
    inputSchema: {},
  })),
});
const known = (id: string) => (id === "github" ? { meta: meta(id) } : {});
const words = (rows: Row[]) => rows.map((it) => it.key.replace(/^(server|group) /, ""));
const rows = (toggled: string[] = [], search = "") =>
  registryRows({ entries, metaOf: known, toggled: new Set(toggled), search });

test("servers stand under their kind, closed", () => {
  expect(words(rows())).toEqual(["bud", "compare", "external", "github", "weather"]);
});

test("an open server shows its methods, or that they are on their way", () => {
  expect(words(rows(["server github", "server weather"]))).toEqual([
    "bud",
    "compare",
    "external",
    "github",
    "github search",
    "github create",
    "weather",
    "weather note",
  ]);
});

test("a closed kind hides its servers", () => {
  expect(words(rows(["group external"]))).toEqual(["bud", "compare", "external"]);
});

test("search finds servers and the methods that are known, and opens what it found", () => {
  expect(words(rows([], "weath"))).toEqual(["external", "weather"]);
  expect(words(rows(["group external"], "CREATE"))).toEqual(["external", "github", "github create"]);
  expect(rows([], "nothing like it")).toEqual([]);
});

test.each<[string, number, boolean, unknown]>([
  ["ArrowDown", 3, false, { to: 4 }],
  ["ArrowUp", 0, false, undefined],
  ["ArrowRight", 6, false, "toggle"],
  ["ArrowRight", 3, false, { to: 4 }],
  ["ArrowLeft", 4, false, { to: 3 }],
  ["ArrowLeft", 3, false, "toggle"],
  ["ArrowLeft", 6, false, { to: 2 }],
  ["Enter", 4, false, "activate"],
  ["Enter", 4, true, "open-page"],
  ["Enter", 0, true, undefined],
  ["End", 0, false, { to: 6 }],
  ["a", 0, false, undefined],
])("%s on row %d", (key, at, shift, expected) => {
  expect(moveIn(rows(["server github"]), at, key, shift)).toEqual(expected);
});
