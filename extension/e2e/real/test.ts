/** A browser with the extension, the real hub, and pages; browser and hub are shared by the tests of a file. */

import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type BrowserContext,
  test as base,
  chromium,
  expect,
  type Page,
  type Worker,
} from "@playwright/test";
import { CHROMIUM, flags } from "../test";
import { Web } from "../web";
import { problems } from "./frames";
import { Recorder } from "./recorder";
import { type Client, ERAS, type Era, type Json, type Result, Toolgrove } from "./toolgrove";

const HOST = "NativeMessagingHosts/dev.toolgrove.pair.json";

/** A new profile of a browser, which knows the hub as `toolgrove tabs install` makes it known. */
export async function newProfile(hub?: Toolgrove): Promise<string> {
  const path = mkdtempSync(join(tmpdir(), "toolgrove-profile-"));
  await hub?.run("tabs", "install", "--user-data-dir", path);
  return path;
}

/** Has the host of a profile name another port than the hub's, and else say what it says. */
export function divert(profile: string, port: number): void {
  const file = join(profile, HOST);
  const manifest = JSON.parse(readFileSync(file, "utf8"));
  const host = join(profile, "host");
  const code = `#!${process.execPath}
const { stdout } = require("node:child_process").spawnSync(${JSON.stringify(manifest.path)}, process.argv.slice(2), { stdio: [0, "pipe", 2] });
const answer = Buffer.from(JSON.stringify({ ...JSON.parse(stdout.subarray(4)), port: ${port} }));
const length = Buffer.alloc(4);
length.writeUInt32LE(answer.length);
process.stdout.write(Buffer.concat([length, answer]));
`;
  writeFileSync(host, code);
  chmodSync(host, 0o755);
  writeFileSync(file, JSON.stringify({ ...manifest, path: host }));
}

/** Starts the browser on a profile. */
export async function launch(profile: string, native = true): Promise<BrowserContext> {
  return chromium.launchPersistentContext(profile, {
    ...(CHROMIUM && { executablePath: CHROMIUM }),
    headless: false,
    ignoreDefaultArgs: ["--disable-back-forward-cache"],
    args: flags(native),
  });
}

/** Processes of a browser that has ended write for a moment longer. */
export async function removeProfile(path: string): Promise<void> {
  await expect(() => rmSync(path, { recursive: true, force: true })).toPass({ timeout: 10_000 });
}

type Shared = {
  /** Whether the browser has WebMCP itself. */
  native: boolean;
  /** Whether frames are recorded, which takes a little time. Tests that launch browsers of their own may not be. */
  recorded: boolean;
  /** Further lines of the hub's configuration. */
  config: string;
  /** Whose hub and browser these are: files that say the same share them. */
  world: string;
  hub: Toolgrove;
  recorder: Recorder;
  browserContext: BrowserContext;
  worker: Worker;
  /** A client of each era, whose person agrees to everything. */
  clients: Record<Era, Client>;
};

type Fixtures = {
  web: Web;
  /** Pages of another origin. */
  other: Web;
  client: Client;
  /** Opens a page and waits until one of its tools is listed. */
  open: (url: string, tool: string, tab?: number) => Promise<Page>;
};

