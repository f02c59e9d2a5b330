import { beforeEach, describe, expect, it, vi } from "vitest";
import * as consent from "./consent";
import { fakeBrowser } from "./fake";

const SHOP = "https://shop.example";
const BANK = "https://bank.example";
let granted: Set<string>;
let required: Set<string>;

const tab = (incognito: boolean, id = 1) => ({ id, incognito }) as chrome.tabs.Tab;

beforeEach(() => {
  granted = new Set();
  required = new Set();
  vi.stubGlobal("chrome", fakeBrowser(granted, required));
});

describe("a site", () => {
  it("is shared when the browser has granted it, and no other is", async () => {
    granted.add(`${SHOP}/*`);
    expect(await consent.isSiteShared(SHOP)).toBe(true);
    expect(await consent.isSiteShared(BANK)).toBe(false);
    expect(await consent.isSiteShared(undefined)).toBe(false);
  });

  it("that is stopped gives its grant back", async () => {
    granted.add(`${SHOP}/*`);
    await consent.stop(SHOP);
    expect([...granted]).toEqual([]);
    granted.add(`${SHOP}/*`);
    expect(await consent.isSiteShared(SHOP)).toBe(true);
  });

  it("that is stopped while all are shared is the exception, until it is shared again", async () => {
    granted.add("<all_urls>");
    expect(await consent.isAllShared()).toBe(true);
    await consent.stop(BANK);
    expect(await consent.isSiteShared(BANK)).toBe(false);
    expect(await consent.isSiteShared(SHOP)).toBe(true);
    await consent.share(BANK);
    expect(await consent.isSiteShared(BANK)).toBe(true);
  });

  it("that was shared on its own stays shared when all sites no longer are", async () => {
    granted.add("<all_urls>").add(`${SHOP}/*`);
    await consent.stopAllSites();
    expect(await consent.isSiteShared(SHOP)).toBe(true);
    expect(await consent.isSiteShared(BANK)).toBe(false);
  });
});

it("stopping everything gives every grant back, and stops what cannot be given back", async () => {
  granted.add("<all_urls>").add(`${SHOP}/*`).add(`${BANK}/*`);
  required.add(`${BANK}/*`);
  await consent.stopAll([BANK]);
  expect([...granted]).toEqual([`${BANK}/*`]);
  expect(await consent.isSiteShared(BANK)).toBe(false);
});

it("a private tab is shared on its own, whatever is shared elsewhere, and leaves no grant", async () => {
  const url = `${SHOP}/cart`;
  granted.add("<all_urls>");
  expect(await consent.isTabShared(tab(false), url)).toBe(true);
  expect(await consent.isTabShared(tab(true), url)).toBe(false);
  granted.clear();
  await consent.sharePrivately(1);
  expect(await consent.isTabShared(tab(true), url)).toBe(true);
  expect(await consent.isTabShared(tab(true), "chrome://version")).toBe(false);
  expect(await consent.isTabShared(tab(true, 2), url)).toBe(false);
  expect([...granted]).toEqual([]);
  await consent.stopPrivately(1);
  expect(await consent.isTabShared(tab(true), url)).toBe(false);
});

it("scripts go where sharing goes, and nowhere else", async () => {
  const registered = () => chrome.scripting.getRegisteredContentScripts();
  await consent.registerScripts();
  expect(await registered()).toEqual([]);
  granted.add("<all_urls>");
  await consent.stop(BANK);
  await consent.registerScripts();
  const where = {
    matches: ["<all_urls>"],
    excludeMatches: [`${BANK}/*`],
    runAt: "document_end",
    allFrames: false,
  };
  expect(await registered()).toEqual([
    { id: "content", js: ["content.js"], ...where },
    { id: "page", js: ["page.js"], world: "MAIN", ...where },
  ]);
  granted.clear();
  await consent.registerScripts();
  expect(await registered()).toEqual([]);
});
