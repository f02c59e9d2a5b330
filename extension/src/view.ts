/** What the popup shows, as one value, and what it may ask for. Badge and tooltip say the same in short. */

import { siteName, siteOf } from "./address";
import { isAllShared, isTabShared } from "./consent";
import type { Page } from "./pages";
import type { SocketState } from "./socket";

/** The name of the port between popup and worker. */
export const POPUP_PORT = "popup";

export type View = {
  state: SocketState;
  /** `127.0.0.1:7430` */
  hub?: string;
  isAllShared: boolean;
  sites: { site: string; name: string; tabs: number; tools: number }[];
  tab?: {
    tabId: number;
    /** Missing where the browser lets nobody in: its own pages, the store. */
    site?: string;
    name?: string;
    isShared: boolean;
    isPrivate: boolean;
    tools: { name: string; description: string }[];
  };
};

export type Command =
  | { type: "look"; tabId?: number }
  | { type: "share" | "stop"; site: string }
  | { type: "share-tab" | "stop-tab"; tabId: number }
  | { type: "stop-all" | "stop-all-sites" | "connect" | "forget" }
  | { type: "pair"; text: string };

export type ToPopup = { type: "view"; view: View } | { type: "problem"; text: string };

/** Everything the popup needs to know, looked at from one tab. */
export async function viewOf(
  pages: Page[],
  hub: { state: SocketState; address?: string },
  tabId?: number,
): Promise<View> {
  const { origins = [] } = await chrome.permissions.getAll();
  const granted = origins
    .filter((it) => it !== "<all_urls>" && it !== "*://*/*")
    .map((it) => it.slice(0, -2));
  const open = pages.map((it) => siteOf(it.url)).filter((it) => it !== undefined);
  const sites = [...new Set([...granted, ...open])].sort().map((site) => {
    const there = pages.filter((it) => siteOf(it.url) === site);
    const tools = there.reduce((sum, it) => sum + it.tools.length, 0);
    return { site, name: siteName(site), tabs: there.length, tools };
  });
  const tab = tabId === undefined ? undefined : await chrome.tabs.get(tabId).catch(() => undefined);
  return {
    state: hub.state,
    ...(hub.address && { hub: hub.address.replace(/^wss?:\/\//, "") }),
    isAllShared: await isAllShared(),
    sites,
    ...(tab && { tab: await tabView(pages, tab) }),
  };
}

async function tabView(pages: Page[], tab: chrome.tabs.Tab): Promise<NonNullable<View["tab"]>> {
  const page = pages.find((it) => it.tabId === tab.id);
  const site = siteOf(tab.url ?? page?.url);
  return {
    tabId: tab.id ?? -1,
    ...(site && { site, name: siteName(site) }),
    isShared: await isTabShared(tab, tab.url ?? page?.url),
    isPrivate: tab.incognito,
    tools: (page?.tools ?? []).map(({ name, description = "" }) => ({ name, description })),
  };
}

/** The number of tools on each tab's badge, grey while there is no hub. */
export async function drawBadge(
  pages: Page[],
  state: SocketState,
  before: Set<number>,
): Promise<Set<number>> {
  const now = new Map(pages.filter((it) => it.tools.length > 0).map((it) => [it.tabId, it.tools.length]));
  const titles: Record<SocketState, string> = {
    unpaired: "Toolgrove: not paired with a hub",
    connecting: "Toolgrove: looking for the hub",
    open: "Toolgrove: connected",
    lost: "Toolgrove: the hub is not running",
    refused: "Toolgrove: the hub does not know this browser",
    outdated: "Toolgrove: update the extension",
    impostor: "Toolgrove: this is not your hub",
  };
  const isOpen = state === "open";
  const drawn = [
    chrome.action.setTitle({ title: titles[state] }),
    chrome.action.setBadgeBackgroundColor({ color: isOpen ? "#1f6b45" : "#6b7280" }),
    chrome.action.setBadgeTextColor({ color: "#ffffff" }),
    ...[...now].map(([tabId, tools]) => chrome.action.setBadgeText({ tabId, text: String(tools) })),
    ...[...before]
      .filter((it) => !now.has(it))
      .map((tabId) => chrome.action.setBadgeText({ tabId, text: "" })),
  ];
  // A tab may be gone by the time its badge is drawn.
  await Promise.allSettled(drawn);
  return new Set(now.keys());
}
