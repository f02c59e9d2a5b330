/** A plan as a graph: what stands in arguments as `{{node.path}}` is an edge. The hub checks all of this again. */

import type { PlanEdge, PlanGraph, PlanNode } from "@/api/types.gen";
import { isObject, type Json } from "./json";

export const MOST_NODES = 50;

/** `data` edges stand in arguments; others only say what waits for what. */
export type Edge = PlanEdge & { data: boolean };
export type PlanProblem = { code: "plan.cycle" | "plan.reference"; text: string; nodes: string[] };

/** Everything between `{{` and `}}` in the texts of a value. */
export function references(value: Json | undefined): string[] {
  if (typeof value === "string")
    return [...value.matchAll(/\{\{([\s\S]*?)\}\}/g)].map((it) => (it[1] ?? "").trim());
  if (Array.isArray(value)) return value.flatMap(references);
  return isObject(value) ? Object.values(value).flatMap(references) : [];
}

export const referred = (reference: string) => reference.split(".")[0] ?? "";

/** Each edge once. One that stands in arguments needs no other. */
export function edgesOf(graph: PlanGraph): Edge[] {
  const found = new Map<string, Edge>();
  for (const { id, args } of graph.nodes)
    for (const it of references(args)) {
      const from = referred(it);
      found.set(`${from} ${id}`, { from, to: id, data: true });
    }
  for (const { from, to } of graph.edges) {
    const key = `${from} ${to}`;
    if (!found.has(key)) found.set(key, { from, to, data: false });
  }
  return [...found.values()];
}

export function problemsOf(graph: PlanGraph): PlanProblem[] {
  const found: PlanProblem[] = [];
  const wrong = (text: string, ...nodes: string[]) => found.push({ code: "plan.reference", text, nodes });
  const ids = new Set<string>();
  for (const { id } of graph.nodes) {
    if (!isId(id)) wrong(`\`${id}\` cannot be the id of a node`, id);
    else if (ids.has(id)) wrong(`two nodes are called \`${id}\``, id);
    ids.add(id);
  }
  for (const { id, args } of graph.nodes)
    for (const it of new Set(references(args)))
      if (!ids.has(referred(it)))
        wrong(`\`${id}\` uses \`{{${it}}}\`, and no node is called \`${referred(it)}\``, id);
  for (const { from, to } of graph.edges)
    for (const end of [from, to])
      if (!ids.has(end)) wrong(`an edge names \`${end}\`, and no node is called that`);
  if (graph.nodes.length > MOST_NODES) wrong(`a plan has at most ${MOST_NODES} nodes`);
  const circle = circleOf(graph);
  if (circle) {
    const names = circle.map((it) => `\`${it}\``).join(" → ");
    found.push({ code: "plan.cycle", text: `the plan runs in a circle: ${names}`, nodes: circle });
  }
  return found;
}

export const isId = (id: string) => id !== "" && !/[{}.]/.test(id) && id.trim() === id;

/** The nodes of a circle, its first one at both ends. */
function circleOf(graph: PlanGraph): string[] | undefined {
  const next = new Map<string, string[]>();
  for (const { from, to } of edgesOf(graph)) next.set(from, [...(next.get(from) ?? []), to]);
  const seen = new Set<string>();
  const way: string[] = [];
  const visit = (id: string): string[] | undefined => {
    const start = way.indexOf(id);
    if (start >= 0) return [...way.slice(start), id];
    if (seen.has(id)) return undefined;
    seen.add(id);
    way.push(id);
    for (const it of next.get(id) ?? []) {
      const circle = visit(it);
      if (circle) return circle;
    }
    way.pop();
    return undefined;
  };
  for (const { id } of graph.nodes) {
    const circle = visit(id);
    if (circle) return circle;
  }
  return undefined;
}

/** An id that is free: the method's own name, with a number if it must be. */
export function freshId(graph: PlanGraph, method: string): string {
  const base = method.replace(/[{}.\s]+/g, "_") || "node";
  const taken = new Set(graph.nodes.map((it) => it.id));
  for (let count = 1; ; count++) {
    const id = count === 1 ? base : `${base}${count}`;
    if (!taken.has(id)) return id;
  }
}

export function withNode(graph: PlanGraph, id: string, change: (node: PlanNode) => PlanNode): PlanGraph {
  return { ...graph, nodes: graph.nodes.map((it) => (it.id === id ? change(it) : it)) };
}

/** Gone, with its edges. What refers to it stays, so that its author sees what is missing. */
export function withoutNode(graph: PlanGraph, id: string): PlanGraph {
  return {
    nodes: graph.nodes.filter((it) => it.id !== id),
    edges: graph.edges.filter((it) => it.from !== id && it.to !== id),
  };
}

/** Another id, followed by every edge and reference. */
export function renamedNode(graph: PlanGraph, id: string, next: string): PlanGraph {
  const follow = (value: Json): Json => {
    if (typeof value === "string")
      return value.replace(/\{\{([\s\S]*?)\}\}/g, (whole, inner: string) => {
        const name = inner.trim();
        return referred(name) === id ? `{{${next}${name.slice(id.length)}}}` : whole;
      });
    if (Array.isArray(value)) return value.map(follow);
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, it]) => [key, follow(it)]));
  };
  const end = (it: string) => (it === id ? next : it);
  return {
    nodes: graph.nodes.map((it) => ({
      ...it,
      id: end(it.id),
      args: follow(it.args) as PlanNode["args"],
    })),
    edges: graph.edges.map((it) => ({ from: end(it.from), to: end(it.to) })),
  };
}

/** An edge that only says what waits, put there or taken away. */
export function toggledEdge(graph: PlanGraph, from: string, to: string): PlanGraph {
  const isThere = graph.edges.some((it) => it.from === from && it.to === to);
  const others = graph.edges.filter((it) => it.from !== from || it.to !== to);
  return { ...graph, edges: isThere ? others : [...others, { from, to }] };
}

export const NODE = { width: 208, height: 72 };
const GAP = { x: 72, y: 28 };
const MARGIN = 24;

/** Where every node is drawn: where it was put, else in columns by what it waits for. */
export function placesOf(graph: PlanGraph): Map<string, [number, number]> {
  const edges = edgesOf(graph);
  const column = new Map<string, number>();
  const columnOf = (id: string, way: readonly string[]): number => {
    const known = column.get(id);
    if (known !== undefined) return known;
    if (way.includes(id)) return 0;
    const before = edges.filter((it) => it.to === id && it.from !== id);
    const own = Math.max(-1, ...before.map((it) => columnOf(it.from, [...way, id]))) + 1;
    column.set(id, own);
    return own;
  };
  const filled = new Map<number, number>();
  const places = new Map<string, [number, number]>();
  for (const { id, at } of graph.nodes) {
    const x = columnOf(id, []);
    const y = filled.get(x) ?? 0;
    filled.set(x, y + 1);
    places.set(id, at ?? [MARGIN + x * (NODE.width + GAP.x), MARGIN + y * (NODE.height + GAP.y)]);
  }
  return places;
}
