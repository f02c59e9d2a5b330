import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { PlanGraph } from "@/api/types.gen";
import { insertMethod } from "@/app/insert";
import { BASE, fakeHub, open, tool, whole } from "@/test-kit";

const plan = (graph: PlanGraph) => ({
  id: "p1",
  workspace_id: "w",
  name: "Morning",
  graph,
  created_at: 0,
  updated_at: 0,
});
const node = (id: string, args = {}) => ({ id, tool: "mcp__github__search", args });
const told = (...events: [string, object][]) =>
  new Response(events.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });
const TABLE = {
  ...BASE,
  "GET /api/plans": [],
  "GET /api/mcp/instances/github": whole("github", [
    tool("search", "github", { input_schema: { type: "object", properties: { q: { type: "string" } } } }),
  ]),
};

test("a tool that is inserted becomes a node, and a run saves the plan and shows how far it is", async () => {
  const hub = fakeHub({
    ...TABLE,
    "POST /api/plans": ({ body }: { body: string }) => ({
      ...plan({ nodes: [], edges: [] }),
      ...JSON.parse(body),
    }),
    "POST /api/plans/p1/run": () =>
      told(
        ["node", { node: "search", state: "waiting" }],
        ["node", { node: "search", state: "running", call_id: "c" }],
        ["node", { node: "search", state: "done", delta: "found", call_id: "c" }],
        ["done", { nodes: { search: "done" } }],
      ),
  });
  const { router } = open("/plans/new");
  await userEvent.type(await screen.findByLabelText("Name of the plan"), "Morning");
  expect(screen.getByText(/Drag a tool here/)).toBeTruthy();
  act(() => void insertMethod({ server: "github", method: "search", serverId: "s-github" }));
  expect(await screen.findByRole("button", { name: /^search/ })).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Run" }));
  expect(await screen.findByText(/Ran to its end: 1 done/)).toBeTruthy();
  expect(router.state.location.pathname).toBe("/plans/p1");
  expect(hub.sent("POST")).toEqual(["POST /api/plans", "POST /api/plans/p1/run"]);
  expect(JSON.parse(hub.requests.find((it) => it.what === "POST /api/plans")?.body ?? "")).toEqual({
    name: "Morning",
    graph: { nodes: [node("search")], edges: [] },
  });
});

test("a circle is said where it is, and nothing can be sent", async () => {
  const graph = { nodes: [node("a", { q: "{{b}}" }), node("b", { q: "{{a}}" })], edges: [] };
  const hub = fakeHub({ ...TABLE, "GET /api/plans/p1": plan(graph) });
  open("/plans/p1");
  expect(await screen.findByText(/The plan runs in a circle/)).toBeTruthy();
  expect(screen.getByText("plan.cycle")).toBeTruthy();
  expect((screen.getByRole("button", { name: "Run" }) as HTMLButtonElement).disabled).toBe(true);
  expect(hub.sent("POST")).toEqual([]);
});

test("what one node gives is wired into another's argument, and saved in one request", async () => {
  const graph = { nodes: [node("a"), node("b")], edges: [] };
  const hub = fakeHub({
    ...TABLE,
    "GET /api/plans/p1": plan(graph),
    "PATCH /api/plans/p1": ({ body }: { body: string }) => ({ ...plan(graph), ...JSON.parse(body) }),
  });
  open("/plans/p1?node=b");
  const wire = await screen.findByRole("button", { name: "Wire" });
  fireEvent.change(screen.getByLabelText(/^Path/), { target: { value: "items.0" } });
  fireEvent.click(wire);
  fireEvent.click(screen.getByRole("button", { name: "Save", hidden: true }));
  await waitFor(() => expect(hub.sent("PATCH")).toEqual(["PATCH /api/plans/p1"]));
  const sent = JSON.parse(hub.requests.find((it) => it.what.startsWith("PATCH"))?.body ?? "");
  expect(sent.graph.nodes[1]).toEqual(node("b", { q: "{{a.items.0}}" }));
});
