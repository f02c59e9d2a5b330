/** What was called in a chat, as a plan that can be run again. */

import type { PlanGraph, PlanNode } from "@/api/types.gen";
import { bareName, type Message } from "./chat-thread";
import { isObject } from "./json";
import { freshId, MOST_NODES } from "./plan-graph";
import type { NodeRun, Run } from "./plan-run";

/** Calls one after the other, as they were made, with how each ended. */
export function planOf(messages: readonly Message[]): { graph: PlanGraph; run: Run } {
  const graph: PlanGraph = { nodes: [], edges: [] };
  const nodes: Record<string, NodeRun> = {};
  for (const { role, content, call_id } of messages) {
    if (role !== "tool" || content.tool === undefined || graph.nodes.length >= MOST_NODES) continue;
    const id = freshId(graph, bareName(content.tool, content.server));
    const before = graph.nodes.at(-1);
    const args = isObject(content.arguments) ? content.arguments : {};
    graph.nodes.push({ id, tool: content.tool, args } satisfies PlanNode);
    if (before) graph.edges.push({ from: before.id, to: id });
    nodes[id] = {
      state: stateOf(content.state),
      text: content.text,
      ...(call_id ? { callId: call_id } : {}),
    };
  }
  return { graph, run: { state: "done", nodes } };
}

function stateOf(state: Message["content"]["state"]): NodeRun["state"] {
  if (state === "running" || state === "failed") return state;
  return state === "stopped" ? "skipped" : "done";
}
