/** What happens to pages and calls: change, cancel, ask, reload, navigation, closing, and coming back. */

import { expect, test, text } from "./test";

const closed = { code: -32001, message: "TabNotFound", data: { reason: "TabClosed", delivered: true } };

test("a tool that comes later and one that goes are an update", async ({ hub, web, open }) => {
  const { page, registered } = await open(web.byHand({ tools: ["a", "b"] }));
  const update = hub.registration();
  await page.evaluate("change(['b', 'c'])");
  const { tools, extensions } = await update;
  expect(tools.map((it) => it.name)).toEqual(["b", "c"]);
  expect(extensions.documentId).toBe(registered.extensions.documentId);

  const emptied = hub.next((it) => it.method === "browser/updateTools");
  await page.evaluate("change([])");
  expect((await emptied).params?.tools).toEqual([]);
});

test("a native tool that comes later is an update, and the same list twice is nothing", async ({
  hub,
  web,
  open,
}) => {
  const { page, registered } = await open(web.at("/native"));
  const update = hub.registration((it) => it.tools.some((tool) => tool.name === "late"));
  await page.evaluate("addTool('late')");
  expect(text(await hub.call(await update, "late"))).toBe("late");
  const count = hub.frames.filter((it) => it.method === "browser/updateTools").length;
  await page.evaluate("document.modelContext.dispatchEvent(new Event('toolchange'))");
  expect(text(await hub.call(registered, "late"))).toBe("late");
  expect(hub.frames.filter((it) => it.method === "browser/updateTools")).toHaveLength(count);
});

for (const [after, announces] of [
  [1_500, true],
  [3_000, true],
  [1_500, false],
] as const) {
  const manner = announces ? "and says so" : "and waits to be asked";
  test(`a server that starts after ${after} ms ${manner} is found`, async ({ hub, web, open }) => {
    const { registered } = await open(web.byHand({ after, announces }));
    expect(text(await hub.call(registered, "getCart"))).toBe("getCart {}");
  });
}

test("progress, images and errors of a page arrive as they are", async ({ hub, web, open }) => {
  const { registered } = await open(web.byHand({ tools: ["steps", "image", "fail"] }));
  const first = hub.next((it) => it.method === "notifications/progress");
  const second = hub.next((it) => it.method === "notifications/progress");
  await hub.call(registered, "steps", {}, "call-1");
  expect((await first).params).toEqual({ progressToken: "call-1", progress: 1, total: 2, message: "step 1" });
  expect((await second).params).toEqual({
    progressToken: "call-1",
    progress: 2,
    total: 2,
    message: "step 2",
  });

  const image = await hub.call(registered, "image");
  expect(image.result).toMatchObject({
    success: true,
    payload: { content: [{ type: "image", mimeType: "image/png" }] },
  });
  const failed = await hub.call(registered, "fail");
  const payload = { isError: true, content: [{ type: "text", text: "no such cart" }] };
  expect(failed.result).toEqual({ success: true, payload });
});

test("a call that is cancelled is cancelled in the page and not answered", async ({ hub, web, open }) => {
  const { page, registered } = await open(web.byHand({ tools: ["slow", "getCart"] }));
  const started = hub.next((it) => it.method === "browser/toolStarted");
  void hub.call(registered, "slow", {}, "call-1");
  await started;
  hub.send({ method: "notifications/cancelled", params: { requestId: "call-1", reason: "enough" } });
  await expect.poll(() => page.evaluate("cancelled.map((it) => it.reason)")).toEqual(["enough"]);
  await hub.call(registered, "getCart");
  expect(hub.frames.filter((it) => it.id === "call-1")).toEqual([]);
});

test("a page asks in the middle of a call and gets the answer; without a call it is refused", async ({
  hub,
  web,
  open,
}) => {
  const { page, registered } = await open(web.byHand({ tools: ["buy"] }));
  hub.confirm = () => ({ result: { action: "accept", content: { sure: true } } });
  const question = hub.next((it) => it.method === "browser/elicitConfirmation");
  const answer = await hub.call(registered, "buy", {}, "call-1");
  expect((await question).params).toEqual({
    message: "Buy it?",
    requestedSchema: { type: "object", properties: { sure: { type: "boolean" } } },
    extensions: { tabId: registered.extensions.tabId, requestId: "call-1" },
  });
  expect(text(answer)).toBe('{"action":"accept","content":{"sure":true}}');
  expect(await page.evaluate("askOutOfTurn()")).toMatchObject({ error: { code: -32600 } });
});

