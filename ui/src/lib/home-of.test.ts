import { expect, test } from "vitest";
import type { RegistryEntry } from "@/api/types";
import { homeOf } from "./home-of";

const instance = (slug: string) => ({
  id: `i-${slug}`,
  slug,
  name: slug,
  enabled: true,
  status: "ready" as const,
  failure: null,
});
const ENTRY: RegistryEntry = {
  id: "s",
  name: "GitHub",
  kind: "external",
  transport: "stdio",
  icon: "",
  description: "",
  tools: 1,
  status: "ready",
  instance: instance("github"),
  instances: [instance("github"), instance("github-work")],
  reason: null,
};

test("a tool that runs is found by how its public name begins", () => {
  expect(homeOf([ENTRY], "mcp__github-work__search")).toEqual({
    entry: ENTRY,
    server: "github-work",
    method: "search",
  });
});

test("a tool that has ended says its server itself", () => {
  expect(homeOf([ENTRY], "mcp__github__search", "github")).toMatchObject({
    server: "github",
    method: "search",
  });
  expect(homeOf([ENTRY], "short_name_1a2b", "github")).toMatchObject({
    entry: ENTRY,
    method: "short_name_1a2b",
  });
});

test("a tool of nobody known keeps the name it has", () => {
  expect(homeOf(undefined, "mcp__gone__x")).toEqual({
    entry: undefined,
    server: undefined,
    method: "mcp__gone__x",
  });
});
