/**
 * The worker asleep: without a hub nothing keeps it awake, and no debugger is attached that would. So this browser is
 * started without one, and time has to pass as it does.
 */

import { spawn } from "node:child_process";
import { CHROMIUM, flags } from "../test";
import { call, connected, expect, listed, nameOf, newProfile, removeProfile, test } from "./test";

test.use({ world: "away", recorded: false });

test("a worker that slept while the hub was away for 75 s is back with its tools", async ({ hub, web }) => {
  test.setTimeout(240_000);
  const profile = await newProfile(hub);
  const url = web.byHand();
  const args = [...flags(true), `--user-data-dir=${profile}`, url];
  const child = spawn(CHROMIUM ?? "chromium", args, { stdio: "ignore" });
  await connected(hub);
  const before = await hub.client();
  await listed(before, nameOf(url, "getCart", 1));
  await before.close();
  await hub.stop();
  await new Promise((done) => setTimeout(done, 75_000));
  await hub.start();
  const started = performance.now();
  const isBack = async () => {
    const { browsers } = await hub.api<{ browsers: { connected: boolean }[] }>("/api/tabs");
    return browsers.some((it) => it.connected);
  };
  await expect.poll(isBack, { timeout: 90_000 }).toBe(true);
  const client = await hub.client();
  await listed(client, nameOf(url, "getCart", 1));
  process.stdout.write(`    tools back after ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
  expect(await call(client, nameOf(url, "getCart", 1))).toBe("getCart {}");
  await client.close();
  const ended = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  await ended;
  await removeProfile(profile);
});
