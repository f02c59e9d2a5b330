/** Pages that speak to the hub themselves, in the words of `webmcp-local-relay`: no extension takes part in it. */

import { call, expect, gone, listed, nameOf, test, textOf } from "./test";

test.use({ world: "relay", config: "[tabs]\nrelay = true\n" });

type Relay = { relay: { state: string; port?: number } };

test("a page that embeds the relay is listed, called and gone with its tab", async ({
  hub,
  web,
  browserContext,
  client,
}) => {
  const { relay } = await hub.api<Relay>("/api/tabs");
  expect(relay.state).toBe("on");
  const url = web.at(`/relay?port=${relay.port}`);
  const page = await browserContext.newPage();
  await page.goto(url);
  await listed(client, nameOf(url, "search", 1));
  expect(await call(client, nameOf(url, "search", 1), { q: "tea" })).toBe('search {"q":"tea"}');
  const wrong = await client.callTool({ name: nameOf(url, "search", 1), arguments: { q: 7 } });
  expect(textOf(wrong)).toMatch(/^arguments do not match/);
  expect(await page.evaluate("accepted")).toBe(true);
  await page.close();
  await gone(client, nameOf(url, "search", 1));
});
