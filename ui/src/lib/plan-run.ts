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

const ORDER: NodeState[] = ["done", "failed", "skipped", "running", "waiting"];

/** `3 done, 1 failed, 1 skipped`. */
export function summary(run: Run): string {
  const states = Object.values(run.nodes).map((it) => it.state);
  return ORDER.map((state) => [states.filter((it) => it === state).length, state] as const)
    .filter(([count]) => count > 0)
    .map((it) => it.join(" "))
    .join(", ");
}