test("a reload keeps the tab and changes the document", async ({ hub, web, open }) => {
  const { page, registered } = await open(web.byHand());
  const gone = hub.next((it) => it.method === "browser/tabDisconnected");
  const again = hub.registration();
  await page.reload();
  const { tabId, documentId } = registered.extensions;
  expect((await gone).params).toEqual({ extensions: { tabId, documentId } });
  const { extensions } = await again;
  expect(extensions.tabId).toBe(tabId);
  expect(extensions.documentId).not.toBe(documentId);

  const stale = await hub.call(registered, "getCart");
  expect(stale.error).toEqual({
    code: -32001,
    message: "TabNotFound",
    data: { reason: "Navigated", delivered: false },
  });
});

for (const what of ["closed", "left"]) {
  test(`a call in a tab that is ${what} ends as delivered`, async ({ hub, web, open }) => {
    const { page, registered } = await open(web.byHand({ tools: ["slow"] }));
    const started = hub.next((it) => it.method === "browser/toolStarted");
    const answer = hub.call(registered, "slow");
    await started;
    if (what === "closed") await page.close();
    else await page.goto(web.at("/plain"));
    expect((await answer).error).toEqual(closed);
    const after = await hub.call(registered, "slow");
    expect(after.error).toMatchObject({ data: { reason: "TabNotFound", delivered: false } });
  });
}

test("a page that comes back from the back-forward cache registers the same document", async ({
  hub,
  web,
  open,
}) => {
  const { page, registered } = await open(web.at("/native"));
  const gone = hub.next((it) => it.method === "browser/tabDisconnected");
  await page.evaluate("addEventListener('pageshow', (it) => { window.wasKept = it.persisted })");
  await page.goto(web.at("/plain"));
  await gone;
  const back = hub.registration();
  await page.goBack({ waitUntil: "commit" });
  expect((await back).extensions.documentId).toBe(registered.extensions.documentId);
  expect(await page.evaluate("wasKept")).toBe(true);
  expect(text(await hub.call(await back, "echo", { text: "again" }))).toBe("echo again");
});

test("a discarded tab is gone, and comes back when the hub reloads it", async ({
  hub,
  web,
  open,
  worker,
  context,
}) => {
  const { registered } = await open(web.byHand());
  const { tabId } = registered.extensions;
  await context.newPage();
  const gone = hub.next((it) => it.method === "browser/tabDisconnected");
  const now = await worker.evaluate(async (id) => (await chrome.tabs.discard(id))?.id, tabId);
  await gone;
  expect((await hub.call(registered, "getCart")).error).toMatchObject({ data: { delivered: false } });
  const back = hub.registration();
  expect((await hub.request("browser/reloadTab", { tabId: now })).result).toEqual({});
  expect(text(await hub.call(await back, "getCart"))).toBe("getCart {}");
});

test("frames of the same origin repeat a name, and each is reached", async ({ hub, web, context }) => {
  const both = hub.registration((it) => it.tools.length === 2);
  const page = await context.newPage();
  await page.goto(web.at("/frames"));
  const registered = await both;
  expect(registered.tools.map((it) => [it.name, it.description])).toEqual([
    ["search", "of the page"],
    ["search_2", "of the frame"],
  ]);
  expect(text(await hub.call(registered, "search"))).toBe("page");
  expect(text(await hub.call(registered, "search_2"))).toBe("frame");
});

test("two tabs of one site and one of another answer each for itself, a hundred times at once", async ({
  hub,
  web,
  open,
}) => {
  const tabs = [await open(web.byHand()), await open(web.byHand({ n: 2 })), await open(web.at("/native"))];
  const [one, two, three] = tabs.map((it) => it.registered);
  const started = performance.now();
  const calls = Array.from({ length: 100 }, async (_, at) => {
    const tab = [one, two, three][at % 3];
    const answer = tab && (await hub.call(tab, tab === three ? "plain" : "getCart", { at }));
    return String(answer && text(answer)).includes(`"at":${at}}`);
  });
  expect(await Promise.all(calls)).toEqual(Array(100).fill(true));
  process.stdout.write(`    100 calls at once: ${(performance.now() - started).toFixed(0)} ms\n`);
});
