/** What this screen asks and changes: the registry, bundles that are installed, and tools that changed. */

import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { get, post, remove } from "@/api/http";
import type { Health } from "@/api/types";

export type Hit = {
  name: string;
  title: string;
  description: string;
  version: string;
  status: string;
  website: string | null;
};

export type Flag = { kind: "hidden" | "instruction"; at: number; excerpt: string };

export type Runs = {
  name: string;
  server: string;
  kind: string;
  endpoint: string;
  definition: { env?: Record<string, string>; headers?: Record<string, string>; description?: string };
  flags: Flag[];
};

export type Setting = {
  key: string;
  title: string;
  description: string;
  kind: "string" | "number" | "boolean" | "directory" | "file";
  required: boolean;
  sensitive: boolean;
  default: unknown;
  choices: string[];
};

export type Plan = {
  id: string;
  version: string;
  name: string;
  description: string;
  author: string | null;
  source: string;
  installed: string | null;
  servers: Runs[];
  settings: Setting[];
  failed: { server: string; error: string }[];
  file: string | null;
  duplicates: { serverName: string; duplicateOf: string }[];
  removed: string[];
  warnings: string[];
  digest: string;
  problem: string | null;
};

export type Done = Plan & {
  started: { server: string; slug: string; instance: string; tools: number | null; error: string | null }[];
};

export type BundleServer = {
  id: string;
  name: string;
  server: string;
  endpoint: string;
  state: "active" | "off" | "duplicate";
  duplicate_of: string | null;
  slug: string | null;
  tools: number;
  changed: number;
  health: Health | null;
};

export type Bundle = {
  id: string;
  version: string;
  name: string;
  description: string;
  source: string;
  scope: string;
  file: string | null;
  servers: BundleServer[];
};

export type Changed = {
  instance: string;
  slug: string;
  tool: string;
  public_name: string;
  is: "changed" | "renamed" | "new";
  renamed_from: string | null;
  held: boolean;
  rejected: boolean;
  digest: string;
  diff: { pointer: string; before: string | null; after: string | null; flags: Flag[] }[];
};

export type Order = { source: string; target?: string; settings: Record<string, string>; digest?: string };

export const searchQuery = (words: string) =>
  queryOptions({
    queryKey: ["registry-search", words],
    queryFn: ({ signal }) =>
      get<{ servers: Hit[] }>(`/api/bundles/search?q=${encodeURIComponent(words)}`, signal),
  });

export const bundlesQuery = queryOptions({
  queryKey: ["bundles"],
  queryFn: ({ signal }) => get<Bundle[]>("/api/bundles", signal),
  staleTime: 0,
});

export const pinsQuery = queryOptions({
  queryKey: ["pins"],
  queryFn: ({ signal }) => get<Changed[]>("/api/pins", signal),
  staleTime: 0,
});

export const planQuery = (source: string, update: boolean) =>
  queryOptions({
    queryKey: ["bundle-plan", source, update],
    queryFn: ({ signal }) =>
      update
        ? post<Plan>(`/api/bundles/preview?update=${encodeURIComponent(source)}`, {}, signal)
        : post<Plan>("/api/bundles/preview", { source }, signal),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });

/** What a bundle brings or takes shows in the registry and in the list of instances too. */
function useBundleChange<V, T>(change: (value: V) => Promise<T>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: () =>
      Promise.all(
        [["bundles"], ["pins"], ["registry"], ["instances"]].map((queryKey) =>
          client.invalidateQueries({ queryKey }),
        ),
      ),
  });
}

export const useInstall = () => useBundleChange((order: Order) => post<Done>("/api/bundles", order));

export const useUpdate = (id: string) =>
  useBundleChange((order: Order) => post<Done>(`/api/bundles/${encodeURIComponent(id)}/update`, order));

export const useUninstall = (id: string) =>
  useBundleChange(() => remove(`/api/bundles/${encodeURIComponent(id)}`));

export const useDecide = (it: Changed) =>
  useBundleChange((decision: "approve" | "reject") =>
    post<Changed[]>(`/api/pins/${it.instance}/${encodeURIComponent(it.tool)}`, {
      decision,
      digest: it.digest,
    }),
  );
