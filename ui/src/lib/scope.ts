/** Which instances a list shows. */

import type { Instance, Server } from "@/api/types";

export type Scope = "mine" | "shared" | "available";

export const scopeOf = (word: string | undefined): Scope =>
  word === "shared" || word === "available" ? word : "mine";

/** Origins of servers that somebody else keeps for everyone. */
const isShared = (server: Server | undefined) =>
  server !== undefined &&
  (server.origin === "admin" || server.origin === "builtin" || server.workspace_id === null);

export function inScope(instance: Instance, servers: Server[], scope: Scope, search: string): boolean {
  const server = servers.find((it) => it.id === instance.server_id);
  if (scope === "shared" && !isShared(server)) return false;
  return isLike(search, instance.name, instance.slug, instance.server_name, server?.endpoint ?? "");
}

/** Servers that can be used and are not yet. */
export function availableServers(servers: Server[], instances: Instance[], search: string): Server[] {
  const used = new Set(instances.map((it) => it.server_id));
  return servers.filter(
    (it) => it.enabled && !used.has(it.id) && isLike(search, it.name, it.description, it.endpoint),
  );
}

function isLike(search: string, ...texts: string[]): boolean {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => texts.some((it) => it.toLowerCase().includes(word)));
}
