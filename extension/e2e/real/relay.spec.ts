/** Pages in the field that embed `webmcp-local-relay`: its own script speaks to the hub, and no extension has to. */

import { call, expect, gone, listed, nameOf, names, test, textOf } from "./test";

test.use({ world: "relay", native: false, config: "[tabs]\nrelay = true\n" });

type Seen = { relay: { state: string; port?: number } };

test("a page that embeds the relay is listed, called, changed and gone with its tab", async ({
  hub,
  web,
  browserContext,
  client,
}) => {
  const { relay } = await hub.api<Seen>("/api/tabs");
  expect(relay.state).toBe("on");
  // The extension of these tests may see pages of `127.0.0.1`, not of `localhost`.
  const url = web.at(`/relay?port=${relay.port}`).replace("127.0.0.1", "localhost");
  const page = await browserContext.newPage();
  await page.goto(url);
  await listed(client, nameOf(url, "echo", 1));
  expect(await call(client, nameOf(url, "echo", 1), { text: "tea" })).toBe("echo tea");
  const failed = await client.callTool({ name: nameOf(url, "boom", 1), arguments: {} });
  expect(failed).toMatchObject({ isError: true });
  const wrong = await client.callTool({ name: nameOf(url, "echo", 1), arguments: { text: 7 } });
  expect(textOf(wrong)).toMatch(/^arguments do not match/);
  expect(await page.evaluate("calls")).toBe(1);
  await page.evaluate("addTool('later')");
  await listed(client, nameOf(url, "later", 1));
  await page.close();
  await gone(client, nameOf(url, "echo", 1));
});

test("a page that the extension shares and the relay too is one tab, and its tools are called once", async ({
  hub,
  web,
  browserContext,
  client,
}) => {
  const { relay } = await hub.api<Seen>("/api/tabs");
  const url = web.at(`/relay?port=${relay.port}`);
  const page = await browserContext.newPage();
  const told = page
    .waitForEvent("websocket")
    .then((it) => it.waitForEvent("framesent", ({ payload }) => String(payload).includes("tools/list")));
  await page.goto(url);
  await told;
  // The tab keeps the number it had when extension and relay were not yet known to be one.
  const own = async () => (await names(client, url)).map((it) => it.replace(/_tab\d+_/, "_"));
  await expect.poll(own).toEqual(["boom", "echo", "plain", "slow"].map((it) => nameOf(url, it)));
  expect(await call(client, nameOf(url, "echo"), { text: "once" })).toBe("echo once");
  expect(await page.evaluate("calls")).toBe(1);
  await page.close();
  await expect.poll(own).toEqual([]);
});
