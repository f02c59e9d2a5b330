import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Pages } from "./pages";
import type { TabFacts, ToHub, ToPage } from "./protocol";

const TOOL = { name: "getCart", inputSchema: { type: "object" } };
const NOT_FOUND = (reason: string, delivered = false) => ({
  code: -32001,
  message: "TabNotFound",
  data: { reason, delivered },
});

function browser() {
  const sent: ToHub[] = [];
  const hub = { isThere: true, takes: Number.POSITIVE_INFINITY };
  const facts: TabFacts = {
    tabId: 0,
    windowId: 7,
    active: true,
    incognito: false,
    discarded: false,
    title: "A page",
  };
  const pages = new Pages({
    send: (message) => {
      if (!hub.isThere || JSON.stringify(message).length > hub.takes) return false;
      sent.push(message);
      return true;
    },
    tab: async (tabId) => ({ ...facts, tabId, url: `https://example.com/${tabId}` }),
    changed: () => {},
  });
  const open = (tabId: number, documentId = `d${tabId}`) => {
    const heard: ToPage[] = [];
    const port = { postMessage: (it: ToPage) => void heard.push(it), disconnect: vi.fn() };
    const page = pages.add(port, { tabId, documentId, url: `https://example.com/${tabId}` });
    return { page, heard, port };
  };
  const offer = async (tabId: number, documentId?: string) => {
    const opened = open(tabId, documentId);
    pages.hear(opened.page, { type: "register-tools", tools: [TOOL], sources: { getCart: "channel" } });
    await settle();
    return opened;
  };
  const methods = () => sent.map((it) => ("method" in it ? it.method : `answer ${it.id}`));
  const last = () => sent.at(-1);
  return { pages, sent, methods, last, open, offer, hub };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());
const settle = () => vi.advanceTimersByTimeAsync(0);

describe("registration", () => {
  it("says who the browser says it is, whatever the page claims", async () => {
    const { pages, last, open } = browser();
    const { page } = open(1);
    const claims = { tabUrl: "https://bank.com", extensions: { tabId: 9 } };
    pages.hear(page, { type: "register-tools", tools: [TOOL], sources: { getCart: "channel" }, ...claims });
    await settle();
    expect(last()).toEqual({
      method: "browser/registerTools",
      params: {
        tools: [TOOL],
        tabUrl: "https://example.com/1",
        extensions: {
          ...{ tabId: 1, windowId: 7, documentId: "d1", active: true, incognito: false },
          ...{ title: "A page", sources: { getCart: "channel" } },
        },
      },
    });
  });

  // reg-empty
  it("of an empty list is none, and a later list is", async () => {
    const { pages, methods, open } = browser();
    const { page } = open(1);
    pages.hear(page, { type: "register-tools", tools: [], sources: {} });
    await settle();
    expect(methods()).toEqual([]);
    pages.hear(page, { type: "tools-updated", tools: [TOOL], sources: {} });
    await settle();
    expect(methods()).toEqual(["browser/registerTools"]);
  });

  // malformed
  it("survives what is malformed, and so does the port", async () => {
    const { pages, methods, open } = browser();
    const { page, port } = open(1);
    for (const it of [null, "x", { type: "unheard-of" }, { type: "register-tools", tools: {} }])
      pages.hear(page, it);
    pages.hear(page, { type: "register-tools", tools: [TOOL], sources: {} });
    await settle();
    expect(methods()).toEqual(["browser/registerTools"]);
    expect(port.disconnect).not.toHaveBeenCalled();
  });

  it("is told at most five times a second, the last state always", async () => {
    const { pages, sent, offer } = browser();
    const { page } = await offer(1);
    for (let at = 0; at < 50; at++) {
      pages.hear(page, { type: "tools-updated", tools: [{ ...TOOL, name: `t${at}` }], sources: {} });
      await vi.advanceTimersByTimeAsync(20);
    }
    await vi.advanceTimersByTimeAsync(200);
    expect(sent.length).toBeLessThanOrEqual(7);
    expect(sent.at(-1)).toMatchObject({ params: { tools: [{ name: "t49" }] } });
  });

  it("is repeated for a hub that has just come", async () => {
    const { pages, methods, offer, open, hub } = browser();
    hub.isThere = false;
    await offer(1);
    await offer(2);
    open(3);
    expect(methods()).toEqual([]);
    hub.isThere = true;
    await pages.registerAll();
    expect(methods()).toEqual(["browser/registerTools", "browser/registerTools"]);
  });
});

