/** A run of a plan, node by node. */

import type { NodeState, PlanDone, PlanEvent, Problem } from "@/api/types.gen";

export type NodeRun = { state: NodeState; text: string; note?: string; callId?: string; problem?: Problem };
export type Run = { state: "running" | "done" | "lost" | "stopped"; nodes: Record<string, NodeRun> };

export const BEGUN: Run = { state: "running", nodes: {} };

/** While a node runs, what it says is a note; at its end, what it gave. */
export function heard(run: Run, event: PlanEvent): Run {
  const { node, state, delta, call_id, error } = event;
  const before = run.nodes[node];
  const isOver = state === "done" || state === "failed" || state === "skipped";
  const next: NodeRun = {
    state,
    text: isOver ? (delta ?? "") : "",
    ...(!isOver && (delta ?? before?.note) ? { note: delta ?? before?.note } : {}),
    ...((call_id ?? before?.callId) ? { callId: call_id ?? before?.callId } : {}),
    ...(error ? { problem: error } : {}),
  };
  return { ...run, nodes: { ...run.nodes, [node]: next } };
}

export function over(run: Run, done: PlanDone): Run {
  const nodes = { ...run.nodes };
  for (const [id, state] of Object.entries(done.nodes)) nodes[id] = { text: "", ...nodes[id], state };
  return { state: "done", nodes };
}

/** Nobody hears what becomes of the rest: a plan ends with its listener. */
export function cutOff(run: Run, why: "lost" | "stopped"): Run {
  const nodes = Object.entries(run.nodes).map(([id, it]): [string, NodeRun] => [
    id,
    it.state === "running" || it.state === "waiting" ? { ...it, state: "skipped" } : it,
  ]);
  return { state: why, nodes: Object.fromEntries(nodes) };
}

/** `3 done, 1 failed, 1 skipped`. */
export function summary(run: Run): string {
  const counts = new Map<NodeState, number>();
  for (const { state } of Object.values(run.nodes)) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(", ");
}
