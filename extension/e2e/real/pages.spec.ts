/** Pages of every kind, from an official client through the hub to the page and back, in both eras. */

import { documented } from "../web";
import { isListedCalledAndChecked } from "./kinds";
import { call, ERAS, expect, failure, listed, nameOf, names, test } from "./test";

isListedCalledAndChecked("native");

test("the example of the documentation has at most 15 lines, is listed, called and remembered", async ({
  web,
  open,
  clients,
}) => {
  expect(documented().trimEnd().split("\n").length).toBeLessThanOrEqual(15);
  const url = web.at("/sdk");
  const page = await open(url, "addToCart");
  for (const [at, era] of ERAS.entries()) {
    const said = await call(clients[era], nameOf(url, "addToCart", 1), { product: "milk" });
    expect(said).toBe(`${at + 2} products in the cart`);
  }
  await page.close();
  await listed(clients.modern, nameOf(url, "addToCart"));
});

test("progress, images and errors of a page reach the client as they are", async ({ web, open, clients }) => {
  const url = web.byHand({ tools: ["steps", "image", "fail"] });
  await open(url, "steps");
  for (const era of ERAS) {
    const client = clients[era];
    const seen: unknown[] = [];
    const onprogress = ({ progress, total, message }: Record<string, unknown>) =>
      seen.push([progress, total, message]);
    await call(client, nameOf(url, "steps", 1), {}, { onprogress });
    expect(seen).toEqual([
      [1, 2, "step 1"],
      [2, 2, "step 2"],
    ]);
    const image = await client.callTool({ name: nameOf(url, "image", 1), arguments: {} });
    expect(image.content).toMatchObject([{ type: "image", mimeType: "image/png" }]);
    const failed = await client.callTool({ name: nameOf(url, "fail", 1), arguments: {} });
    expect(failed).toMatchObject({ isError: true, content: [{ text: "no such cart" }] });
  }
});

test("a page asks the person behind a call and hears the answer", async ({ web, open, hub, clients }) => {
  const url = web.byHand({ tools: ["buy"] });
  await open(url, "buy");
  for (const era of ERAS) {
    expect(await call(clients[era], nameOf(url, "buy", 1))).toBe(
      '{"action":"accept","content":{"sure":true}}',
    );
    const asked: unknown[] = [];
    const other = await hub.client(era, ({ message }) => {
      asked.push(message);
      return { action: "decline" };
    });
    expect(await call(other, nameOf(url, "buy", 1))).toBe('{"action":"decline"}');
    expect(asked).toEqual([`[localhost:${new URL(url).port}] Buy it?`]);
    await other.close();
  }
});

test("a call that its client gives up is cancelled in the page", async ({ web, open, clients }) => {
  const url = web.byHand({ tools: ["slow"] });
  const page = await open(url, "slow");
  for (const [at, era] of ERAS.entries()) {
    const given = new AbortController();
    const answer = failure(clients[era].callTool({ name: nameOf(url, "slow", 1) }, { signal: given.signal }));
    await expect.poll(() => page.evaluate("begun")).toBe(at + 1);
    given.abort("enough");
    await answer;
    await expect.poll(() => page.evaluate("cancelled.length")).toBe(at + 1);
  }
});

for (const after of [1_500, 3_000]) {
  test(`a page whose server starts after ${after} ms is listed then`, async ({ web, open, client }) => {
    const url = web.byHand({ after });
    await open(url, "getCart");
    expect(await call(client, nameOf(url, "getCart", 1))).toBe("getCart {}");
  });
}

test("a page without a server has no tools, and neither has one whose tools went", async ({
  web,
  open,
  browserContext,
  client,
}) => {
  const silent = await browserContext.newPage();
  await silent.goto(web.at("/plain"));
  const url = web.byHand({ tools: ["a", "b"] });
  const page = await open(url, "a");
  expect(await names(client, url)).toEqual([nameOf(url, "a", 1), nameOf(url, "b", 1)]);
  await page.evaluate("change(['b', 'c'])");
  await listed(client, nameOf(url, "c", 1));
  // What is remembered of the one that went is the name without a tab.
  expect(await names(client, url)).toEqual([nameOf(url, "a"), nameOf(url, "b", 1), nameOf(url, "c", 1)]);
  await silent.close();
});
