/**
 * How long a call takes from an official client to a page and back, in a browser as people have it: a debugger would
 * hear of every message and slow all of them down. The figures are printed; what fails is far off.
 */

import { spawn } from "node:child_process";
import { CHROMIUM, flags } from "../test";
import { call, connected, expect, listed, nameOf, newProfile, removeProfile, test } from "./test";
import { type Client, ERAS } from "./toolgrove";

test.use({ world: "roundtrip", recorded: false });

/** What runs all the time has been compiled by then, in the client as in the browser. */
const WARM_UP = 200;
const CALLS = 200;

/** The median and the slowest but a few, in milliseconds. */
async function times(client: Client, name: string): Promise<[median: number, slow: number]> {
  const all: number[] = [];
  for (let at = -WARM_UP; at < CALLS; at++) {
    const started = performance.now();
    await call(client, name);
    if (at >= 0) all.push(performance.now() - started);
  }
  all.sort((left, right) => left - right);
  return [all[CALLS / 2] ?? 0, all[CALLS * 0.95] ?? 0];
}

for (const [kind, tool] of [
  ["native", "plain"],
  ["channel", "getCart"],
] as const) {
  test(`a call of a ${kind} page takes as long as it may`, async ({ hub, web }) => {
    const profile = await newProfile(hub);
    const url = kind === "native" ? web.at("/native") : web.byHand();
    const args = [...flags(true), `--user-data-dir=${profile}`, url];
    const child = spawn(CHROMIUM ?? "chromium", args, { stdio: "ignore" });
    await connected(hub);
    for (const era of ERAS) {
      const client = await hub.client(era);
      await listed(client, nameOf(url, tool, 1));
      const [median, slow] = await times(client, nameOf(url, tool, 1));
      const [alone] = await times(client, "mcp__tabs__browser_list_tools");
      const share = `of it client and hub ${alone.toFixed(1)}`;
      const said = `${kind}, ${era}: p50 ${median.toFixed(1)} ms (${share}), p95 ${slow.toFixed(1)} ms`;
      process.stdout.write(`    ${said}\n`);
      // Ten times what they may take.
      expect(median).toBeLessThan(50);
      expect(slow).toBeLessThan(300);
      await client.close();
    }
    const ended = new Promise((done) => child.once("exit", done));
    child.kill("SIGTERM");
    await ended;
    await removeProfile(profile);
  });
}
