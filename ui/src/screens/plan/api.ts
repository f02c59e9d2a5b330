/** What the planner asks and changes, and the stream of a run. */

import { type QueryClient, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { ask, asProblem, get, patch, post, remove } from "@/api/http";
import { upsert } from "@/api/patch";
import { instanceQuery } from "@/api/queries";
import type { Problem } from "@/api/types";
import type { Plan, PlanDone, PlanEvent, PlanGraph } from "@/api/types.gen";
import type { Inserted } from "@/app/insert";
import { BEGUN, cutOff, heard, over, type Run } from "@/lib/plan-run";
import { sseEvents } from "@/lib/sse";

export const plansQuery = queryOptions({
  queryKey: ["plans"],
  queryFn: ({ signal }) => get<Plan[]>("/api/plans", signal),
});

export const planQuery = (id: string) =>
  queryOptions({
    queryKey: ["plan", id],
    queryFn: ({ signal }) => get<Plan>(`/api/plans/${encodeURIComponent(id)}`, signal),
  });

export function useSavePlan(id: string | undefined) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { name: string; graph: PlanGraph }) =>
      id === undefined ? post<Plan>("/api/plans", body) : patch<Plan>(`/api/plans/${id}`, body),
    onSuccess: (plan) => {
      client.setQueryData(planQuery(plan.id).queryKey, plan);
      client.setQueryData(plansQuery.queryKey, (list) => list && upsert(list, plan, (it) => it.name));
    },
  });
}

export function useRemovePlan(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => remove(`/api/plans/${id}`),
    onSuccess: () => {
      client.removeQueries({ queryKey: planQuery(id).queryKey });
      client.setQueryData(plansQuery.queryKey, (list) => list?.filter((it) => it.id !== id));
    },
  });
}

export type Watched = { run: Run; problem?: Problem };

/** The last run of a plan while this page is open; nothing is fetched for it. */
export const runQuery = (id: string) =>
  queryOptions<Watched>({
    queryKey: ["plan-run", id],
    enabled: false,
    gcTime: Number.POSITIVE_INFINITY,
  });

const open = new Map<string, AbortController>();

/** Runs it and hears of every node, whatever page is open meanwhile. */
export async function runPlan(client: QueryClient, id: string): Promise<void> {
  const controller = new AbortController();
  open.set(id, controller);
  let run = BEGUN;
  const put = (next: Run, problem?: Problem) => {
    run = next;
    client.setQueryData(runQuery(id).queryKey, { run, ...(problem ? { problem } : {}) });
  };
  put(run);
  try {
    const response = await ask(
      "POST",
      `/api/plans/${id}/run`,
      undefined,
      "text/event-stream",
      controller.signal,
    );
    for await (const { event, data } of sseEvents(response.body ?? new ReadableStream())) {
      if (event === "node") put(heard(run, JSON.parse(data) as PlanEvent));
      else if (event === "done") put(over(run, JSON.parse(data) as PlanDone));
    }
    if (run.state === "running") put(cutOff(run, "lost"));
  } catch (error) {
    if (controller.signal.aborted) put(cutOff(run, "stopped"));
    else put(cutOff(run, "lost"), asProblem(error));
  }
  if (open.get(id) === controller) open.delete(id);
}

/** Nobody listens any more, so it ends. */
export const stopPlan = (id: string) => open.get(id)?.abort();

/** The public name of a method, as its instance says it. */
export async function toolName(client: QueryClient, { server, method }: Inserted): Promise<string> {
  try {
    const whole = await client.fetchQuery(instanceQuery(server));
    const tool = whole.tool_list.find((it) => it.name === method);
    if (tool) return tool.public_name;
  } catch {
    // What is not in use yet has no instance; its name is made as all are.
  }
  return `mcp__${server}__${method}`;
}
