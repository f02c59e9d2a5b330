import { act, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { metaQuery } from "@/api/queries";
import { BASE, CHAT, entry, fakeHub, json, open, stream } from "@/test-kit";

const message = (id: string, role: string, content: object) => ({
  type: "message",
  message: { id, chat_id: "c1", role, content: { text: "", ...content }, call_id: null, created_at: 0 },
});
const TURN = [
  { type: "chat", chat: CHAT },
  message("u", "user", { text: "hello" }),
  message("a", "assistant", { state: "running" }),
  { type: "delta", message: "a", delta: "It is " },
  { type: "delta", message: "a", delta: "**sunny**" },
  message("a", "assistant", { state: "done", text: "It is **sunny**" }),
  { type: "done", state: "done" },
];
const META = {
  id: "s-github",
  name: "github",
  description: "",
  kind: "external",
  icon: "",
  fetched_at: 0,
  age_s: 1,
  methods: [
    {
      name: "search",
      description: "Finds code",
      signature: "search(q: string)",
      inputSchema: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
    },
  ],
};
const TABLE = {
  ...BASE,
  "GET /api/mcp/registry": [entry("github"), entry("Compare", { kind: "bud", id: "b" })],
  "GET /api/mcp/meta/s-github": META,
  "GET /api/chats": [],
  "GET /api/models": {
    providers: [{ name: "local", kind: "openai", calls: "native", key: false }],
    hint: null,
  },
  "GET /api/buds": [],
  "GET /api/chats/c1/tools": [],
};
const box = () => screen.findByLabelText("Message");
const settled = async (hub: ReturnType<typeof fakeHub>) => {
  await screen.findByRole("treeitem", { name: /github/ });
  await waitFor(() => expect(hub.sent("/api/buds").length).toBe(1));
  return hub.requests.length;
};

test("a first message is one request: what was said is there at once, and the answer patches it", async () => {
  let answer: (response: Response) => void = () => {};
  const hub = fakeHub({
    ...TABLE,
    "POST /api/chats": () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  });
  const { router } = open("/chat");
  const before = await settled(hub);
  await userEvent.type(await box(), "hello{Enter}");
  expect(screen.getByRole("article", { name: "You" }).textContent).toContain("hello");
  expect(((await box()) as HTMLTextAreaElement).value).toBe("");
  act(() => answer(stream(...TURN)));
  expect(await screen.findByText("sunny", { selector: "strong *" })).toBeTruthy();
  await waitFor(() => expect(router.state.location.pathname).toBe("/chat/c1"));
  const sent = hub.requests.slice(before).map((it) => it.what);
  expect(sent.filter((it) => it.startsWith("POST"))).toEqual(["POST /api/chats"]);
  expect(sent).not.toContain("GET /api/chats/c1");
  expect(document.activeElement).toBe(await box());
});

test("typing a slash asks nothing and offers what the sidebar knows", async () => {
  const hub = fakeHub(TABLE);
  const { client } = open("/chat");
  await act(() => client.prefetchQuery(metaQuery("s-github")));
  const before = await settled(hub);
  await userEvent.type(await box(), "/sea");
  expect((await screen.findByRole("option", { name: /github.search/ })).getAttribute("aria-selected")).toBe(
    "true",
  );
  expect(hub.requests.length).toBe(before);
  await userEvent.keyboard("{Enter}");
  expect(((await box()) as HTMLTextAreaElement).value).toBe("/call github.search(…)");
});

test("a line whose arguments are missing opens the form, and one that is wrong says where and sends nothing", async () => {
  const hub = fakeHub({ ...TABLE, "POST /api/chats": () => stream(...TURN) });
  open("/chat?prompt=/call%20github.search(%E2%80%A6)");
  await settled(hub);
  await userEvent.type(await box(), "{Enter}");
  await userEvent.type(await screen.findByLabelText(/^q/), "x");
  await userEvent.click(screen.getByRole("button", { name: "Call" }));
  await waitFor(() => expect(hub.sent("POST")).toEqual(["POST /api/chats"]));
  expect(JSON.parse(hub.requests.find((it) => it.what.startsWith("POST"))?.body ?? "").message.text).toBe(
    '/call github.search({ "q": "x" })',
  );
  await screen.findByText("sunny", { selector: "strong *" });
  await userEvent.clear(await box());
  await userEvent.click(await box());
  await userEvent.paste("/call github.search(q: oops)");
  await userEvent.keyboard("{Enter}");
  expect(await screen.findByText(/texts go between quotes/)).toBeTruthy();
  expect(hub.sent("POST")).toHaveLength(1);
});

test("a tool that needs leave asks in its card, and a lost connection goes on where it was", async () => {
  const waiting = [
    { type: "chat", chat: CHAT },
    message("u", "user", { text: "do it" }),
    message("t", "tool", { state: "running", tool: "mcp__github__search", arguments: { q: "x" } }),
    {
      type: "ask",
      ask: { id: "q", message: "t", permission: true, text: "May `search` run?", schema: null, url: null },
    },
  ];
  const hub = fakeHub({
    ...TABLE,
    "GET /api/chats/c1": { chat: CHAT, messages: [message("u", "user", { text: "do it" }).message] },
    "GET /api/chats/c1/stream": () =>
      hub.sent("stream").length === 1 ? stream(...waiting) : stream(...TURN.slice(2)),
    "POST /api/chats/c1/asks/q": undefined,
  });
  open("/chat/c1");
  expect(await screen.findByRole("group", { name: "search: Needs your leave" })).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Allow once" }));
  expect(await screen.findByRole("group", { name: "search: Running" })).toBeTruthy();
  await userEvent.click(await screen.findByRole("button", { name: "Continue" }));
  expect(await screen.findByText("sunny", { selector: "strong *" })).toBeTruthy();
});

test("what the hub refuses stays on screen with its reason, and the text comes back", async () => {
  const hub = fakeHub({
    ...TABLE,
    "POST /api/chats": () => json({ status: 429, code: "bud.busy", detail: "too many at once" }, 429),
  });
  open("/chat");
  await settled(hub);
  await userEvent.type(await box(), "hello{Enter}");
  expect(await screen.findByText("bud.busy")).toBeTruthy();
  expect(((await box()) as HTMLTextAreaElement).value).toBe("hello");
  expect(screen.getByRole("button", { name: "Try again" })).toBeTruthy();
});

test("without a model the page says how to set one up, and tools are still offered", async () => {
  fakeHub({ ...TABLE, "GET /api/models": { providers: [], hint: "add a `[provider.<name>]`" } });
  open("/chat");
  expect(await screen.findByText("No model is set up")).toBeTruthy();
  expect(await screen.findByRole("button", { name: "Call a tool of github" })).toBeTruthy();
});
