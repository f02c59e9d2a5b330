/**
 * The worker's life with nobody watching: an attached debugger keeps it alive for ever, so this browser is started
 * without one, and time has to pass as it does.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { test as base, CHROMIUM, expect, flags, text } from "./test";

const test = base.extend<{ start: (url: string) => void }>({
  start: async ({ profilePath }, use) => {
    let child: ChildProcess | undefined;
    await use((url) => {
      const args = [...flags(true), `--user-data-dir=${profilePath}`, url];
      child = spawn(CHROMIUM ?? "chromium", args, { stdio: "ignore" });
    });
    const ended = new Promise((done) => child?.once("exit", done));
    child?.kill("SIGTERM");
    await ended;
  },
});

test.setTimeout(240_000);

const pass = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1000));

test("after 75 s without a word a call is answered on the same socket", async ({ hub, web, start }) => {
  const registration = hub.registration();
  const launched = performance.now();
  start(web.byHand());
  const registered = await registration;
  process.stdout.write(`    cold start to tools: ${(performance.now() - launched).toFixed(0)} ms\n`);
  await pass(75);
  const called = performance.now();
  expect(text(await hub.call(registered, "getCart"))).toBe("getCart {}");
  process.stdout.write(`    call after 75 s: ${(performance.now() - called).toFixed(1)} ms\n`);
  expect(hub.welcomes).toBe(1);
});

test("a hub that was away for 70 s and is back on another port has its tools again", async ({
  hub,
  web,
  start,
  tellHost,
}) => {
  const registration = hub.registration();
  start(web.at("/native"));
  await registration;
  await hub.stop();
  await pass(70);
  const back = hub.registration();
  const started = performance.now();
  await hub.start();
  tellHost();
  const registered = await back;
  process.stdout.write(`    back on another port after ${(performance.now() - started).toFixed(0)} ms\n`);
  expect(text(await hub.call(registered, "echo", { text: "x" }))).toBe("echo x");
});

test("a page that the browser loaded ahead registers when it is shown", async ({ hub, web, start }) => {
  const registration = hub.registration();
  start(web.at("/ahead"));
  const registered = await registration;
  expect(registered.tabUrl).toBe(web.at("/shown"));
  expect(Number(text(await hub.call(registered, "shown")))).toBeGreaterThan(0);
});
