/** What this screen asks and changes: the registry, bundles that are installed, and tools that changed. */

import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { get, post, remove } from "@/api/http";
import type { Bundle, BundleDone, BundlePlan, ChangedTool, Hits } from "@/api/types.gen";

export type Order = { source: string; target?: string; settings: Record<string, string>; digest?: string };

export const searchQuery = (words: string) =>
  infiniteQueryOptions({
    queryKey: ["registry-search", words],
    initialPageParam: "",
    queryFn: ({ signal, pageParam }) => {
      const page = pageParam && `&cursor=${encodeURIComponent(pageParam)}`;
      return get<Hits>(`/api/bundles/search?q=${encodeURIComponent(words)}${page}`, signal);
    },
    getNextPageParam: (last) => last.cursor,
  });

export const bundlesQuery = queryOptions({
  queryKey: ["bundles"],
  queryFn: ({ signal }) => get<Bundle[]>("/api/bundles", signal),
  staleTime: 0,
});

export const pinsQuery = queryOptions({
  queryKey: ["pins"],
  queryFn: ({ signal }) => get<ChangedTool[]>("/api/pins", signal),
  staleTime: 0,
});

export const planQuery = (source: string, update: boolean) =>
  queryOptions({
    queryKey: ["bundle-plan", source, update],
    queryFn: ({ signal }) =>
      update
        ? post<BundlePlan>(`/api/bundles/preview?update=${encodeURIComponent(source)}`, {}, signal)
        : post<BundlePlan>("/api/bundles/preview", { source }, signal),
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

export const useInstall = () => useBundleChange((order: Order) => post<BundleDone>("/api/bundles", order));

export const useUpdate = (id: string) =>
  useBundleChange((order: Order) => post<BundleDone>(`/api/bundles/${encodeURIComponent(id)}/update`, order));

export const useUninstall = (id: string) =>
  useBundleChange(() => remove(`/api/bundles/${encodeURIComponent(id)}`));

export const useDecide = (it: ChangedTool) =>
  useBundleChange((decision: "approve" | "reject") =>
    post<ChangedTool[]>(`/api/pins/${it.instance}/${encodeURIComponent(it.tool)}`, {
      decision,
      digest: it.digest,
    }),
  );
