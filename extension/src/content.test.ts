import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fakeEvent } from "./fake";

/** The content script in a page whose tools the browser knows, and what it told the worker. */
async function inPage(hidden = false) {
  const told: [type: string, ...names: string[]][] = [];
  const context = Object.assign(new EventTarget(), {
    tools: ["a"],
    getTools: async () => context.tools.map((name) => ({ name })),
    executeTool: async () => {},
  });
  const document = { hidden, modelContext: context };
  vi.stubGlobal("document", document);
  vi.stubGlobal("window", Object.assign(new EventTarget(), { document, navigator: {}, postMessage() {} }));
  vi.stubGlobal("location", { origin: "https://shop.example", protocol: "https:" });
  const port = {
    onMessage: fakeEvent(),
    onDisconnect: fakeEvent(),
    postMessage: ({ type, tools }: { type: string; tools: { name: string }[] }) =>
      told.push([type, ...tools.map((it) => it.name)]),
    disconnect() {},
  };
  vi.stubGlobal("chrome", { runtime: { id: "toolgrove", connect: () => port } });
  vi.resetModules();
  await import("./content");
  await pass(0);
  const change = async (...tools: string[]) => {
    context.tools = tools;
    context.dispatchEvent(new Event("toolchange"));
    await pass(0);
  };
  return { told, change };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  globalThis.toolgroveProxy?.stop();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("the tools of a page", () => {
  it("are told 50 ms after the first was seen, with those that came meanwhile", async () => {
    const { told, change } = await inPage();
    await pass(30);
    await change("a", "b");
    await pass(19);
    expect(told).toEqual([]);
    await pass(1);
    expect(told).toEqual([["register-tools", "a", "b"]]);
  });

  it("that change after that are told 500 ms after the first change, once, as they are then", async () => {
    const { told, change } = await inPage();
    await pass(50);
    told.length = 0;
    for (const it of ["b", "c", "d", "e", "f"]) {
      await change("a", it);
      await pass(99);
    }
    await pass(4);
    expect(told).toEqual([]);
    await pass(1);
    expect(told).toEqual([["tools-updated", "a", "f"]]);
    await pass(10_000);
    expect(told).toHaveLength(1);
  });

  it("that are again what they were are not told", async () => {
    const { told, change } = await inPage();
    await pass(50);
    await change("a", "b");
    await change("a");
    await pass(10_000);
    expect(told).toEqual([["register-tools", "a"]]);
  });

  it("of a hidden page are told at once the first time: timers are slow there", async () => {
    const { told, change } = await inPage(true);
    expect(told).toEqual([["register-tools", "a"]]);
    await change("b");
    await pass(499);
    expect(told).toHaveLength(1);
    await pass(1);
    expect(told.at(-1)).toEqual(["tools-updated", "b"]);
  });
});