describe("a call", () => {
  const run = { toolName: "getCart", extensions: { tabId: 1, documentId: "d1" } };

  // exec-args-default
  it("reaches its page, with {} where there are no arguments", async () => {
    const { pages, offer, sent } = browser();
    const { page, heard } = await offer(1);
    pages.execute("c", { ...run, args: null });
    expect(heard).toEqual([{ type: "execute-tool", requestId: "c", toolName: "getCart", args: {} }]);
    pages.hear(page, { type: "tool-started", requestId: "c" });
    pages.hear(page, { type: "tool-result", requestId: "c", data: { success: false, payload: "boom" } });
    expect(sent.slice(1)).toEqual([
      { method: "browser/toolStarted", params: { requestId: "c" } },
      { id: "c", result: { success: false, payload: "boom" } },
    ]);
  });

  it.each([
    ["an unknown tab", { tabId: 2 }, "TabNotFound"],
    ["no tab", undefined, "TabNotFound"],
    ["a document that is gone", { tabId: 1, documentId: "old" }, "Navigated"],
  ])("for %s is refused without running", async (_, extensions, reason) => {
    const { pages, offer, last } = browser();
    const { heard } = await offer(1);
    pages.execute("c", { toolName: "getCart", ...(extensions && { extensions }) });
    expect(last()).toEqual({ id: "c", error: NOT_FOUND(reason) });
    expect(heard).toEqual([]);
  });

  it("to a port that is dead counts as not delivered", async () => {
    const { pages, offer, last } = browser();
    const { port } = await offer(1);
    port.postMessage = () => {
      throw new Error("disconnected port");
    };
    pages.execute("c", run);
    expect(last()).toEqual({ id: "c", error: NOT_FOUND("TabNotFound") });
  });

  // spoofed-result
  it("is answered only by the tab that was asked", async () => {
    const { pages, offer, sent } = browser();
    const [one, two] = [await offer(1), await offer(2)];
    pages.execute("c", run);
    const data = (it: string) => ({ success: true, payload: { content: [{ type: "text", text: it }] } });
    pages.hear(two.page, { type: "tool-result", requestId: "c", data: data("forged") });
    pages.hear(one.page, { type: "tool-result", requestId: "c", data: data("true") });
    pages.hear(one.page, { type: "tool-result", requestId: "c", data: data("twice") });
    expect(sent.slice(2)).toEqual([{ id: "c", result: data("true") }]);
  });

  it("in a page that is left ends as delivered, before the page is reported gone", async () => {
    const { pages, offer, sent } = browser();
    const { page } = await offer(1);
    pages.execute("c", run);
    pages.remove(page);
    expect(sent.slice(1)).toEqual([
      { id: "c", error: NOT_FOUND("TabClosed", true) },
      { method: "browser/tabDisconnected", params: { extensions: { tabId: 1, documentId: "d1" } } },
    ]);
  });

  // late-disconnect
  it("is not harmed by an old document that disconnects late", async () => {
    const { pages, offer, methods } = browser();
    const old = await offer(1, "old");
    const { heard } = await offer(1, "d1");
    pages.remove(old.page);
    expect(methods()).toEqual(["browser/registerTools", "browser/tabDisconnected", "browser/registerTools"]);
    pages.execute("c", run);
    expect(heard).toHaveLength(1);
  });

  it("that is cancelled is cancelled in the page and never answered", async () => {
    const { pages, offer, methods } = browser();
    const { page, heard } = await offer(1);
    pages.execute("c", run);
    pages.cancel("c", "enough");
    expect(heard.at(-1)).toEqual({ type: "cancel", requestId: "c", reason: "enough" });
    pages.hear(page, { type: "tool-result", requestId: "c", data: { success: true, payload: {} } });
    expect(methods()).toEqual(["browser/registerTools"]);
  });

  it("with too large a result fails with a sentence", async () => {
    const { pages, offer, last, hub } = browser();
    const { page } = await offer(1);
    pages.execute("c", run);
    hub.takes = 200;
    const payload = { content: [{ type: "text", text: "x".repeat(300) }] };
    pages.hear(page, { type: "tool-result", requestId: "c", data: { success: true, payload } });
    expect(last()).toEqual({
      id: "c",
      result: { success: false, payload: "the result is larger than the hub takes" },
    });
  });

  it("follows its tab to another id", async () => {
    const { pages, offer, last } = browser();
    const { heard } = await offer(1);
    pages.replace(9, 1);
    pages.execute("c", { toolName: "getCart", extensions: { tabId: 9 } });
    expect(heard).toHaveLength(1);
    pages.execute("d", run);
    expect(last()).toMatchObject({ id: "d", error: NOT_FOUND("TabNotFound") });
  });

  it("reports progress, but not without end", async () => {
    const { pages, offer, sent } = browser();
    const { page } = await offer(1);
    pages.execute("c", run);
    const steps = () => sent.filter((it) => "method" in it && it.method === "notifications/progress").length;
    for (let progress = 0; progress < 500; progress++)
      pages.hear(page, { type: "progress", requestId: "c", progress });
    expect(steps()).toBe(50);
    await vi.advanceTimersByTimeAsync(1_000);
    pages.hear(page, { type: "progress", requestId: "c", progress: 500 });
    expect(steps()).toBe(51);
  });

  it("ends with the hub", async () => {
    const { pages, offer } = browser();
    const { heard } = await offer(1);
    pages.execute("c", run);
    pages.cancelAll();
    expect(heard.at(-1)).toEqual({ type: "cancel", requestId: "c", reason: "the hub is gone" });
  });
});

