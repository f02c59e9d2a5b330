/** A browser with the extension, a hub that it is paired with, and pages. */

import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import {
  type BrowserContext,
  test as base,
  chromium,
  expect,
  type Page,
  type Worker,
} from "@playwright/test";
import { Hub } from "./hub";
import { EXTENSION_ID } from "./id";
import { Web } from "./web";

export const EXTENSION = resolve(import.meta.dirname, "../dist-test");

/** The browser of the system, where there is one; else the one that `npx playwright install chromium` brings. */
export const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((it) => existsSync(it));

/** How the browser is started: with the extension and nothing else, and with WebMCP of its own or without. */
export const flags = (native: boolean): string[] => [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  ...(native ? ["--enable-features=WebMCP"] : []),
  `--disable-extensions-except=${EXTENSION}`,
  `--load-extension=${EXTENSION}`,
];

/** A profile whose native-messaging host names a hub, as `toolgrove tabs install` would. */
export function profile(answer: () => { port: number; token: string }): { path: string; tell: () => void } {
  const path = mkdtempSync(join(tmpdir(), "toolgrove-profile-"));
  const hosts = join(path, "NativeMessagingHosts");
  const host = join(path, "host");
  mkdirSync(hosts);
  const manifest = {
    name: "dev.toolgrove.pair",
    description: "Pairs this browser with Toolgrove",
    path: host,
    type: "stdio",
    allowed_origins: [`chrome-extension://${EXTENSION_ID}/`],
  };
  writeFileSync(join(hosts, "dev.toolgrove.pair.json"), JSON.stringify(manifest));
  const tell = () => {
    const text = JSON.stringify(JSON.stringify(answer()));
    const code = `#!${process.execPath}\nconst text = ${text};\nprocess.stdin.once("data", () => { const head = Buffer.alloc(4); head.writeUInt32LE(text.length); process.stdout.write(Buffer.concat([head, Buffer.from(text)]), () => process.exit(0)); });\n`;
    writeFileSync(host, code);
    chmodSync(host, 0o755);
  };
  tell();
  return { path, tell };
}

type Fixtures = {
  /** Whether the browser has WebMCP itself. */
  native: boolean;
  hub: Hub;
  web: Web;
  /** Tells the native-messaging host anew where the hub is. */
  tellHost: () => void;
  profilePath: string;
  context: BrowserContext;
  worker: Worker;
  /** Opens a page and waits until its tools are registered. */
  open: (url: string) => Promise<{ page: Page; registered: Awaited<ReturnType<Hub["registration"]>> }>;
};

export const test = base.extend<Fixtures & { paths: { path: string; tell: () => void } }>({
  native: [true, { option: true }],
  // biome-ignore lint/correctness/noEmptyPattern: a fixture says what it needs, and this one needs nothing
  hub: async ({}, use) => {
    const hub = new Hub();
    await hub.start();
    await use(hub);
    await hub.stop();
  },
  // biome-ignore lint/correctness/noEmptyPattern: a fixture says what it needs, and this one needs nothing
  web: async ({}, use) => {
    const web = new Web();
    await web.start();
    await use(web);
    await web.stop();
  },
  paths: async ({ hub }, use) => {
    const paths = profile(() => ({ port: hub.port, token: hub.endpointToken }));
    await use(paths);
    // Processes of a browser that has ended write for a moment longer.
    await expect(() => rmSync(paths.path, { recursive: true, force: true })).toPass({ timeout: 10_000 });
  },
  tellHost: async ({ paths }, use) => use(paths.tell),
  profilePath: async ({ paths }, use) => use(paths.path),
  context: async ({ profilePath, native, hub }, use) => {
    const ready = hub.next((it) => it.method === "browser/tabs");
    const context = await chromium.launchPersistentContext(profilePath, {
      ...(CHROMIUM && { executablePath: CHROMIUM }),
      headless: false,
      ignoreDefaultArgs: ["--disable-back-forward-cache"],
      args: flags(native),
    });
    await ready;
    await use(context);
    await context.close();
  },
  worker: async ({ context }, use) => {
    await use(context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker")));
  },
  open: async ({ context, hub }, use) => {
    await use(async (url) => {
      const registration = hub.registration((it) => it.tabUrl === url);
      const page = await context.newPage();
      await page.goto(url);
      return { page, registered: await registration };
    });
  },
});

/** The text of a tool's first piece of content. */
export const text = (answer: { result?: Record<string, unknown> }): unknown => {
  const payload = answer.result?.payload as { content?: { text?: string }[] } | undefined;
  return payload?.content?.[0]?.text;
};

export { expect };
