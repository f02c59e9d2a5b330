/** Examples of `/cases` that are about the page, by their id. The hub's tests look here for those they leave out. */

import { act, cleanup, fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { metaQuery } from "@/api/queries";
import { BASE, CHAT, entry, fakeHub, open } from "@/test-kit";
import buds from "../../cases/buds.json";
import instances from "../../cases/instances.json";

type Scenarios = Record<string, (expected: string) => Promise<void>>;

const INSTANCES: Scenarios = {
  "icon-labels": async (expected) => {
    const names = [...expected.matchAll(/'([^']+)'/g)].map((it) => it[1] ?? "");
    expect(names).toEqual(["MCP tool", "Toolset tool"]);
    const method = (name: string) => [{ name, description: "", signature: `${name}()`, inputSchema: {} }];
    const meta = (name: string) => ({
      ...entry(name),
      fetched_at: 0,
      age_s: 1,
      methods: method(`use_${name}`),
    });
    fakeHub({
      ...BASE,
      "GET /api/mcp/registry": [entry("github"), entry("own", { kind: "builtin" })],
      "GET /api/mcp/meta/s-github": meta("github"),
      "GET /api/mcp/meta/s-own": { ...meta("own"), kind: "builtin" },
    });
    open("/mcp");
    const shapes = new Set<string>();
    for (const [server, name] of [
      ["github", names[0]],
      ["own", names[1]],
    ]) {
      await userEvent.click(await screen.findByRole("treeitem", { name: new RegExp(`${server}`) }));
      const row = within(await screen.findByRole("treeitem", { name: new RegExp(`use_${server}`) }));
      shapes.add(row.getByRole("img", { name }).innerHTML);
    }
    expect(shapes.size, "drawn differently, not only coloured").toBe(2);
  },
  "forms-offer-http-only": async (expected) => {
    expect(expected).toContain("streamable_http");
    const hub = fakeHub(BASE);
    for (const [path, field, button] of [
      ["/mcp?add=", "Configuration", "Add & Discover Tools"],
      ["/admin/mcp?add=", "URL", "Add"],
    ] as const) {
      open(path);
      const box = await screen.findByLabelText(field);
      const form = within(box.closest<HTMLElement>("form, [role=dialog]") as HTMLElement);
      expect(form.getByRole("button", { name: button })).toBeTruthy();
      for (const role of ["combobox", "radio", "listbox"])
        expect(form.queryAllByRole(role), role).toEqual([]);
      expect(form.queryByText(/\bsse\b|server-sent/i)).toBeNull();
      if (button === "Add") {
        await userEvent.type(box, "https://api.example.com/mcp");
        await userEvent.click(form.getByRole("button", { name: button }));
        const sent = hub.requests.find((it) => it.what === "POST /api/mcp/servers");
        // No transport is named, and an https address is streamable HTTP to the hub.
        expect(Object.keys(JSON.parse(sent?.body ?? "{}"))).toEqual(["workspaceId", "name", "endpoint"]);
      }
      cleanup();
    }
  },
};

const META = {
  id: "s-github",
  name: "github",
  description: "",
  kind: "external",
  icon: "",
  fetched_at: 0,
  age_s: 1,
  methods: [{ name: "search", description: "", signature: "search(q: string)", inputSchema: {} }],
};
const CHATS = {
  ...BASE,
  "GET /api/mcp/meta/s-github": META,
  "GET /api/chats": [],
  "GET /api/chats/c1/tools": [],
  "GET /api/models": { providers: [], hint: null },
  "GET /api/buds": [],
};

/** A turn that is told event by event. */
function turn() {
  let control: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (it) => {
      control = it;
    },
  });
  const tell = (event: object) =>
    control?.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
  const message = (id: string, role: string, content: object) =>
    tell({ type: "message", message: { id, chat_id: "c1", role, content, call_id: null, created_at: 0 } });
  const response = new Response(body, { headers: { "content-type": "text/event-stream" } });
  return { response, tell, message, end: () => control?.close() };
}

const RUNNING = { text: "", state: "running", tool: "mcp__github__search", arguments: { q: "x" } };
const box = async () => (await screen.findByLabelText("Message")) as HTMLTextAreaElement;
const row = (name: RegExp) => screen.findByRole("treeitem", { name });
const LINE = '/call github.search(q: "x")';

