/** The tabs of the browser: what the hub is told of them, and the four things it may ask for. */

import { addressOf, siteOf } from "./address";
import { isSiteShared, isTabShared } from "./consent";
import type { Json, Problem, TabFacts } from "./protocol";

const GROUP = "Toolgrove";

/** A request of the hub that was not fulfilled, as the wire says it. */
export class Refusal extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

/** A tab as the hub may know it: address and title only where the site is shared. */
export async function tabFacts(tab: chrome.tabs.Tab): Promise<TabFacts | undefined> {
  if (tab.id === undefined || tab.id < 0) return undefined;
  const { id: tabId, windowId, active, incognito, discarded, frozen, url, title } = tab;
  const isShared = await isTabShared(tab, url);
  if (incognito && !isShared) return undefined;
  const facts = { tabId, windowId, active, incognito, discarded, ...(frozen && { frozen }) };
  return isShared ? { ...facts, ...(url && { url }), ...(title && { title }) } : facts;
}

/** One tab as it is now; nothing if it is gone or not shared. */
export async function sharedTab(tabId: unknown): Promise<TabFacts | undefined> {
  if (!Number.isInteger(tabId)) return undefined;
  const tab = await chrome.tabs.get(tabId as number).catch(() => undefined);
  const facts = tab && (await tabFacts(tab));
  return facts?.url ? facts : undefined;
}

/** Every tab there is. */
export async function allTabs(): Promise<TabFacts[]> {
  const facts = await Promise.all((await chrome.tabs.query({})).map(tabFacts));
  return facts.filter((it) => it !== undefined);
}

/** What the hub may ask of the browser, by method. */
export const REQUESTS: Record<string, (params: Json) => Promise<Json>> = {
  "browser/openTab": async ({ url, active }) => ({ tabId: await open(url, active === true) }),
  "browser/activateTab": async ({ tabId }) => {
    const tab = await known(tabId);
    await chrome.tabs.update(tab.tabId, { active: true });
    return {};
  },
  "browser/reloadTab": async ({ tabId }) => {
    const tab = await known(tabId);
    await chrome.tabs.reload(tab.tabId);
    return {};
  },
  "browser/closeTab": async ({ tabId }) => {
    if (!(await openedTabs()).includes(tabId as number)) {
      throw new Refusal({ code: -32600, message: "only tabs that the hub opened can be closed" });
    }
    await chrome.tabs.remove(tabId as number);
    return {};
  },
};

/** A tab that the hub opened is gone, or has another id. */
export async function forgetOpened(tabId: number, newTabId?: number): Promise<void> {
  const opened = await openedTabs();
  if (!opened.includes(tabId)) return;
  const others = opened.filter((it) => it !== tabId);
  await chrome.storage.session.set({ opened: newTabId === undefined ? others : [...others, newTabId] });
}

async function open(url: unknown, active: boolean): Promise<number> {
  const address = addressOf(typeof url === "string" ? url : undefined);
  if (address?.protocol !== "http:" && address?.protocol !== "https:") {
    const got = address ? `, got \`${address.protocol}\`` : "";
    throw new Refusal({ code: -32602, message: `only http: and https: URLs can be opened${got}` });
  }
  const site = siteOf(address.href);
  if (!(await isSiteShared(site))) {
    const data = { reason: "NotShared" };
    throw new Refusal({ code: -32600, message: `\`${site}\` is not shared by this browser`, data });
  }
  const tab = await chrome.tabs.create({ url: address.href, active }).catch(() => undefined);
  // Without a window there is nothing to open a tab in.
  const made = tab ?? (await chrome.windows.create({ url: address.href, focused: false }))?.tabs?.[0];
  if (made?.id === undefined) throw new Refusal({ code: -32603, message: "the browser opened no tab" });
  await chrome.storage.session.set({ opened: [...(await openedTabs()), made.id] });
  await group(made.id, made.windowId);
  return made.id;
}

/** Puts a tab that the hub opened where a person sees that it is not theirs. */
async function group(tabId: number, windowId: number): Promise<void> {
  try {
    const [there] = await chrome.tabGroups.query({ title: GROUP, windowId });
    const where = there ? { groupId: there.id } : { createProperties: { windowId } };
    const groupId = await chrome.tabs.group({ tabIds: [tabId], ...where });
    await chrome.tabGroups.update(groupId, { title: GROUP, color: "green" });
  } catch (error) {
    // A person who drags tabs around just now is not to be disturbed.
    console.info(`toolgrove: tab ${tabId} got no group: ${String(error)}`);
  }
}

async function known(tabId: unknown): Promise<TabFacts> {
  const tab = await sharedTab(tabId);
  if (tab) return tab;
  const data = { reason: "TabNotFound", delivered: false };
  throw new Refusal({ code: -32001, message: "TabNotFound", data });
}

async function openedTabs(): Promise<number[]> {
  return (await chrome.storage.session.get<{ opened?: number[] }>("opened")).opened ?? [];
}
