/**
 * What a person shares. The browser's own grants are the list, so what its settings show is true; only where a grant
 * covers more than one site is there a list of those that were stopped. Private tabs are never covered: each is shared
 * on its own, by the click that opened the popup over it, and leaves no grant behind.
 */

import { patternOf, siteOf } from "./address";

const ALL = "<all_urls>";

/** Whether every site is shared that was not stopped. */
export async function isAllShared(): Promise<boolean> {
  return chrome.permissions.contains({ origins: [ALL] });
}

/** Whether a site is shared. */
export async function isSiteShared(site: string | undefined): Promise<boolean> {
  if (!site || (await stoppedSites()).includes(site)) return false;
  return chrome.permissions.contains({ origins: [patternOf(site)] });
}

/** Whether a tab that shows this page is shared. */
export async function isTabShared(tab: chrome.tabs.Tab, url: string | undefined): Promise<boolean> {
  const site = siteOf(url);
  if (tab.incognito) return site !== undefined && (await privateTabs()).includes(tab.id ?? -1);
  return isSiteShared(site);
}

/** Shares a site that the browser lets us see. */
export async function share(site: string): Promise<void> {
  const stopped = await stoppedSites();
  if (stopped.includes(site))
    await chrome.storage.local.set({ stopped: stopped.filter((it) => it !== site) });
}

/** Shares one private tab, until it is closed. */
export async function sharePrivately(tabId: number): Promise<void> {
  await chrome.storage.session.set({ privateTabs: [...new Set([...(await privateTabs()), tabId])] });
}

/** Stops sharing a private tab. */
export async function stopPrivately(tabId: number): Promise<void> {
  await chrome.storage.session.set({ privateTabs: (await privateTabs()).filter((it) => it !== tabId) });
}

/** Stops sharing a site: gives the grant back, or makes an exception of a larger one. */
export async function stop(site: string): Promise<void> {
  await giveBack(patternOf(site));
  if (await isSiteShared(site)) {
    await chrome.storage.local.set({ stopped: [...(await stoppedSites()), site] });
  }
}

/** Gives back every grant there is; what cannot be given back is stopped site by site. */
export async function stopAll(sites: string[]): Promise<void> {
  const { origins = [] } = await chrome.permissions.getAll();
  for (const it of origins) await giveBack(it);
  for (const it of sites) await stop(it);
  await chrome.storage.session.remove("privateTabs");
}

/** Gives back the grant for all sites; sites shared on their own stay shared. */
export async function stopAllSites(): Promise<void> {
  await giveBack(ALL);
}

/** Has the browser put our scripts into what is shared, and into nothing else. */
export async function registerScripts(): Promise<void> {
  const { origins: matches = [] } = await chrome.permissions.getAll();
  const excludeMatches = (await stoppedSites()).map(patternOf);
  const where = { matches, excludeMatches, runAt: "document_end" as const, allFrames: false };
  const wanted = [
    { id: "content", js: ["content.js"], ...where },
    { id: "page", js: ["page.js"], world: "MAIN" as const, ...where },
  ];
  const there = await chrome.scripting.getRegisteredContentScripts();
  if (there.length > 0 && matches.length > 0) return chrome.scripting.updateContentScripts(wanted);
  if (there.length > 0) return chrome.scripting.unregisterContentScripts();
  if (matches.length > 0) return chrome.scripting.registerContentScripts(wanted);
}

/** Puts our scripts into pages that were open before they were shared. A page that has them keeps those. */
export async function injectScripts(): Promise<void> {
  for (const tab of await chrome.tabs.query({ discarded: false })) {
    if (tab.id === undefined || !(await isTabShared(tab, tab.url))) continue;
    const target = { tabId: tab.id };
    const injected = [
      chrome.scripting.executeScript({ target, files: ["content.js"] }),
      chrome.scripting.executeScript({ target, files: ["page.js"], world: "MAIN" }),
    ];
    for (const it of await Promise.allSettled(injected)) {
      if (it.status === "rejected") console.info(`toolgrove: tab ${tab.id}: ${String(it.reason)}`);
    }
  }
}

async function giveBack(origin: string): Promise<void> {
  // A grant of the manifest cannot be given back.
  await chrome.permissions.remove({ origins: [origin] }).catch(() => false);
}

async function stoppedSites(): Promise<string[]> {
  return (await chrome.storage.local.get<{ stopped?: string[] }>("stopped")).stopped ?? [];
}

async function privateTabs(): Promise<number[]> {
  return (await chrome.storage.session.get<{ privateTabs?: number[] }>("privateTabs")).privateTabs ?? [];
}
