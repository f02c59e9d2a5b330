import { expect, test } from "vitest";
import type { PlanGraph } from "@/api/types.gen";
import type { JsonObject } from "./json";
import {
  edgesOf,
  freshId,
  placesOf,
  problemsOf,
  references,
  renamedNode,
  toggledEdge,
  withoutNode,
} from "./plan-graph";

const graph = (nodes: Record<string, JsonObject>, ...edges: [string, string][]): PlanGraph => ({
  nodes: Object.entries(nodes).map(([id, args]) => ({ id, tool: `mcp__x__${id}`, args })),
  edges: edges.map(([from, to]) => ({ from, to })),
});

test("references are found in texts however deep they stand", () => {
  expect(references({ a: "{{one}}", b: [{ c: "x {{ two.list.0 }} y {{three}}" }], d: 4 })).toEqual([
    "one",
    "two.list.0",
    "three",
  ]);
});

test("a reference is an edge, and an edge is drawn once", () => {
  expect(edgesOf(graph({ a: {}, b: { x: "{{a.id}}", y: "{{a}}" }, c: {} }, ["a", "b"], ["b", "c"]))).toEqual([
    { from: "a", to: "b", data: true },
    { from: "b", to: "c", data: false },
  ]);
});

test.each<[string, PlanGraph, string[]]>([
  ["a plan in order", graph({ a: {}, b: { x: "{{a}}" } }), []],
  [
    "a reference to nothing",
    graph({ a: { x: "{{zz.id}}" } }),
    ["`a` uses `{{zz.id}}`, and no node is called `zz`"],
  ],
  [
    "a circle",
    graph({ a: { x: "{{c}}" }, b: { x: "{{a}}" }, c: {} }, ["b", "c"]),
    ["the plan runs in a circle: `a` → `b` → `c` → `a`"],
  ],
  ["a node that waits for itself", graph({ a: { x: "{{a}}" } }), ["the plan runs in a circle: `a` → `a`"]],
  ["an edge from nowhere", graph({ a: {} }, ["q", "a"]), ["an edge names `q`, and no node is called that"]],
  ["an id with a dot", graph({ "a.b": {} }), ["`a.b` cannot be the id of a node"]],
])("%s is said in words", (_, given, texts) => {
  expect(problemsOf(given).map((it) => it.text)).toEqual(texts);
});

test("two nodes of one name and too many nodes are problems", () => {
  const twice = graph({ a: {} });
  twice.nodes.push({ id: "a", tool: "t", args: {} });
  expect(problemsOf(twice).map((it) => it.text)).toEqual(["two nodes are called `a`"]);
  const many = graph(Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`n${at}`, {}])));
  expect(problemsOf(many).map((it) => it.text)).toEqual(["a plan has at most 50 nodes"]);
});

test("a new node has a free id that can be referred to", () => {
  expect(freshId(graph({}), "search")).toBe("search");
  expect(freshId(graph({ search: {}, search2: {} }), "search")).toBe("search3");
  expect(freshId(graph({}), "get.now {x}")).toBe("get_now_x_");
});

test("a new name is followed by every edge and reference", () => {
  const renamed = renamedNode(
    graph({ a: {}, b: { x: "{{ a.id }} and {{ab}}", y: ["{{a}}"] } }, ["a", "b"]),
    "a",
    "z",
  );
  expect(renamed.nodes.map((it) => it.id)).toEqual(["z", "b"]);
  expect(renamed.nodes[1]?.args).toEqual({ x: "{{z.id}} and {{ab}}", y: ["{{z}}"] });
  expect(renamed.edges).toEqual([{ from: "z", to: "b" }]);
});

test("a removed node takes its edges along, and what used it says so", () => {
  const left = withoutNode(graph({ a: {}, b: { x: "{{a}}" } }, ["a", "b"]), "a");
  expect(left.edges).toEqual([]);
  expect(problemsOf(left)).toHaveLength(1);
});

test("an edge comes and goes", () => {
  const wired = toggledEdge(graph({ a: {}, b: {} }), "a", "b");
  expect(wired.edges).toEqual([{ from: "a", to: "b" }]);
  expect(toggledEdge(wired, "a", "b").edges).toEqual([]);
});

test("what waits stands to the right of what it waits for, and a circle still has places", () => {
  const places = placesOf(graph({ a: {}, b: {}, c: { x: "{{a}}", y: "{{b}}" } }));
  const [a, b, c] = ["a", "b", "c"].map((it) => places.get(it) ?? [0, 0]);
  expect(a?.[0]).toBe(b?.[0]);
  expect(a?.[1]).not.toBe(b?.[1]);
  expect(c?.[0]).toBeGreaterThan(a?.[0] ?? 0);
  expect(placesOf(graph({ a: { x: "{{b}}" }, b: { x: "{{a}}" } })).size).toBe(2);
});
