/** What is asked and changed of buds and models. */

import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { get, patch, post, remove } from "@/api/http";
import { dropServer, upsert } from "@/api/patch";
import type { Bud, Models } from "@/api/types.gen";
import type { BudBody } from "@/lib/bud-draft";

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: ({ signal }) => get<Models>("/api/models", signal),
});

export const budsQuery = queryOptions({
  queryKey: ["buds"],
  queryFn: ({ signal }) => get<Bud[]>("/api/buds", signal),
});

/** Added without an id, else changed. The event stream brings its server and instance. */
export function useSaveBud(id: string | undefined) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: Partial<BudBody>) =>
      id === undefined
        ? post<Bud>("/api/buds", body)
        : patch<Bud>(`/api/buds/${encodeURIComponent(id)}`, body),
    onSuccess: (bud) =>
      client.setQueryData(budsQuery.queryKey, (list) => list && upsert(list, bud, (it) => it.name)),
  });
}

export function useRemoveBud(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => remove(`/api/buds/${encodeURIComponent(id)}`),
    onSuccess: () => {
      client.setQueryData(budsQuery.queryKey, (list) => list?.filter((it) => it.id !== id));
      dropServer(client, id);
    },
  });
}
