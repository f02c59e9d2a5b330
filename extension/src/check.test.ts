import { describe, expect, it } from "vitest";
import { readConfirmation, readFromHub, readFromPage, soundSources, soundTools } from "./check";

const schema = { type: "object" };

describe("tools", () => {
  it("are dropped one by one, each with a sentence, and the rest is kept", () => {
    const { tools, dropped } = soundTools([
      { description: "no name", inputSchema: schema },
      { name: "ok", inputSchema: schema },
      { name: "no-schema" },
      { name: "white space", inputSchema: schema },
      { name: "ok", inputSchema: schema },
      "nothing",
      { name: "large", inputSchema: { type: "object", description: "x".repeat(65 * 1024) } },
    ]);
    expect(tools).toEqual([{ name: "ok", inputSchema: schema }]);
    expect(dropped).toEqual([
      "a tool has no name",
      "`no-schema` has no input schema",
      "`white space` is no name for a tool",
      "`ok` stands twice",
      "a tool has no name",
      "the schema of `large` is too large",
    ]);
  });

  it("lose what hides in their texts and keep what we do not know", () => {
    const given = {
      name: "a",
      title: "",
      description: "a\u202eb\u0007c\nd",
      inputSchema: schema,
      annotations: 1,
      _meta: { x: 1 },
    };
    expect(soundTools([given]).tools).toEqual([
      { name: "a", description: "abc\nd", inputSchema: schema, _meta: { x: 1 } },
    ]);
  });

  it("are at most 256, and their descriptions at most 8 KiB", () => {
    const many = Array.from({ length: 257 }, (_, at) => ({
      name: `t${at}`,
      inputSchema: schema,
      description: "x".repeat(9000),
    }));
    const { tools, dropped } = soundTools(many);
    expect(tools).toHaveLength(256);
    expect(tools[0]?.description).toHaveLength(8192);
    expect(dropped).toEqual(["`t256` is one tool too many: a tab may have 256"]);
  });

  it("have a source where one was said", () => {
    const tools = ["a", "b", "constructor"].map((name) => ({ name, inputSchema: schema }));
    expect(soundSources({ a: "native", b: "elsewhere", c: "shim" }, tools)).toEqual({ a: "native" });
  });
});

describe("a message of a content script", () => {
  const sound: [unknown, unknown][] = [
    [
      { type: "register-tools", tools: [] },
      { type: "register-tools", tools: [], sources: {} },
    ],
    [
      { type: "tools-updated", tools: [1], sources: { a: "shim" }, relayTabId: "r" },
      { type: "tools-updated", tools: [1], sources: { a: "shim" }, relayTabId: "r" },
    ],
    [
      { type: "tool-started", requestId: "1", more: 1 },
      { type: "tool-started", requestId: "1" },
    ],
    [
      { type: "tool-result", requestId: "1", data: { success: true, payload: { content: [] } } },
      { type: "tool-result", requestId: "1", data: { success: true, payload: { content: [] } } },
    ],
    [
      { type: "progress", requestId: "1", progress: 1, total: "many" },
      { type: "progress", requestId: "1", progress: 1 },
    ],
    [
      { type: "confirm-action", confirmId: "c", requestId: "1", message: "Sure?" },
      { type: "confirm-action", confirmId: "c", requestId: "1", message: "Sure?" },
    ],
  ];
  it.each(sound)("%j is understood", (given, expected) => expect(readFromPage(given)).toEqual(expected));

  it.each([
    null,
    "register-tools",
    { type: "unheard-of" },
    { type: "register-tools", tools: {} },
    { type: "tool-started", requestId: "" },
    { type: "tool-result", requestId: "1", data: { success: true, payload: "text" } },
    { type: "tool-result", requestId: "1", data: { success: false, payload: {} } },
    { type: "progress", requestId: "1" },
    { type: "confirm-action", requestId: "1", message: "Sure?" },
  ])("%j is none", (given) => expect(readFromPage(given)).toBeUndefined());
});

describe("a message of the hub", () => {
  it("is a request, a notification or a response", () => {
    const read = (it: object) => readFromHub(JSON.stringify({ jsonrpc: "2.0", ...it }));
    expect(read({ id: "1", method: "a", params: { b: 1 } })).toEqual({
      kind: "request",
      id: "1",
      method: "a",
      params: { b: 1 },
    });
    expect(read({ method: "a" })).toEqual({ kind: "notification", method: "a", params: {} });
    expect(read({ id: "1", result: null })).toEqual({ kind: "response", id: "1", result: null });
    const error = { code: -32600, message: "no" };
    expect(read({ id: "1", error })).toEqual({ kind: "response", id: "1", error });
  });

  it.each([
    "",
    "not json",
    "[]",
    "{}",
    '{"jsonrpc":"1.0","method":"a"}',
    '{"jsonrpc":"2.0","id":1,"method":"a"}',
    '{"jsonrpc":"2.0","id":"1"}',
    7,
  ])("%j is none", (given) => expect(readFromHub(given)).toBeUndefined());

  it("answers a question with one of three words", () => {
    expect(readConfirmation({ action: "accept", content: { a: 1 }, more: 1 })).toEqual({
      action: "accept",
      content: { a: 1 },
    });
    expect(readConfirmation({ action: "maybe" })).toBeUndefined();
    expect(readConfirmation("accept")).toBeUndefined();
  });
});
