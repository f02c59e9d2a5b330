/** The pictures of docs/browser.md: the real popup, shown what a worker might say, and the page behind a link. */

import { resolve } from "node:path";
import type { View } from "../src/view";
import { EXTENSION_ID } from "./id";
import { expect, test } from "./test";

const SHARED: View = {
  state: "open",
  hub: "127.0.0.1:7430",
  isAllShared: false,
  sites: [
    { site: "https://shop.example.com", name: "shop.example.com", tabs: 2, tools: 6 },
    { site: "https://tickets.example.com", name: "tickets.example.com", tabs: 1, tools: 4 },
  ],
  tab: {
    tabId: 1,
    site: "https://shop.example.com",
    name: "shop.example.com",
    isShared: true,
    isPrivate: false,
    tools: [
      { name: "addToCart", description: "Puts a product into the cart" },
      { name: "getCart", description: "Shows the cart" },
      { name: "findProduct", description: "Looks for products by name, price and colour" },
    ],
  },
};
const UNPAIRED: View = {
  state: "unpaired",
  isAllShared: false,
  sites: [],
  tab: {
    tabId: 1,
    site: "https://shop.example.com",
    name: "shop.example.com",
    isShared: false,
    isPrivate: false,
    tools: [],
  },
};

const THEMES = ["light", "dark"] as const;
const picture = (name: string) => resolve(import.meta.dirname, `../pictures/${name}.png`);

for (const [name, view] of [
  ["popup", SHARED],
  ["popup-unpaired", UNPAIRED],
] as const) {
  for (const colorScheme of THEMES) {
    test(`${name} in ${colorScheme}`, async ({ context }) => {
      const page = await context.newPage();
      await page.setViewportSize({ width: 352, height: 200 });
      await page.emulateMedia({ colorScheme });
      await page.addInitScript((shown) => {
        const message = { type: "view", view: shown };
        const onMessage = {
          addListener: (hear: (it: unknown) => void) => queueMicrotask(() => hear(message)),
        };
        chrome.runtime.connect = (() => ({ onMessage, postMessage: () => {} })) as never;
      }, view);
      await page.goto(`chrome-extension://${EXTENSION_ID}/popup.html?tab=1`);
      await expect(page.getByRole("heading", { name: "shop.example.com" })).toBeVisible();
      const height = await page.evaluate(() => document.body.scrollHeight);
      await page.setViewportSize({ width: 352, height });
      await page.screenshot({ path: picture(`${name}-${colorScheme}`), scale: "css" });
    });
  }
}

for (const colorScheme of THEMES) {
  test(`pair in ${colorScheme}`, async ({ context }) => {
    const page = await context.newPage();
    await page.setViewportSize({ width: 640, height: 220 });
    await page.emulateMedia({ colorScheme });
    await page.goto(`chrome-extension://${EXTENSION_ID}/pair.html?port=7430&code=olive-river-42`);
    await expect(page.getByRole("button", { name: "Pair" })).toBeEnabled();
    await page.screenshot({ path: picture(`pair-${colorScheme}`), scale: "css" });
  });
}
