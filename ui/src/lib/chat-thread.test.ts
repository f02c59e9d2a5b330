import { expect, test } from "vitest";
import type { ChatEvent } from "@/api/types.gen";
import {
  bareName,
  type Content,
  fold,
  type Message,
  NO_THREAD,
  phaseOf,
  refused,
  rowsOf,
  said,
  type Thread,
} from "./chat-thread";

const CHAT = {
  id: "c",
  workspace_id: "w",
  bud_id: null,
  title: "Hello",
  model: null,
  mcp_config_overrides: { additional_servers: [], disabled_tools: [] },
  running: true,
  created_at: 0,
  updated_at: 0,
};
const message = (id: string, role: Message["role"], content: Partial<Content> = {}): Message => ({
  id,
  chat_id: "c",
  role,
  content: { text: "", ...content },
  call_id: null,
  created_at: 0,
});
const put = (...given: Parameters<typeof message>) =>
  ({ type: "message", message: message(...given) }) as ChatEvent;
const ask = (id: string, of: string, permission = true): ChatEvent => ({
  type: "ask",
  ask: { id, message: of, permission, text: "May it?", schema: null, url: null },
});
const after = (...events: ChatEvent[]) => events.reduce(fold, NO_THREAD);
const PROBLEM = { status: 429, code: "server.rate", detail: "too many calls" };

/** A turn in which a model uses one tool. */
const TURN: ChatEvent[] = [
  { type: "chat", chat: CHAT },
  put("u", "user", { text: "hi" }),
  put("a", "assistant", { state: "running" }),
  { type: "delta", message: "a", delta: "Let me " },
  { type: "delta", message: "a", delta: "look" },
  { type: "use", message: "a", use_id: "0", name: "mcp__w__now" },
  { type: "arguments", message: "a", use_id: "0", delta: '{"city":' },
  { type: "arguments", message: "a", use_id: "0", delta: '"Oslo"}' },
  put("a", "assistant", {
    text: "Let me look",
    state: "done",
    uses: [{ id: "0", name: "mcp__w__now", arguments: '{"city":"Oslo"}' }],
  }),
  put("t", "tool", { state: "running", use_id: "0", tool: "mcp__w__now" }),
  { type: "progress", message: "t", progress: 1, total: 2, note: "half" },
  put("t", "tool", { state: "done", use_id: "0", tool: "mcp__w__now", text: "sunny", ms: 3 }),
  put("b", "assistant", { state: "running" }),
  { type: "delta", message: "b", delta: "It is sunny" },
  put("b", "assistant", { state: "done", text: "It is sunny" }),
  { type: "done", state: "done" },
];

test("deltas that are joined are what is stored", () => {
  const live = after(...TURN.slice(0, 8)).messages.at(-1)?.content;
  expect(live).toMatchObject({ text: "Let me look", uses: [{ arguments: '{"city":"Oslo"}' }] });
  const whole = after(...TURN);
  expect(whole.messages.map((it) => it.content.text)).toEqual(["hi", "Let me look", "sunny", "It is sunny"]);
  expect(whole).toMatchObject({ stream: "closed", progress: {}, chat: { running: false } });
});

test("a turn that is heard again from its beginning changes nothing", () => {
  const once = after(...TURN);
  expect(TURN.reduce(fold, once)).toEqual(once);
});

test("what is shown at once is patched, never replaced", () => {
  const shown = said(NO_THREAD, { text: "hi" }, 7, false);
  expect(shown.messages.map((it) => [it.role, it.content.text])).toEqual([
    ["user", "hi"],
    ["assistant", ""],
  ]);
  const keys = shown.messages.map((it) => it.key);
  const whole = TURN.reduce(fold, shown);
  expect(whole.messages.slice(0, 2).map((it) => [it.id, it.key])).toEqual([
    ["u", keys[0]],
    ["a", keys[1]],
  ]);
  expect(whole.messages).toHaveLength(4);
});

test("the place of a call is taken by whatever comes of it", () => {
  const shown = said(NO_THREAD, { text: "/call w.now()" }, 7, true);
  const key = shown.messages[1]?.key;
  const failed = [
    put("u", "user", { text: "/call w.now()" }),
    put("x", "assistant", { state: "failed" }),
  ].reduce(fold, shown);
  expect(failed.messages.map((it) => [it.id, it.role])).toEqual([
    ["u", "user"],
    ["x", "assistant"],
  ]);
  expect(failed.messages[1]?.key).toBe(key);
});

