/** The tabs of the browser: what the hub hears of them, and what it may ask for. */

import { expect, test, text } from "./test";

test("a tab that the hub opens registers by itself, in the background, and can be closed again", async ({
  hub,
  web,
  context,
}) => {
  await context.newPage();
  const url = web.byHand();
  const started = performance.now();
  const registration = hub.registration((it) => it.tabUrl === url);
  const { result } = await hub.request("browser/openTab", { url, active: false });
  const registered = await registration;
  process.stdout.write(`    openTab to tools: ${(performance.now() - started).toFixed(0)} ms\n`);
  expect(registered.extensions).toMatchObject({ tabId: result?.tabId, active: false });
  expect(text(await hub.call(registered, "getCart"))).toBe("getCart {}");

  const removed = hub.next((it) => it.method === "browser/tabRemoved");
  expect((await hub.request("browser/closeTab", { tabId: result?.tabId })).result).toEqual({});
  expect((await removed).params).toEqual({ extensions: { tabId: result?.tabId } });
});

test("only shared web addresses are opened, and only tabs of the hub's own are closed", async ({
  hub,
  web,
  open,
}) => {
  const { registered } = await open(web.byHand());
  const refused = async (method: string, params: object) =>
    (await hub.request(method, params as Record<string, unknown>)).error?.message;
  expect(await refused("browser/openTab", { url: "javascript:alert(1)" })).toBe(
    "only http: and https: URLs can be opened, got `javascript:`",
  );
  expect(await refused("browser/openTab", {})).toBe("only http: and https: URLs can be opened");
  expect(await refused("browser/openTab", { url: "https://example.com/x" })).toBe(
    "`https://example.com` is not shared by this browser",
  );
  const { tabId } = registered.extensions;
  expect(await refused("browser/closeTab", { tabId })).toBe("only tabs that the hub opened can be closed");
  expect(await refused("browser/activateTab", { tabId: 123456 })).toBe("TabNotFound");
});

test("the hub hears which tab is in front, and can change it", async ({ hub, web, open }) => {
  const first = await open(web.byHand());
  const second = await open(web.at("/native"));
  expect(second.registered.extensions.active).toBe(true);
  const { tabId, windowId } = first.registered.extensions;
  const activated = hub.next((it) => it.method === "browser/tabActivated");
  await hub.request("browser/activateTab", { tabId });
  expect((await activated).params).toEqual({ extensions: { tabId, windowId } });
});

test("a page that only changes its address is still the same document", async ({ hub, web, open }) => {
  const { page, registered } = await open(web.byHand());
  const moved = hub.registration((it) => it.tabUrl.endsWith("/elsewhere"));
  await page.evaluate("history.pushState({}, '', '/elsewhere')");
  expect((await moved).extensions.documentId).toBe(registered.extensions.documentId);
});

test("a site that nobody shared stays unknown, whatever tools it has", async ({
  hub,
  web,
  context,
  open,
}) => {
  const stranger = await context.newPage();
  await stranger.goto(web.at("/native").replace("127.0.0.1", "localhost"));
  const reported = hub.next(
    (it) => it.method === "browser/tabs" && JSON.stringify(it.params).includes("/by-hand"),
  );
  await open(web.byHand());
  const { tabs } = (await reported).params as { tabs: { url?: string; title?: string }[] };
  expect(tabs).toHaveLength(3);
  expect(tabs.filter((it) => it.url?.startsWith("http"))).toHaveLength(1);
  expect(JSON.stringify(hub.frames)).not.toContain("localhost");
});

test("a page without tools is never registered", async ({ hub, web, context, open }) => {
  await (await context.newPage()).goto(web.at("/plain"));
  await open(web.byHand());
  const registered = hub.frames.filter((it) => it.method === "browser/registerTools");
  expect(registered).toHaveLength(1);
});

test("tools of a file are shared where the browser allows it", async ({ hub, context, profilePath }) => {
  const { writeFileSync } = await import("node:fs");
  const path = `${profilePath}/page.html`;
  const tool = `{ name: "here", description: "In a file", execute: async () => "file" }`;
  writeFileSync(path, `<script>document.modelContext.registerTool(${tool})</script>`);
  const registration = hub.registration();
  await (await context.newPage()).goto(`file://${path}`);
  const registered = await registration;
  expect(registered.tabUrl).toBe(`file://${path}`);
  expect(text(await hub.call(registered, "here"))).toBe("file");
});

test("a page that also speaks to a relay says under which id", async ({ web, open }) => {
  const { registered } = await open(web.byHand({ relayTabId: "relay-1" }));
  expect(registered.extensions.relayTabId).toBe("relay-1");
});
