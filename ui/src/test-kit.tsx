/** For tests: a hub that answers from a table and remembers what it was asked, and the whole page on top of it. */

import { QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, RouterProvider } from "@tanstack/react-router";
import { render } from "@testing-library/react";
import { vi } from "vitest";
import { makeQueryClient } from "./api/queries";
import type { CallRecord, HubStatus, Instance, RegistryEntry, Tool, WholeInstance } from "./api/types";
import { makeRouter } from "./router";

type Answer = unknown | ((request: { body: string; headers: Headers }) => unknown);

/** Answers by `METHOD path`; a path may end in `*`. What is not in the table is 404. */
export function fakeHub(table: Record<string, Answer>) {
  const requests: { what: string; body: string; headers: Headers }[] = [];
  const fetch = vi.fn(async (url: string, init: RequestInit = {}) => {
    const path = String(url).split("?")[0] ?? "";
    const what = `${init.method ?? "GET"} ${path}`;
    const request = { what, body: String(init.body ?? ""), headers: new Headers(init.headers) };
    requests.push(request);
    const key = Object.keys(table).find(
      (it) => it === what || (it.endsWith("*") && what.startsWith(it.slice(0, -1))),
    );
    if (key === undefined)
      return json({ status: 404, code: "request.not-found", detail: `there is nothing at \`${path}\`` }, 404);
    const answer = table[key];
    const given = typeof answer === "function" ? await answer(request) : answer;
    return given instanceof Response
      ? given
      : given === undefined
        ? new Response(null, { status: 204 })
        : json(given);
  });
  vi.stubGlobal("fetch", fetch);
  vi.stubGlobal("EventSource", FakeEvents);
  return {
    requests,
    sent: (word: string) => requests.filter((it) => it.what.includes(word)).map((it) => it.what),
  };
}

export const json = (value: unknown, status = 200) =>
  new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json" } });

export const stream = (...events: unknown[]) =>
  new Response(events.map((it) => `data: ${JSON.stringify(it)}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });

class FakeEvents {
  static CLOSED = 2;
  readyState = 1;
  addEventListener() {}
  close() {}
}

export const STATUS: HubStatus = {
  name: "toolgrove",
  version: "1.0.0",
  mode: "solo",
  instances: 1,
  tools: 1,
  sessions: 0,
  parked: 0,
  me: { id: "p", name: "Ada", email: null, role: "admin" },
  endpoint: "http://127.0.0.1:7430/mcp",
  workspaces: [],
  checklist: { server: true, client: false, call: false },
};

export const instance = (slug: string, more: Partial<Instance> = {}): Instance => ({
  id: `i-${slug}`,
  server_id: `s-${slug}`,
  server_name: slug,
  slug,
  name: slug,
  description: "",
  enabled: true,
  transport: "streamable_http",
  kind: "external",
  auth_type: "public",
  status: "ready",
  health: { level: "ok", state: "ready", summary: "Ready · 1 tool" },
  last_error: null,
  tools: 1,
  tools_off: 0,
  age_s: 3,
  problems: [],
  last_call: null,
  ...more,
});

export const tool = (name: string, slug: string, more: Partial<Tool> = {}): Tool => ({
  name,
  public_name: `mcp__${slug}__${name}`,
  description: "",
  enabled: true,
  permission: "allow",
  input_schema: { type: "object", properties: {} },
  ...more,
});

export const whole = (slug: string, tools: Tool[], more: Partial<WholeInstance> = {}): WholeInstance => ({
  ...instance(slug, { tools: tools.length }),
  era: null,
  auth_config_id: null,
  credentials: [],
  tool_list: tools,
  ...more,
});

export const entry = (name: string, more: Partial<RegistryEntry> = {}): RegistryEntry => ({
  id: `s-${name}`,
  name,
  kind: "external",
  transport: "stdio",
  icon: "terminal",
  description: "",
  tools: 1,
  status: "ready",
  instance: { id: `i-${name}`, slug: name, name, enabled: true, status: "ready", failure: null },
  instances: [],
  reason: null,
  ...more,
});

export const call = (id: string, more: Partial<CallRecord> = {}): CallRecord => ({
  id,
  parent_id: null,
  person_id: "p",
  token_id: null,
  chat_id: null,
  door: "mcp",
  method: "tools/call",
  instance_id: null,
  tool: `mcp__a__${id}`,
  depth: 0,
  started_at: 0,
  ms: 1,
  outcome: "done",
  error_code: null,
  bytes: 1,
  client: null,
  tab: null,
  ...more,
});

/** What every page asks for. */
export const BASE = {
  "GET /api/status": STATUS,
  "GET /api/workspaces": [
    {
      id: "w",
      name: "home",
      phase: "gamma",
      allowlist: null,
      allowed_transports: [],
      pins: null,
      role: "admin",
    },
  ],
  "GET /api/mcp/instances": [instance("github")],
  "GET /api/mcp/servers": [],
  "GET /api/mcp/registry": [entry("github")],
  "GET /api/calls": [],
  "GET /api/calls/stats": { since: 0, until: 1, step_ms: 1, slots: [], latency_ms: [], servers: [] },
};

/** The page, as if its address had been typed. */
export function open(path: string) {
  const client = makeQueryClient();
  client.setDefaultOptions({ queries: { ...client.getDefaultOptions().queries, retry: false } });
  const router = makeRouter(client, createMemoryHistory({ initialEntries: [`/ui${path}`] }));
  const view = render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
  return { client, router, ...view };
}

/** A chat whose answer is on its way. */
export const CHAT = {
  id: "c1",
  workspace_id: "w",
  bud_id: null,
  title: "Hello",
  model: null,
  mcp_config_overrides: { additional_servers: [], disabled_tools: [] },
  running: true,
  created_at: 0,
  updated_at: 0,
};