const BUDS: Scenarios = {
  "invoke-optimistic": async () => {
    const told = turn();
    let answer: (response: Response) => void = () => {};
    const asked = new Promise<Response>((resolve) => {
      answer = resolve;
    });
    fakeHub({ ...CHATS, "POST /api/chats": () => asked });
    open("/chat");
    await userEvent.click(await box());
    await userEvent.paste(LINE);
    await userEvent.keyboard("{Enter}");
    // The hub has not said a word yet.
    const card = await screen.findByRole("group", { name: /: Running$/ });
    answer(told.response);
    told.tell({ type: "chat", chat: CHAT });
    told.message("u", "user", { text: LINE });
    told.message("t", "tool", RUNNING);
    told.tell({ type: "delta", message: "t", delta: "It is " });
    await within(card).findByText("It is");
    told.tell({ type: "delta", message: "t", delta: "sunny" });
    await within(card).findByText("It is sunny");
    told.message("t", "tool", { ...RUNNING, state: "done", text: "It is sunny" });
    told.tell({ type: "done", state: "done" });
    told.end();
    expect(await screen.findByRole("group", { name: "search: Done" }), "patched, not replaced").toBe(card);
  },
  "sidebar-kinds": async () => {
    const own = (name: string) => entry(name, { kind: "builtin", transport: "builtin", icon: name });
    const fetched = (name: string) => `/api/mcp/icon/s-${name}`;
    fakeHub({
      ...CHATS,
      "GET /api/mcp/registry": [
        entry("Compare", { kind: "bud", transport: "bud", icon: fetched("Compare") }),
        entry("github", { transport: "streamable_http", icon: fetched("github") }),
        own("file-search"),
        own("calculator"),
      ],
    });
    open("/mcp");
    for (const name of ["Compare", "github"])
      expect((await row(new RegExp(name))).querySelector("img")?.getAttribute("src")).toBe(fetched(name));
    const drawn = await Promise.all([row(/file-search/), row(/calculator/)]);
    expect(drawn.map((it) => it.querySelector("img"))).toEqual([null, null]);
    const shapes = drawn.map((it) => it.querySelector("span[aria-hidden] svg")?.innerHTML);
    expect(new Set(shapes.filter(Boolean)).size).toBe(2);
  },
  "slash-palette": async () => {
    const hub = fakeHub(CHATS);
    const { client } = open("/chat");
    await row(/github/);
    await act(() => client.prefetchQuery(metaQuery("s-github")));
    await waitFor(() => expect(hub.sent("/api/buds")).toHaveLength(1));
    const before = hub.requests.length;
    await userEvent.type(await box(), "/");
    await screen.findByRole("option", { name: /github.search/ });
    expect(hub.requests.slice(before).map((it) => it.what)).toEqual([]);
  },
  "one-round-trip": async () => {
    const told = turn();
    const hub = fakeHub({ ...CHATS, "POST /api/chats": () => told.response });
    open("/chat");
    await row(/github/);
    await userEvent.type(await box(), "look{Enter}");
    told.tell({ type: "chat", chat: CHAT });
    told.message("u", "user", { text: "look" });
    const uses = [{ id: "1", name: "mcp__github__search", arguments: '{"q":"x"}' }];
    told.message("a", "assistant", { text: "", state: "done", uses });
    told.message("t", "tool", { ...RUNNING, use_id: "1", state: "done", text: "found" });
    told.message("b", "assistant", { text: "There it is", state: "done" });
    told.tell({ type: "done", state: "done" });
    told.end();
    await screen.findByText("There it is");
    expect(hub.requests.map((it) => it.what).filter((it) => !it.startsWith("GET"))).toEqual([
      "POST /api/chats",
    ]);
  },
  "hover-prefetch": async (expected) => {
    expect(expected).toContain("exactly one GET /api/mcp/meta/:serverId");
    const hub = fakeHub(CHATS);
    const { client } = open("/mcp");
    const github = await row(/github/);
    vi.useFakeTimers();
    try {
      for (const _ of ["rests", "comes back"]) {
        fireEvent.pointerEnter(github);
        await act(() => vi.advanceTimersByTimeAsync(80));
        fireEvent.pointerLeave(github);
        await act(() => vi.advanceTimersByTimeAsync(59_000));
        expect(client.getQueryData(metaQuery("s-github").queryKey)).toBeTruthy();
      }
    } finally {
      vi.useRealTimers();
    }
    expect(hub.sent("/meta/")).toEqual(["GET /api/mcp/meta/s-github"]);
  },
  "sidebar-no-request": async () => {
    const hub = fakeHub(CHATS);
    const { router } = open("/chat/0");
    await row(/github/);
    await box();
    const before = hub.sent("/api/mcp/registry").length;
    for (let id = 1; id <= 10; id++)
      await act(() => router.navigate({ to: "/chat/$id", params: { id: `${id}` } }));
    expect(router.state.location.pathname).toContain("/10");
    expect(hub.sent("/api/mcp/registry")).toHaveLength(before);
  },
};

for (const [file, scenarios, cases] of [
  ["instances", INSTANCES, instances.cases],
  ["buds", BUDS, buds.cases],
] as const) {
  for (const [id, run] of Object.entries(scenarios)) {
    test(`${file} ${id}`, async () => {
      const found = cases.find((it) => it.id === id);
      expect(found).toBeTruthy();
      await run(String(found?.expect ?? ""));
    });
  }
}
