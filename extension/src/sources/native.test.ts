import { describe, expect, it, vi } from "vitest";
import { hasBarePolyfill } from "../page";
import { type Host, named, nativeResult, nativeSource } from "./native";
import type { Running } from "./source";

const running = (): Running => ({ requestId: "1", signal: new AbortController().signal, progress: () => {} });
const text = (it: string, more = {}) => ({
  success: true,
  payload: { content: [{ type: "text", text: it }], ...more },
});

describe("what a native tool returned", () => {
  it.each([
    ["plain words", text("plain words")],
    ['"quoted"', text("quoted")],
    ["7", text("7")],
    ["[1,2]", text("[1,2]")],
    ['{"a":1}', text('{"a":1}', { structuredContent: { a: 1 } })],
    ['{"content":[{"type":"text","text":"x"}],"isError":true}', text("x", { isError: true })],
    ["undefined", { success: true, payload: { content: [] } }],
    [undefined, { success: true, payload: { content: [] } }],
    [null, text("the tool navigated away before it had a result", { isError: true })],
  ])("%j", (raw, expected) => expect(nativeResult(raw)).toEqual(expected));
});

class Context extends EventTarget {
  asked: unknown[] = [];
  tools = [{ name: "a", title: "", description: "A", inputSchema: { type: "object" } as unknown }];
  getTools = async () => this.tools;
}

/** `executeTool` in the shape of each version. */
class Modern extends Context {
  async executeTool(tool: { name: string }, ...rest: unknown[]) {
    this.asked.push([tool.name, rest[0]]);
    return "done";
  }
}
class Older extends Context {
  async executeTool(tool: { name: string }, input: string) {
    this.asked.push([tool.name, input]);
    return "done";
  }
}

async function listed(host: Host) {
  const changed = vi.fn();
  const source = nativeSource(host, changed);
  await vi.waitFor(() => expect(changed).toHaveBeenCalled());
  if (!source) throw new Error("no source");
  return { source, changed };
}

describe("the browser's WebMCP", () => {
  it("takes arguments as an object from Chrome 155 on, and as text before", async () => {
    for (const [context, input] of [
      [new Modern(), { x: 1 }],
      [new Older(), '{"x":1}'],
    ] as const) {
      const { source } = await listed({ document: { modelContext: context }, navigator: {} });
      expect(await source.call("a", { x: 1 }, running())).toEqual(text("done"));
      expect(context.asked).toEqual([["a", input]]);
    }
  });

  it("was on the navigator once, and under another name before that", async () => {
    const context = new Older();
    expect((await listed({ document: {}, navigator: { modelContext: context } })).source.tools).toHaveLength(
      1,
    );

    const asked: unknown[] = [];
    const testing = {
      listTools: () => [{ name: "a", description: "A", inputSchema: '{"type":"object","required":["x"]}' }],
      executeTool: async (...it: unknown[]) => {
        asked.push(it.slice(0, 2));
        return "done";
      },
    };
    const { source } = await listed({ document: {}, navigator: { modelContextTesting: testing } });
    expect(source.tools).toEqual([
      { name: "a", description: "A", inputSchema: { type: "object", required: ["x"] } },
    ]);
    await source.call("a", {}, running());
    expect(asked).toEqual([["a", "{}"]]);
  });

  it("may be missing, forbidden or without schemas", async () => {
    expect(nativeSource({ document: {}, navigator: {} }, () => {})).toBeUndefined();
    const forbidden = Object.assign(new Modern(), {
      getTools: () => Promise.reject(new Error("NotAllowedError")),
    });
    expect((await listed({ document: { modelContext: forbidden }, navigator: {} })).source.tools).toEqual([]);
    const bare = Object.assign(new Modern(), { tools: [{ name: "a", inputSchema: "{" }] });
    expect((await listed({ document: { modelContext: bare }, navigator: {} })).source.tools).toEqual([
      { name: "a", inputSchema: { type: "object", properties: {} } },
    ]);
  });

  it("is listed again when it says so, until it is stopped", async () => {
    const context = new Modern();
    const { source, changed } = await listed({ document: { modelContext: context }, navigator: {} });
    context.tools = [];
    context.dispatchEvent(new Event("toolchange"));
    await vi.waitFor(() => expect(source.tools).toEqual([]));
    source.stop();
    context.dispatchEvent(new Event("toolchange"));
    expect(changed).toHaveBeenCalledTimes(2);
  });

  it("turns an exception into a sentence", async () => {
    const context = Object.assign(new Modern(), {
      executeTool: async () => Promise.reject(new Error("it failed")),
    });
    const { source } = await listed({ document: { modelContext: context }, navigator: {} });
    expect(await source.call("a", {}, running())).toEqual({ success: false, payload: "it failed" });
    expect(await source.call("b", {}, running())).toEqual({
      success: false,
      payload: "this page has no tool `b`",
    });
  });
});

it("the page keeps a name that its frames use too", () => {
  const [page, frame] = [{}, {}];
  const tools = [
    { name: "a", window: frame, description: "frame" },
    { name: "a", window: frame, description: "second frame" },
    { name: "a", window: page, description: "page" },
    { name: "a_2", window: page },
  ];
  const names = [...named(tools, page)].map(([name, it]) => [name, it.description]);
  expect(names).toEqual([
    ["a", "page"],
    ["a_2", undefined],
    ["a_3", "frame"],
    ["a_4", "second frame"],
  ]);
});

describe("the shim starts", () => {
  const context = { getTools: () => {}, executeTool: () => {} };
  const host = (modelContext: unknown): Host => ({ document: { modelContext }, navigator: {} });

  it("for a bare polyfill", () => expect(hasBarePolyfill(host(context))).toBe(true));
  it("not where there is nothing", () => expect(hasBarePolyfill(host(undefined))).toBe(false));
  it("not for an older interface", () =>
    expect(hasBarePolyfill(host({ registerTool: () => {} }))).toBe(false));
  it("not for a library that has a server", () => {
    expect(hasBarePolyfill(host({ ...context, __isBrowserMcpServer: true }))).toBe(false);
  });
  it("not for the browser's own", () => {
    // A bound function reads like native code.
    const get = (() => context).bind(undefined);
    const document = Object.create(Object.defineProperty({}, "modelContext", { get }));
    expect(hasBarePolyfill({ document, navigator: {} })).toBe(false);
  });
});