test("what was never filled is gone when the turn is over", () => {
  const shown = fold(said(NO_THREAD, { text: "hi" }, 7, false), { type: "done", state: "stopped" });
  expect(shown.messages).toEqual([]);
});

test("a refused message says why where the answer would have been, and the next one takes its place", () => {
  const shown = said(NO_THREAD, { text: "hi" }, 7, true);
  const failed = refused(NO_THREAD, shown, undefined, PROBLEM);
  expect(failed.messages[1]).toMatchObject({
    role: "assistant",
    content: { state: "failed", error: PROBLEM },
  });
  expect(said(failed, { text: "again" }, 8, false).messages.map((it) => it.content.text)).toEqual([
    "again",
    "",
  ]);
});

test("an edit cuts what follows, and a refused edit brings it back", () => {
  const before = after(...TURN);
  const edited = said(before, { text: "hello", edit: "u" }, 9, false);
  expect(edited.messages.map((it) => it.content.text)).toEqual(["hello", ""]);
  const back = refused(before, edited, "u", PROBLEM);
  expect(back.messages).toEqual(before.messages);
  expect(back.problem).toEqual(PROBLEM);
});

test("a question is open until its tool goes on or ends", () => {
  const running = [...TURN.slice(0, 10), ask("q", "t")];
  expect(after(...running).asks).toHaveLength(1);
  expect(after(...running, ask("q", "t")).asks).toHaveLength(1);
  expect(after(...running, { type: "asked", ask: "q" }).asks).toEqual([]);
  expect(
    after(...running, { type: "progress", message: "t", progress: 1, total: null, note: null }).asks,
  ).toEqual([]);
  expect(after(...running, put("t", "tool", { state: "done" })).asks).toEqual([]);
  const form = [...TURN.slice(0, 10), ask("q", "t", false)];
  expect(
    after(...form, { type: "progress", message: "t", progress: 1, total: null, note: null }).asks,
  ).toHaveLength(1);
});

test("an event of a newer hub, or of a message that is gone, does nothing", () => {
  const thread: Thread = after(...TURN);
  expect(fold(thread, { type: "sparkle" } as unknown as ChatEvent)).toBe(thread);
  expect(fold(thread, { type: "delta", message: "gone", delta: "x" })).toBe(thread);
});

test("tools stand with the answer that asked for them, though every answer counts from the same number", () => {
  const use = [{ id: "0", name: "n", arguments: "{}" }];
  const rows = rowsOf([
    message("u", "user", { text: "hi" }),
    message("a", "assistant", { uses: use }),
    message("t1", "tool", { use_id: "0" }),
    message("b", "assistant", { text: "more", uses: [...use, { id: "1", name: "n", arguments: '{"a' }] }),
    message("t2", "tool", { use_id: "0" }),
    message("own", "tool"),
  ]);
  expect(rows.map((it) => [it.kind, it.kind === "use" ? it.text : it.message.id])).toEqual([
    ["user", "u"],
    ["tool", "t1"],
    ["answer", "b"],
    ["tool", "t2"],
    ["use", '{"a'],
    ["tool", "own"],
  ]);
});

test("a card keeps its key while the model's wish becomes a call", () => {
  const keyOf = (count: number) => rowsOf(after(...TURN.slice(0, count)).messages).at(-1);
  expect(keyOf(7)?.kind).toBe("use");
  expect(keyOf(10)?.kind).toBe("tool");
  expect(keyOf(10)?.key).toBe(keyOf(7)?.key);
});

test("a card's state is read from its message and its question", () => {
  const { asks } = after(...TURN.slice(0, 10), ask("q", "t"), ask("r", "t", false));
  expect(phaseOf({ text: "", state: "running" }, asks[0])).toBe("waiting");
  expect(phaseOf({ text: "", state: "running" }, asks[1])).toBe("needs-input");
  expect(phaseOf({ text: "", state: "running" }, undefined)).toBe("running");
  expect(phaseOf({ text: "", state: "failed", error: { ...PROBLEM, code: "call.denied" } }, undefined)).toBe(
    "denied",
  );
  expect(phaseOf({ text: "", state: "stopped" }, undefined)).toBe("cancelled");
});

test("a tool is called by its own name where its server is known", () => {
  expect(bareName("mcp__w__now", "w")).toBe("now");
  expect(bareName("mcp_w__now", "w")).toBe("now");
  expect(bareName("website_tool_x", "w")).toBe("website_tool_x");
  expect(bareName("mcp__w__now", undefined)).toBe("mcp__w__now");
});
