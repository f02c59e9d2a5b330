/** A person's browsers and tabs: what is asked of them, and what is changed. Apart from the rest, because few pages need it. */

import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { get, post, remove } from "./http";
import type { Pairing, TabQuestion, TabsView } from "./types";

/** Browsers that are paired, their tabs, and what is remembered of those. */
export const tabsQuery = queryOptions({
  queryKey: ["tabs", "all"],
  queryFn: ({ signal }) => get<TabsView>("/api/tabs", signal),
  retry: false,
});

/** What pages ask the person, in the middle of calls whose clients cannot be asked. */
export const tabQuestionsQuery = queryOptions({
  queryKey: ["tabs", "questions"],
  queryFn: ({ signal }) => get<TabQuestion[]>("/api/tabs/questions", signal),
});

/** A code with which one browser can be paired, once and soon. */
export function usePairBrowser() {
  return useMutation({ mutationFn: () => post<Pairing>("/api/tabs/pair") });
}

/** Ends a pairing, or forgets what is remembered of a tab; the list is told anew by the event stream. */
export function useForgetTab(what: "browsers" | "tools") {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => remove(`/api/tabs/${what}/${encodeURIComponent(id)}`),
    onSuccess: () => client.invalidateQueries({ queryKey: tabsQuery.queryKey }),
  });
}

/** Keeps a tool of a tab when the tab is closed. */
export function useRememberTool() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => post<void>(`/api/tabs/tools/${encodeURIComponent(name)}`),
    onSuccess: () => client.invalidateQueries({ queryKey: tabsQuery.queryKey }),
  });
}

export function useAnswerPage() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, answer }: { id: string; answer: unknown }) =>
      post<void>(`/api/tabs/questions/${id}`, answer),
    // Answered or taken back meanwhile: in both cases it is no longer asked.
    onSettled: (_, __, { id }) =>
      client.setQueryData(tabQuestionsQuery.queryKey, (list) => list?.filter((it) => it.id !== id)),
  });
}
