/** The server a tool belongs to, as far as the registry knows. */

import type { RegistryEntry } from "@/api/types";
import { bareName } from "./chat-thread";

export type Home = { entry: RegistryEntry | undefined; server: string | undefined; method: string };

/** While a tool runs only its public name is known, and that begins as its server's do. */
export function homeOf(entries: RegistryEntry[] | undefined, tool: string, server?: string): Home {
  const slugs = (it: RegistryEntry) =>
    [it.instance, ...it.instances].flatMap((one) => (one ? [one.slug] : []));
  for (const entry of entries ?? [])
    for (const slug of slugs(entry)) {
      const method = bareName(tool, slug);
      if (server === undefined ? method !== tool : slug === server) return { entry, server: slug, method };
    }
  return { entry: undefined, server, method: bareName(tool, server) };
}
