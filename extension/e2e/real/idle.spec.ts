/**
 * The worker's life with nobody watching: an attached debugger keeps it alive for ever, so this browser is started
 * without one, and time has to pass as it does.
 */

import { spawn } from "node:child_process";
import { CHROMIUM, flags } from "../test";
import { call, connected, divert, expect, listed, nameOf, newProfile, removeProfile, test } from "./test";

test.use({ world: "idle" });

test("after 75 s without a word a call is answered on the same socket", async ({
  hub,
  web,
  recorder,
  clients,
}) => {
  test.setTimeout(180_000);
  const profile = await newProfile(hub);
  divert(profile, recorder.port);
  const url = web.byHand();
  const launched = performance.now();
  const args = [...flags(true), `--user-data-dir=${profile}`, url];
  const child = spawn(CHROMIUM ?? "chromium", args, { stdio: "ignore" });
  // A list that was empty may be kept for a while by a client that hears of no changes.
  await connected(hub);
  await listed(clients.modern, nameOf(url, "getCart", 1));
  process.stdout.write(`    cold start to tools: ${(performance.now() - launched).toFixed(0)} ms\n`);
  const { sockets } = recorder;
  await new Promise((done) => setTimeout(done, 75_000));
  const called = performance.now();
  expect(await call(clients.modern, nameOf(url, "getCart", 1))).toBe("getCart {}");
  process.stdout.write(`    call after 75 s: ${(performance.now() - called).toFixed(1)} ms\n`);
  expect(recorder.sockets).toBe(sockets);
  expect(await call(clients.legacy, nameOf(url, "getCart", 1))).toBe("getCart {}");
  const ended = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  await ended;
  await removeProfile(profile);
});
