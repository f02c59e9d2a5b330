import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Json } from "../protocol";
import { Channel } from "./channel";

/** A page server that answers at once, and what it heard. */
function serve(options: { listChanged?: boolean; pages?: Json[][] } = {}) {
  const heard: Json[] = [];
  const changed = vi.fn();
  const ask = vi.fn(async () => ({ action: "accept" as const }));
  const state = { tools: options.pages ?? [[{ name: "a" }]], isSilent: false };
  const channel = new Channel("channel", {
    changed,
    ask,
    post: (payload) => {
      if (payload === "mcp-check-ready") return channel.hear("mcp-server-ready");
      const message = payload as Json & { id?: string; method?: string; params?: Json };
      heard.push(message);
      if (state.isSilent || message.id === undefined || message.method === undefined) return;
      const page = Number(message.params?.cursor ?? 0);
      const answers: Record<string, () => Json> = {
        initialize: () => ({ capabilities: { tools: { listChanged: options.listChanged ?? true } } }),
        "tools/list": () => ({
          tools: state.tools[page] ?? [],
          ...(page + 1 < state.tools.length && { nextCursor: String(page + 1) }),
        }),
      };
      const result = answers[message.method]?.();
      if (result) channel.hear({ jsonrpc: "2.0", id: message.id, result });
    },
  });
  const methods = () => heard.map((it) => it.method);
  return { channel, heard, methods, changed, ask, state };
}

const running = () => {
  const controller = new AbortController();
  return { controller, requestId: "1", signal: controller.signal, progress: vi.fn() };
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());
const settle = () => vi.advanceTimersByTimeAsync(0);

describe("a server in a page", () => {
  it("is greeted in 2025-06-18 and listed to the last page", async () => {
    const { channel, heard, methods } = serve({
      pages: [[{ name: "a" }, { name: 7 }], [{ name: "b", inputSchema: { type: "object" } }]],
    });
    channel.look();
    await settle();
    expect(methods()).toEqual(["initialize", "notifications/initialized", "tools/list", "tools/list"]);
    expect(heard[0]?.params).toMatchObject({
      protocolVersion: "2025-06-18",
      capabilities: { elicitation: {} },
    });
    expect(channel.tools).toEqual([
      { name: "a", inputSchema: { type: "object", properties: {} } },
      { name: "b", inputSchema: { type: "object" } },
    ]);
  });

  it("is listed again when it says that its tools have changed, and not asked otherwise", async () => {
    const { channel, state, methods } = serve();
    channel.look();
    await settle();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(methods().filter((it) => it === "tools/list")).toHaveLength(1);
    state.tools = [[{ name: "b" }]];
    channel.hear({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    await settle();
    expect(channel.tools.map((it) => it.name)).toEqual(["b"]);
  });

  // upd-poll
  it("is asked every 60 s if it does not say when its tools change", async () => {
    const { channel, state, methods } = serve({ listChanged: false });
    channel.look();
    await settle();
    const lists = () => methods().filter((it) => it === "tools/list").length;
    expect(lists()).toBe(1);
    await vi.advanceTimersByTimeAsync(59_999);
    expect(lists()).toBe(1);
    state.tools = [[{ name: "b" }]];
    await vi.advanceTimersByTimeAsync(1);
    expect(lists()).toBe(2);
    expect(channel.tools.map((it) => it.name)).toEqual(["b"]);
    channel.stop();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(lists()).toBe(2);
  });

  it("that never answers is given up, and met when it comes after all", async () => {
    const { channel, state } = serve();
    state.isSilent = true;
    channel.look();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(channel.tools).toEqual([]);
    state.isSilent = false;
    channel.hear("mcp-server-ready");
    await settle();
    expect(channel.tools).toHaveLength(1);
  });

  it("that stops takes its tools along and fails its calls", async () => {
    const { channel } = serve();
    channel.look();
    await settle();
    const call = channel.call("a", {}, running());
    channel.hear("mcp-server-stopped");
    expect(await call).toEqual({ success: false, payload: "the page's server stopped" });
    expect(channel.tools).toEqual([]);
  });
});

describe("a call", () => {
  async function started(name = "a") {
    const server = serve();
    server.channel.look();
    await settle();
    const run = running();
    const answer = server.channel.call(name, { x: 1 }, run);
    const request = server.heard.at(-1) as Json & { id: string; params: Json };
    return { ...server, run, answer, request };
  }

  it("carries its arguments and passes the result unchanged", async () => {
    const { channel, request, answer } = await started();
    expect(request).toMatchObject({ method: "tools/call", params: { name: "a", arguments: { x: 1 } } });
    const result = { content: [], isError: true, more: 1 };
    channel.hear({ jsonrpc: "2.0", id: request.id, result });
    expect(await answer).toEqual({ success: true, payload: result });
  });

  it("fails with the sentence of the server", async () => {
    const { channel, request, answer } = await started();
    channel.hear({ jsonrpc: "2.0", id: request.id, error: { code: -32602, message: "no such tool" } });
    expect(await answer).toEqual({ success: false, payload: "no such tool" });
  });

  it("fails if the result is none", async () => {
    const { channel, request, answer } = await started();
    channel.hear({ jsonrpc: "2.0", id: request.id, result: null });
    expect(await answer).toEqual({ success: false, payload: "the tool returned an invalid result" });
  });

  it("is answered only by its own id, and hears only of its own progress", async () => {
    const { channel, request, answer, run } = await started();
    channel.hear({ jsonrpc: "2.0", id: "1", result: { content: [] } });
    channel.hear({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: "1", progress: 1 },
    });
    channel.hear({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: request.id, progress: 1, message: "half" },
    });
    expect(run.progress.mock.calls).toEqual([[{ progress: 1, message: "half" }]]);
    channel.hear({ jsonrpc: "2.0", id: request.id, result: {} });
    expect(await answer).toEqual({ success: true, payload: {} });
  });

  it("is cancelled in the page", async () => {
    const { heard, request, answer, run } = await started();
    run.controller.abort("enough");
    expect(heard.at(-1)).toMatchObject({
      method: "notifications/cancelled",
      params: { requestId: request.id, reason: "enough" },
    });
    expect(await answer).toEqual({ success: false, payload: "the call was cancelled" });
  });

  it("has no clock here", async () => {
    const { answer } = await started();
    const ended = vi.fn();
    void answer.then(ended);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(ended).not.toHaveBeenCalled();
  });
});

it("a server may ask for a ping and for the person, and for nothing else", async () => {
  const { channel, heard, ask } = serve();
  channel.hear({ jsonrpc: "2.0", id: 1, method: "ping" });
  channel.hear({ jsonrpc: "2.0", id: 2, method: "sampling/createMessage" });
  channel.hear({
    jsonrpc: "2.0",
    id: 3,
    method: "elicitation/create",
    params: { message: "Sure?", requestedSchema: { a: 1 } },
  });
  await settle();
  expect(ask).toHaveBeenCalledWith("Sure?", { a: 1 });
  expect(heard).toEqual([
    { jsonrpc: "2.0", id: 1, result: {} },
    { jsonrpc: "2.0", id: 2, error: { code: -32601, message: "`sampling/createMessage` is not known here" } },
    { jsonrpc: "2.0", id: 3, result: { action: "accept" } },
  ]);
});
