import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { Bud } from "@/api/types.gen";
import { BASE, fakeHub, open } from "@/test-kit";

const BUD: Bud = {
  id: "b1",
  workspace_id: "w",
  owner_id: "p",
  name: "Compare",
  address: "bud://home/Compare",
  declared: false,
  editable: true,
  created_at: 0,
  updated_at: 0,
  description: "",
  avatar: null,
  system_prompt: "",
  model: null,
  temperature: null,
  max_tokens: null,
  methods: [],
  mcp_config: { servers: [], available_tools: [], disabled_tools: [] },
};
const TABLE = { ...BASE, "GET /api/models": { providers: [], hint: null }, "GET /api/buds": [BUD] };
const bodies = (hub: ReturnType<typeof fakeHub>, what: string) =>
  hub.requests.filter((it) => it.what === what).map((it) => JSON.parse(it.body));

test("a bud is added with one request, from a name alone", async () => {
  const hub = fakeHub({ ...TABLE, "POST /api/buds": BUD });
  open("/mcp?bud=new");
  await userEvent.type(await screen.findByLabelText("Name"), "Compare");
  await userEvent.click(screen.getByRole("button", { name: "Add bud" }));
  await waitFor(() => expect(screen.queryByRole("button", { name: "Add bud" })).toBeNull());
  expect(bodies(hub, "POST /api/buds")).toMatchObject([{ name: "Compare", methods: [], model: null }]);
});

test("what is wrong is said at its place, and nothing is sent", async () => {
  const hub = fakeHub(TABLE);
  open("/mcp?bud=new");
  await userEvent.type(await screen.findByLabelText(/^Temperature/), "hot");
  await userEvent.click(screen.getByRole("button", { name: "Add bud" }));
  expect(await screen.findByText("A bud needs a name")).toBeTruthy();
  expect(screen.getByText("A number from 0 to 2")).toBeTruthy();
  expect(hub.sent("POST")).toEqual([]);
});

test("an edit sends only what it changed", async () => {
  const hub = fakeHub({ ...TABLE, "PATCH /api/buds/b1": { ...BUD, system_prompt: "You compare" } });
  open("/mcp?bud=b1");
  await userEvent.type(await screen.findByLabelText(/^System prompt/), "You compare");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() => expect(bodies(hub, "PATCH /api/buds/b1")).toEqual([{ system_prompt: "You compare" }]));
});

test("a bud of the configuration can be read and not changed", async () => {
  fakeHub({ ...TABLE, "GET /api/buds": [{ ...BUD, declared: true, editable: false }] });
  open("/mcp?bud=b1");
  expect(await screen.findByText(/declared in toolgrove.toml/)).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Save" })).toBeNull();
});
