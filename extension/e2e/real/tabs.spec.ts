/** Several tabs, and what happens to them: which one is in front, reload, leaving, closing, coming back. */

import type { Page, Worker } from "@playwright/test";
import { call, expect, failure, gone, listed, nameOf, names, test } from "./test";

/** The id that the browser has for a page. */
const tabId = (worker: Worker, page: Page) =>
  worker.evaluate(
    async (url) => (await chrome.tabs.query({})).findLast((it) => it.url === url)?.id ?? -1,
    page.url(),
  );

/** Puts a tab in front, as a person would. */
const show = (worker: Worker, id: number) =>
  worker.evaluate((id) => chrome.tabs.update(id, { active: true }), id);

test("two tabs of a site keep their tools apart, and the name without a tab goes to the one in front", async ({
  web,
  open,
  worker,
  client,
}) => {
  const [one, two] = [web.byHand({ tools: ["whoami"], n: 1 }), web.byHand({ tools: ["whoami"], n: 2 })];
  const first = await tabId(worker, await open(one, "whoami", 1));
  const second = await tabId(worker, await open(two, "whoami", 2));
  const domain = `localhost:${new URL(one).port} - 2 tabs`;
  const described = async () =>
    (await client.listTools()).tools
      .filter((it) => it.name.includes(new URL(one).port))
      .map((it) => it.description);
  for (const [id, tab] of [
    [first, 1],
    [second, 2],
  ] as const) {
    await show(worker, id);
    await expect.poll(described).toEqual(Array(2).fill(`[${domain} • Tab ${tab} Active] By hand`));
    expect(await call(client, nameOf(one, "whoami"))).toContain(`"n":${tab}`);
    expect(await call(client, nameOf(one, "whoami", 1))).toContain('"n":1');
    expect(await call(client, nameOf(one, "whoami", 2))).toContain('"n":2');
  }
});

test("tabs of two sites do not meet", async ({ web, other, open, client }) => {
  const [here, there] = [web.byHand({ tools: ["whoami"], n: 1 }), other.byHand({ tools: ["whoami"], n: 2 })];
  await open(here, "whoami");
  await open(there, "whoami");
  expect(await call(client, nameOf(here, "whoami"))).toContain('"n":1');
  expect(await call(client, nameOf(there, "whoami"))).toContain('"n":2');
});

test("a reload keeps the name, and leaving takes it away", async ({ web, open, client }) => {
  const url = web.at("/native");
  const page = await open(url, "echo");
  await page.reload();
  // Until the new document has told of them, its tools are nowhere.
  await expect(async () => {
    expect(await call(client, nameOf(url, "echo", 1), { text: "again" })).toBe("echo again");
  }).toPass({ intervals: [20], timeout: 15_000 });
  await page.goto(web.at("/plain"));
  await gone(client, nameOf(url, "echo", 1));
  const lost = await failure(call(client, nameOf(url, "echo", 1), { text: "x" }));
  expect(lost.message).toContain(nameOf(url, "echo", 1));
});

test("a page that comes back from the back-forward cache has its tools back", async ({
  web,
  open,
  client,
}) => {
  const url = web.at("/native");
  const page = await open(url, "echo");
  await page.evaluate("addEventListener('pageshow', (it) => { window.wasKept = it.persisted })");
  await page.goto(web.at("/plain"));
  await gone(client, nameOf(url, "echo", 1));
  await page.goBack({ waitUntil: "commit" });
  await listed(client, nameOf(url, "echo", 1));
  expect(await page.evaluate("wasKept")).toBe(true);
  expect(await call(client, nameOf(url, "echo", 1), { text: "kept" })).toBe("echo kept");
});

for (const what of ["closed", "left"]) {
  test(`a call in a tab that is ${what} in the middle of it fails and is not repeated`, async ({
    web,
    open,
    client,
  }) => {
    const url = web.byHand({ tools: ["slow"] });
    const page = await open(url, "slow");
    const answer = failure(client.callTool({ name: nameOf(url, "slow", 1), arguments: {} }));
    await expect.poll(() => page.evaluate("begun")).toBe(1);
    if (what === "closed") await page.close();
    else await page.goto(web.at("/plain"));
    expect(await answer).toMatchObject({ code: -32001, data: { code: "tab.none" } });
  });
}

test("a remembered tool is called with no tab open, and one is opened for it", async ({
  web,
  open,
  browserContext,
  client,
}) => {
  const url = web.byHand();
  await (await open(url, "getCart")).close();
  await listed(client, nameOf(url, "getCart"));
  expect(await names(client, url)).toEqual([nameOf(url, "getCart")]);
  const opened = browserContext.waitForEvent("page");
  const started = performance.now();
  expect(await call(client, nameOf(url, "getCart"), { milk: 2 })).toBe('getCart {"milk":2}');
  process.stdout.write(
    `    a tab opened and its tool called: ${(performance.now() - started).toFixed(0)} ms\n`,
  );
  const page = await opened;
  expect(page.url()).toBe(url);
  await page.close();
});

test("a discarded tab is loaded again for a call, and no other is opened", async ({
  web,
  open,
  worker,
  recorder,
  browserContext,
  client,
}) => {
  const url = web.byHand();
  const id = await tabId(worker, await open(url, "getCart"));
  const front = await browserContext.newPage();
  await front.bringToFront();
  await expect.poll(() => worker.evaluate(async (id) => (await chrome.tabs.get(id)).active, id)).toBe(false);
  const tabs = () => worker.evaluate(async () => (await chrome.tabs.query({})).length);
  const before = await tabs();
  await worker.evaluate((id) => chrome.tabs.discard(id), id);
  await gone(client, nameOf(url, "getCart", 1));
  const isReported = () => JSON.stringify(recorder.frames.at(-1)?.message).includes('"discarded":true');
  await expect.poll(isReported).toBe(true);
  expect(await call(client, nameOf(url, "getCart"), { milk: 1 })).toBe('getCart {"milk":1}');
  expect(await tabs()).toBe(before);
  await listed(client, nameOf(url, "getCart", 1));
  await worker.evaluate(async (url) => {
    for (const it of await chrome.tabs.query({}))
      if (it.url === url && it.id) await chrome.tabs.remove(it.id);
  }, url);
  await front.close();
});
