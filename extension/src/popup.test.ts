/** The popup and the worker together: what a click leads to, with a person who agrees or does not. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fakeBrowser, fakeEvent } from "./fake";

const ID = "toolgrove";
const SHOP = { id: 1, url: "https://shop.example/cart", title: "A shop", incognito: false, active: true };

/** An element, as far as the popup needs one. */
class FakeElement extends EventTarget {
  readonly dataset = {};
  readonly attributes = new Map<string, string>();
  hidden = false;
  textContent = "";
  setAttribute(name: string, value: string) {
    this.attributes.set(name, value);
  }
  append() {}
  replaceChildren() {}
}

/** Opens the popup over a tab of a shop. `answer` is what the browser makes of a request for a grant. */
async function openPopup(answer: "agree" | "refuse" | "fail") {
  const granted = new Set<string>();
  const browser = fakeBrowser(granted);
  const request = vi.fn(async (grant: chrome.permissions.Permissions) => {
    if (answer === "fail") throw new Error("not now");
    return answer === "agree" && browser.permissions.request(grant as { origins: string[] });
  });
  const executeScript = vi.fn(async (_: { target: { tabId: number }; files: string[] }) => []);
  const onConnect = fakeEvent<[object]>();
  const connect = ({ name }: { name: string }) => {
    const sender = { id: ID, url: `chrome-extension://${ID}/popup.html` };
    const [popup, worker] = [fakeEvent<[unknown]>(), fakeEvent<[unknown]>()];
    const end = (own: typeof popup, other: typeof popup) => ({
      name,
      sender,
      onMessage: own,
      onDisconnect: fakeEvent(),
      postMessage: (it: unknown) => queueMicrotask(() => other.fire(it)),
    });
    onConnect.fire(end(worker, popup));
    return end(popup, worker);
  };
  const on = fakeEvent();
  const nothing = async () => {};
  vi.stubGlobal("chrome", {
    ...browser,
    permissions: { ...browser.permissions, request },
    scripting: { ...browser.scripting, executeScript },
    runtime: {
      id: ID,
      connect,
      onConnect,
      onInstalled: on,
      onStartup: on,
      getURL: (path: string) => `chrome-extension://${ID}/${path}`,
      getManifest: () => ({ version: "0.1.0" }),
    },
    tabs: {
      query: async () => [SHOP],
      get: async () => SHOP,
      onActivated: on,
      onReplaced: on,
      onRemoved: on,
      onUpdated: on,
      onCreated: on,
      onAttached: on,
    },
    windows: { onFocusChanged: on },
    alarms: { onAlarm: on, create: nothing },
    action: { setTitle: nothing, setBadgeBackgroundColor: nothing, setBadgeTextColor: nothing },
  });
  const html = readFileSync(resolve(import.meta.dirname, "popup.html"), "utf8");
  const elements = new Map([...html.matchAll(/ id="([\w-]+)"/g)].map((it) => [it[1], new FakeElement()]));
  vi.stubGlobal("document", {
    getElementById: (id: string) => elements.get(id),
    createElement: () => new FakeElement(),
  });
  vi.stubGlobal("location", { search: "" });
  vi.stubGlobal("navigator", { userAgent: "" });
  vi.stubGlobal("WebSocket", class {});
  vi.resetModules();
  await import("./worker");
  await import("./popup");
  await settle();
  return {
    granted,
    request,
    click: () => elements.get("all-switch")?.dispatchEvent(new Event("click")),
    isOn: () => elements.get("all-switch")?.attributes.get("aria-checked"),
    isHereOn: () => elements.get("here-switch")?.attributes.get("aria-checked"),
    problem: () => elements.get("problem")?.textContent,
    injected: () => executeScript.mock.calls.map(([{ target, files }]) => [target.tabId, ...files]),
    registered: () => browser.scripting.getRegisteredContentScripts(),
  };
}

const settle = () => vi.advanceTimersByTimeAsync(1_000);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("the switch for all sites", () => {
  it("asks the browser, and shares what is open when the person agrees", async () => {
    const popup = await openPopup("agree");
    expect(popup.isOn()).toBe("false");
    popup.click();
    // At once: a browser asks only while it still knows of the click.
    expect(popup.request.mock.calls).toEqual([[{ origins: ["<all_urls>"] }]]);
    await settle();
    expect(popup.isOn()).toBe("true");
    expect(popup.isHereOn()).toBe("true");
    expect(popup.injected()).toEqual([
      [1, "content.js"],
      [1, "page.js"],
    ]);
    expect(await popup.registered()).toMatchObject([
      { id: "content", matches: ["<all_urls>"] },
      { id: "page", matches: ["<all_urls>"] },
    ]);
  });

  it.each([
    ["the person refuses", "refuse", ""],
    ["the browser cannot ask, which is said", "fail", "Error: not now"],
  ] as const)("stays off when %s", async (_, answer, problem) => {
    const popup = await openPopup(answer);
    popup.click();
    await settle();
    expect(popup.request).toHaveBeenCalledOnce();
    expect(popup.isOn()).toBe("false");
    expect(popup.isHereOn()).toBe("false");
    expect(popup.problem()).toBe(problem);
    expect(popup.injected()).toEqual([]);
    expect(await popup.registered()).toEqual([]);
  });

  it("gives the grant back when it is turned off", async () => {
    const popup = await openPopup("agree");
    popup.click();
    await settle();
    popup.click();
    await settle();
    expect(popup.request).toHaveBeenCalledOnce();
    expect([...popup.granted]).toEqual([]);
    expect(popup.isOn()).toBe("false");
    expect(await popup.registered()).toEqual([]);
  });
});
