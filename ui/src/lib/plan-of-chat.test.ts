import { expect, test } from "vitest";
import type { Message } from "./chat-thread";
import { problemsOf } from "./plan-graph";
import { planOf } from "./plan-of-chat";

const tool = (id: string, content: Partial<Message["content"]>): Message => ({
  id,
  chat_id: "c",
  role: "tool",
  content: { text: "", state: "done", ...content },
  call_id: `call-${id}`,
  created_at: 0,
});

test("calls of a chat become nodes in the order in which they were made", () => {
  const { graph, run } = planOf([
    { ...tool("u", { text: "hi" }), role: "user" },
    tool("1", { tool: "mcp__w__now", server: "w", arguments: { city: "Oslo" } }),
    tool("2", { tool: "mcp__w__now", server: "w", state: "failed" }),
    tool("3", { tool: "odd.name", state: "stopped" }),
  ]);
  expect(graph.nodes.map((it) => it.id)).toEqual(["now", "now2", "odd_name"]);
  expect(graph.nodes[0]?.args).toEqual({ city: "Oslo" });
  expect(graph.edges).toEqual([
    { from: "now", to: "now2" },
    { from: "now2", to: "odd_name" },
  ]);
  expect(Object.values(run.nodes).map((it) => it.state)).toEqual(["done", "failed", "skipped"]);
  expect(problemsOf(graph)).toEqual([]);
});

test("a chat without calls is a plan without nodes", () => {
  expect(planOf([]).graph).toEqual({ nodes: [], edges: [] });
});