export const test = base.extend<Fixtures, Shared>({
  native: [true, { option: true, scope: "worker" }],
  recorded: [true, { option: true, scope: "worker" }],
  config: ["", { option: true, scope: "worker" }],
  world: ["shared", { option: true, scope: "worker" }],
  hub: [
    async ({ config }, use) => {
      const hub = new Toolgrove(config);
      await hub.start();
      await use(hub);
      await hub.end();
    },
    { scope: "worker" },
  ],
  recorder: [
    async ({ hub, recorded }, use) => {
      const recorder = new Recorder(hub);
      await recorder.start();
      await use(recorder);
      await recorder.stop();
      expect(problems(recorder.frames)).toEqual([]);
      if (recorded) expect(recorder.frames, "these tests were recorded").not.toEqual([]);
    },
    // Also for tests that do not ask for it: those that say they are recorded have to be.
    { scope: "worker", auto: true },
  ],
  browserContext: [
    async ({ hub, recorder, recorded, native }, use) => {
      const profile = await newProfile(hub);
      if (recorded) divert(profile, recorder.port);
      const context = await launch(profile, native);
      await connected(hub);
      await use(context);
      await context.close();
      await removeProfile(profile);
    },
    { scope: "worker" },
  ],
  worker: [
    async ({ browserContext }, use) => {
      await use(browserContext.serviceWorkers()[0] ?? (await browserContext.waitForEvent("serviceworker")));
    },
    { scope: "worker" },
  ],
  clients: [
    async ({ hub }, use) => {
      const agree = () => ({ action: "accept", content: { sure: true } });
      const [legacy, modern] = await Promise.all(ERAS.map((it) => hub.client(it, agree)));
      if (legacy && modern) await use({ legacy, modern });
      await Promise.all([legacy?.close(), modern?.close()]);
    },
    { scope: "worker" },
  ],
  // biome-ignore lint/correctness/noEmptyPattern: a fixture says what it needs, and this one needs nothing
  web: async ({}, use) => served(use),
  // biome-ignore lint/correctness/noEmptyPattern: a fixture says what it needs, and this one needs nothing
  other: async ({}, use) => served(use),
  client: async ({ clients }, use) => use(clients.modern),
  open: async ({ browserContext, client }, use) => {
    const pages: Page[] = [];
    await use(async (url, tool, tab = 1) => {
      const page = await browserContext.newPage();
      pages.push(page);
      await page.goto(url);
      await listed(client, nameOf(url, tool, tab));
      return page;
    });
    for (const it of pages) if (!it.isClosed()) await it.close();
  },
});

async function served(use: (web: Web) => Promise<void>): Promise<void> {
  const web = new Web();
  await web.start();
  await use(web);
  await web.stop();
}

/** Waits until a browser is connected to the hub. */
export async function connected(hub: Toolgrove): Promise<void> {
  const isConnected = async () => {
    const { browsers } = await hub.api<{ browsers: { connected: boolean }[] }>("/api/tabs");
    return browsers.some((it) => it.connected);
  };
  await expect.poll(isConnected, { intervals: [50] }).toBe(true);
}

/** The name of a tool of a page: that of a numbered tab, or without a number that of the best one. */
export function nameOf(url: string, tool: string, tab?: number): string {
  const number = tab === undefined ? "" : `_tab${tab}`;
  return `website_tool_localhost_${new URL(url).port}${number}_${tool}`;
}

/** The names that a client is shown, of one origin. */
export async function names(client: Client, url: string): Promise<string[]> {
  const { tools } = await client.listTools();
  const prefix = nameOf(url, "").slice(0, -1);
  return tools.map((it) => it.name).filter((it) => it.startsWith(`${prefix}_`));
}

/** Waits until a client is shown a tool. */
export async function listed(client: Client, name: string): Promise<void> {
  const all = async () => (await client.listTools()).tools.map((it) => it.name);
  await expect.poll(all, { intervals: [20] }).toContain(name);
}

/** Waits until a client is not shown a tool any more. */
export async function gone(client: Client, name: string): Promise<void> {
  const all = async () => (await client.listTools()).tools.map((it) => it.name);
  await expect.poll(all, { intervals: [20] }).not.toContain(name);
}

/** What a tool said. */
export async function call(client: Client, name: string, args: Json = {}, options?: Json): Promise<string> {
  return textOf(await client.callTool({ name, arguments: args }, options));
}

/** The text of a result's first piece of content. */
export function textOf({ content }: Result): string {
  return content[0]?.text ?? "";
}

/** How a call failed, as its client hears it. */
export async function failure(
  answer: Promise<unknown>,
): Promise<{ code: number; message: string; data: Json }> {
  return answer.then(
    (it) => {
      throw new Error(`it did not fail: ${JSON.stringify(it)}`);
    },
    (error) => ({ code: error.code, message: error.message, data: error.data }),
  );
}

export { ERAS, expect };
