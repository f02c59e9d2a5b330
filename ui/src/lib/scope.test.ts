import { expect, test } from "vitest";
import type { Instance, Server } from "@/api/types";
import { availableServers, inScope, scopeOf } from "./scope";

const server = (id: string, origin: string, enabled = true) =>
  ({
    id,
    name: id,
    description: "",
    endpoint: `https://${id}.test`,
    origin,
    enabled,
    workspace_id: "w",
  }) as Server;
const instance = (slug: string, of: string) =>
  ({ slug, name: slug, server_id: of, server_name: of }) as Instance;
const servers = [
  server("github", "admin"),
  server("notes", "paste"),
  server("off", "admin", false),
  server("maps", "admin"),
];
const instances = [instance("github-work", "github"), instance("notes", "notes")];
const shown = (scope: "mine" | "shared", search = "") =>
  instances.filter((it) => inScope(it, servers, scope, search)).map((it) => it.slug);

test("mine is all of mine, shared is what others keep", () => {
  expect(shown("mine")).toEqual(["github-work", "notes"]);
  expect(shown("shared")).toEqual(["github-work"]);
});

test("every word must be found somewhere", () => {
  expect(shown("mine", "github WORK")).toEqual(["github-work"]);
  expect(shown("mine", "notes.test")).toEqual(["notes"]);
  expect(shown("mine", "github notes")).toEqual([]);
});

test("available is what is on and not used yet", () => {
  expect(availableServers(servers, instances, "").map((it) => it.id)).toEqual(["maps"]);
});

test("an unknown scope is mine", () => expect(scopeOf("everything")).toBe("mine"));