describe("a question", () => {
  const question = { type: "confirm-action", confirmId: "q", requestId: "c", message: "Sure?" };

  // elicit-alias
  it("of a running call goes to the hub, and the answer back in the page's words", async () => {
    const { pages, offer, last } = browser();
    const { page, heard } = await offer(1);
    pages.execute("c", { toolName: "getCart", extensions: { tabId: 1 } });
    pages.hear(page, question);
    expect(last()).toMatchObject({
      method: "browser/elicitConfirmation",
      params: { message: "Sure?", extensions: { tabId: 1, requestId: "c" } },
    });
    const { id } = last() as { id: string };
    pages.answer({ kind: "response", id, result: { action: "accept", content: { a: 1 } } });
    pages.answer({ kind: "response", id, result: { action: "decline" } });
    const data = { action: "accept", content: { a: 1 } };
    expect(heard.slice(1)).toEqual([{ type: "confirm-result", confirmId: "q", data }]);
  });

  it("without a running call is refused here", async () => {
    const { pages, offer, methods } = browser();
    const { page, heard } = await offer(1);
    pages.hear(page, question);
    expect(heard).toMatchObject([
      { type: "confirm-result", confirmId: "q", data: { error: { code: -32600 } } },
    ]);
    expect(methods()).toEqual(["browser/registerTools"]);
  });

  it("may be one of four, and no more", async () => {
    const { pages, offer, sent } = browser();
    const { page, heard } = await offer(1);
    pages.execute("c", { toolName: "getCart", extensions: { tabId: 1 } });
    for (const confirmId of ["1", "2", "3", "4", "5"]) pages.hear(page, { ...question, confirmId });
    expect(sent.filter((it) => "method" in it && it.method === "browser/elicitConfirmation")).toHaveLength(4);
    const error = { code: -32600, message: "too many questions at once" };
    expect(heard.at(-1)).toEqual({ type: "confirm-result", confirmId: "5", data: { error } });
  });

  it("that the hub refuses or answers with nonsense is refused or cancelled", async () => {
    const { pages, offer, sent } = browser();
    const { page, heard } = await offer(1);
    pages.execute("c", { toolName: "getCart", extensions: { tabId: 1 } });
    pages.hear(page, question);
    pages.hear(page, { ...question, confirmId: "r" });
    const [first, second] = sent.slice(1).map((it) => (it as { id: string }).id);
    const error = { code: -32600, message: "no" };
    pages.answer({ kind: "response", id: first ?? "", error });
    pages.answer({ kind: "response", id: second ?? "", result: "yes" });
    expect(heard.slice(1)).toEqual([
      { type: "confirm-result", confirmId: "q", data: { error } },
      { type: "confirm-result", confirmId: "r", data: { action: "cancel" } },
    ]);
  });
});

it("a page that is no longer shared is told to stop, and the hub that it is gone", async () => {
  const { pages, offer, methods } = browser();
  const one = await offer(1);
  const two = await offer(2);
  pages.stop((it) => it.tabId === 1);
  expect(one.heard).toEqual([{ type: "stop" }]);
  expect(one.port.disconnect).toHaveBeenCalled();
  expect(two.heard).toEqual([]);
  expect(methods().at(-1)).toBe("browser/tabDisconnected");
  expect(pages.all).toEqual([two.page]);
});
