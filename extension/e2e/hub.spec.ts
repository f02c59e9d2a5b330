/** The socket: pairing in its three ways, hubs that are not ours, hubs that go and come back, and what is too large. */

import { Hub } from "./hub";
import { EXTENSION_ID } from "./id";
import { expect, test, text } from "./test";

const pairPage = (port: number, code: string) =>
  `chrome-extension://${EXTENSION_ID}/pair.html?port=${port}&code=${code}`;

test("the browser says who it is, and gets its tabs over first", async ({ hub, context }) => {
  await context.newPage();
  const [hello, tabs] = hub.frames;
  expect(hello?.params).toMatchObject({
    protocol: 1,
    profileId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    extensionId: EXTENSION_ID,
    extensionVersion: "0.1.0",
    browser: expect.stringMatching(/^Chromium\/\d+$/),
    features: ["started"],
    mac: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(tabs?.method).toBe("browser/tabs");
  expect(tabs?.params).toMatchObject({ tabs: [{ active: true, incognito: false, discarded: false }] });
});

test("a code from a link becomes a token, once, and the token outlives the hub's restart", async ({
  context,
  web,
}) => {
  const other = new Hub();
  await other.start();
  const code = other.invite();
  const page = await context.newPage();
  await page.goto(pairPage(other.port, code));
  const paired = other.next((it) => it.method === "browser/tabs");
  await page.getByRole("button", { name: "Pair" }).click();
  await expect(page.getByRole("status")).toHaveText("Paired. You can close this tab.");
  await paired;
  expect(other.frames[0]?.params).toMatchObject({ pairing: true });
  expect(other.codes.size).toBe(0);

  const { port } = other;
  await other.stop();
  const back = other.next((it) => it.method === "browser/tabs");
  await other.start(port);
  await back;
  expect(other.frames.filter((it) => it.method === "browser/hello").at(-1)?.params).not.toHaveProperty(
    "pairing",
  );

  const registered = other.registration();
  await (await context.newPage()).goto(web.byHand());
  expect(text(await other.call(await registered, "getCart"))).toBe("getCart {}");

  await page.goto(pairPage(port, code));
  await page.getByRole("button", { name: "Pair" }).click();
  await expect(page.getByRole("status")).toContainText("the code is used or too old");
  await other.stop();
});

test("a hub that does not know the secret is told nothing", async ({ context }) => {
  const impostor = new Hub();
  impostor.sign = () => "0".repeat(64);
  await impostor.start();
  const page = await context.newPage();
  await page.goto(pairPage(impostor.port, impostor.invite()));
  await page.getByRole("button", { name: "Pair" }).click();
  await expect(page.getByRole("status")).toHaveText("What answers there is not your hub.");
  expect(impostor.frames.map((it) => it.method)).toEqual(["browser/hello"]);
  await impostor.stop();
});

test("a web page can neither open the pairing page nor the socket", async ({ hub, web, context }) => {
  const page = await context.newPage();
  await page.goto(web.at("/plain"));
  const refused = await page.evaluate(async (port) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/tabs`, "toolgrove.tabs.v1");
    return new Promise((done) => {
      socket.onopen = () => done(false);
      socket.onerror = () => done(true);
    });
  }, hub.port);
  expect(refused).toBe(true);
  await page.evaluate(
    (url) => {
      const link = document.createElement("a");
      link.href = url;
      document.body.append(link);
      link.click();
    },
    pairPage(hub.port, "abcdefgh"),
  );
  await expect.poll(() => page.url()).not.toContain("pair.html");
});

test("after a restart of the hub every page is registered anew", async ({ hub, web, open }) => {
  const { registered } = await open(web.byHand());
  const { port } = hub;
  await hub.stop();
  const back = hub.registration();
  const started = performance.now();
  await hub.start(port);
  const again = await back;
  process.stdout.write(`    back after ${(performance.now() - started).toFixed(0)} ms\n`);
  expect(again.extensions).toMatchObject({ documentId: registered.extensions.documentId });
  expect(text(await hub.call(again, "getCart"))).toBe("getCart {}");
});

test("a hub on another port is found through the native-messaging host", async ({
  hub,
  web,
  open,
  tellHost,
}) => {
  await open(web.byHand());
  await hub.stop();
  const back = hub.registration();
  await hub.start();
  tellHost();
  expect(text(await hub.call(await back, "getCart"))).toBe("getCart {}");
});

test("what is malformed, unknown or too large harms nobody", async ({ hub, web, open }) => {
  hub.maxMessageBytes = 100_000;
  const { port } = hub;
  await hub.stop();
  await hub.start(port);
  const { registered } = await open(web.byHand({ tools: ["large", "getCart"] }));
  for (const it of ["not json", "[]", "{}", '{"jsonrpc":"2.0","method":"hub/unheard-of"}']) hub.sendText(it);
  const large = await hub.call(registered, "large", { size: 200_000 });
  expect(large.result).toEqual({ success: false, payload: "the result is larger than the hub takes" });
  expect((await hub.request("browser/unheard-of", {})).error).toMatchObject({ code: -32601 });
  expect((await hub.request("browser/executeTool", {})).error).toMatchObject({ code: -32602 });
  expect((await hub.call(registered, "no-such-tool")).result).toEqual({
    success: false,
    payload: "this page has no tool `no-such-tool`",
  });
  const pong = hub.next((it) => it.method === "browser/pong");
  hub.send({ method: "hub/ping", params: { t: 42 } });
  expect((await pong).params).toEqual({ t: 42 });
  expect(text(await hub.call(registered, "getCart", { a: 1 }))).toBe('getCart {"a":1}');
});

test("calls take as long as they may", async ({ hub, web, open }) => {
  for (const [kind, tool] of [
    ["/native", "plain"],
    ["by hand", "getCart"],
  ]) {
    const { registered } = await open(kind === "by hand" ? web.byHand() : web.at(kind ?? ""));
    const times: number[] = [];
    for (let at = 0; at < 100; at++) {
      const started = performance.now();
      await hub.call(registered, tool ?? "", { at });
      times.push(performance.now() - started);
    }
    times.sort((left, right) => left - right);
    const [median = 0, slow = 0] = [times[50], times[95]];
    process.stdout.write(`    ${kind}: p50 ${median.toFixed(1)} ms, p95 ${slow.toFixed(1)} ms\n`);
    expect(slow).toBeLessThan(500);
  }
});
