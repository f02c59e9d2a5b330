/** Hub and worker that end and come back, with the tools of pages that stayed. */

import { call, connected, expect, failure, listed, nameOf, test } from "./test";

test.use({ world: "life" });

test("after a restart of the hub every tool is back under its name", async ({ hub, web, open, recorder }) => {
  const url = web.byHand();
  await open(url, "getCart");
  const sockets = recorder.sockets;
  await hub.stop();
  await hub.start();
  const client = await hub.client();
  const started = performance.now();
  await listed(client, nameOf(url, "getCart", 1));
  process.stdout.write(`    tools back after ${(performance.now() - started).toFixed(0)} ms\n`);
  expect(recorder.sockets).toBe(sockets + 1);
  expect(await call(client, nameOf(url, "getCart", 1))).toBe("getCart {}");
  await client.close();
});

test("a worker that ends takes its calls along and comes back with the tools", async ({
  hub,
  web,
  recorder,
  browserContext,
}) => {
  const client = await hub.client();
  const url = web.byHand({ tools: ["slow", "getCart"] });
  const page = await browserContext.newPage();
  await page.goto(url);
  await listed(client, nameOf(url, "getCart", 1));
  const sockets = recorder.sockets;
  const answer = failure(client.callTool({ name: nameOf(url, "slow", 1), arguments: {} }));
  await expect.poll(() => page.evaluate("begun")).toBe(1);
  const debuggerOfPage = await browserContext.newCDPSession(page);
  await debuggerOfPage.send("ServiceWorker.enable");
  await debuggerOfPage.send("ServiceWorker.stopAllWorkers");
  expect(await answer).toMatchObject({ data: { code: "tab.none" } });
  await expect.poll(() => recorder.sockets).toBe(sockets + 1);
  await connected(hub);
  await listed(client, nameOf(url, "getCart", 1));
  expect(await call(client, nameOf(url, "getCart", 1))).toBe("getCart {}");
  await page.close();
  await client.close();
});
