/**
 * The service worker: every listener of the browser, registered at once so that a worker that was put to sleep is woken
 * by it, and what each one leads to. Globals vanish with the worker; pages come back by themselves, tabs are asked for.
 */

import { siteOf } from "./address";
import {
  injectScripts,
  isTabShared,
  registerScripts,
  share,
  sharePrivately,
  stop,
  stopAll,
  stopAllSites,
  stopPrivately,
} from "./consent";
import { type Page, Pages, type Sender } from "./pages";
import { endpoint, forgetPairing, identity, invite, keepPairing, readInvitation } from "./pairing";
import { type FromHub, type Json, PORT } from "./protocol";
import { HubSocket } from "./socket";
import { allTabs, forgetOpened, REQUESTS, Refusal, sharedTab } from "./tabs";
import { type Command, drawBadge, POPUP_PORT, type ToPopup, viewOf } from "./view";
import { isCancelled, isPing } from "./wire.gen";

const ALARM = "keep-alive";
const TABS_EVERY = 500;

let hubAddress: string | undefined;
let badges = new Set<number>();
let tabsTimer: ReturnType<typeof setTimeout> | undefined;
let isDrawing = false;
let reconciled = Promise.resolve();
const popups = new Map<chrome.runtime.Port, number | undefined>();

const pages: Pages = new Pages({ send: (it) => socket.send(it), tab: sharedTab, changed: draw });

const socket: HubSocket = new HubSocket({
  endpoint: async () => {
    const found = await endpoint(await identity());
    hubAddress = found?.hub;
    return found;
  },
  identity,
  opened: ({ hub, isCode }, { token }) => {
    if (isCode && token) void keepPairing(hub, token);
    void reportTabs().then(() => pages.registerAll());
  },
  heard,
  closed: () => pages.cancelAll(),
  changed: draw,
});

// The hub.

function heard(message: FromHub): void {
  if (message.kind === "response") return pages.answer(message);
  const { method, params } = message;
  if (message.kind === "request") {
    if (method === "browser/executeTool") return pages.execute(message.id, params);
    return void fulfil(message.id, method, params);
  }
  if (method === "hub/ping" && isPing(params))
    socket.send({ method: "browser/pong", params: { t: params.t } });
  else if (method === "notifications/cancelled" && isCancelled(params)) {
    pages.cancel(params.requestId, params.reason);
  } else console.info(`toolgrove: the hub sent \`${method}\`, which means nothing here`);
}

async function fulfil(id: string, method: string, params: Json): Promise<void> {
  const request = Object.hasOwn(REQUESTS, method) ? REQUESTS[method] : undefined;
  if (!request) {
    socket.send({ id, error: { code: -32601, message: `\`${method}\` is not known here` } });
    return;
  }
  try {
    socket.send({ id, result: await request(params) });
  } catch (error) {
    const problem = error instanceof Refusal ? error.problem : { code: -32603, message: String(error) };
    socket.send({ id, error: problem });
  }
}

async function reportTabs(): Promise<void> {
  clearTimeout(tabsTimer);
  tabsTimer = undefined;
  socket.send({ method: "browser/tabs", params: { tabs: await allTabs() } });
}

function reportTabsSoon(): void {
  if (socket.state === "open") tabsTimer ??= setTimeout(() => void reportTabs(), TABS_EVERY);
}

// Pages.

chrome.runtime.onConnect.addListener((port) => {
  const { sender, name } = port;
  if (sender?.id !== chrome.runtime.id) return port.disconnect();
  if (name === PORT) return meetPage(port);
  if (name === POPUP_PORT && sender.url?.startsWith(chrome.runtime.getURL(""))) return meetPopup(port);
  port.disconnect();
});

function meetPage(port: chrome.runtime.Port): void {
  let isClosed = false;
  const admitted = admit(port).then((sender) => {
    if (!sender || isClosed) return undefined;
    return pages.add(port, sender);
  });
  const withPage = (act: (page: Page) => void) => void admitted.then((page) => page && act(page));
  port.onMessage.addListener((message) => withPage((page) => pages.hear(page, message)));
  port.onDisconnect.addListener(() => {
    isClosed = true;
    withPage((page) => pages.remove(page));
  });
}

/** Who connects, as the browser says; nobody if that is not shared. */
async function admit(port: chrome.runtime.Port): Promise<Sender | undefined> {
  const { tab, documentId, url, frameId } = port.sender ?? {};
  if (tab?.id !== undefined && documentId && url && frameId === 0 && (await isTabShared(tab, url))) {
    return { tabId: tab.id, documentId, url };
  }
  port.postMessage({ type: "stop" });
  port.disconnect();
  return undefined;
}

/** Makes what is true of pages and scripts what was agreed to; one after the other. */
function reconcile(): Promise<void> {
  reconciled = reconciled
    .then(async () => {
      await registerScripts();
      const gone = new Set<Page>();
      for (const page of pages.all) if (!(await sharedTab(page.tabId))) gone.add(page);
      pages.stop((it) => gone.has(it));
      await injectScripts();
      reportTabsSoon();
      draw();
    })
    .catch((error) => console.warn(`toolgrove: ${String(error)}`));
  return reconciled;
}

// Tabs.

chrome.tabs.onActivated.addListener(({ tabId, windowId }) => {
  socket.send({ method: "browser/tabActivated", params: { extensions: { tabId, windowId } } });
});
chrome.windows.onFocusChanged.addListener((windowId) => {
  socket.send({ method: "browser/windowFocus", params: { extensions: { windowId } } });
});
chrome.tabs.onReplaced.addListener((tabId, oldTabId) => {
  pages.replace(tabId, oldTabId);
  void forgetOpened(oldTabId, tabId);
  socket.send({ method: "browser/tabReplaced", params: { extensions: { tabId, oldTabId } } });
  reportTabsSoon();
});
chrome.tabs.onRemoved.addListener((tabId) => {
  void forgetOpened(tabId);
  void stopPrivately(tabId);
  socket.send({ method: "browser/tabRemoved", params: { extensions: { tabId } } });
});
chrome.tabs.onUpdated.addListener((tabId, change) => {
  if (change.url || change.title) pages.refresh(tabId);
  const isAsleep = change.discarded !== undefined || change.frozen !== undefined;
  if (change.url || change.title || isAsleep) reportTabsSoon();
});
chrome.tabs.onCreated.addListener(reportTabsSoon);
chrome.tabs.onAttached.addListener(reportTabsSoon);

// Consent.

chrome.permissions.onAdded.addListener(() => void reconcile().then(() => socket.connect()));
chrome.permissions.onRemoved.addListener(() => void reconcile());

function meetPopup(port: chrome.runtime.Port): void {
  popups.set(port, undefined);
  port.onDisconnect.addListener(() => popups.delete(port));
  port.onMessage.addListener((command: Command) => {
    const refuse = (text: string) => port.postMessage({ type: "problem", text } satisfies ToPopup);
    if (command.type === "look") popups.set(port, command.tabId);
    void obey(command, refuse).then(draw);
  });
}

async function obey(command: Command, refuse: (problem: string) => void): Promise<void> {
  switch (command.type) {
    case "look":
    case "connect":
      return socket.connect();
    case "pair": {
      const invitation = readInvitation(command.text);
      if ("problem" in invitation) return refuse(invitation.problem);
      await invite(invitation);
      return socket.restart();
    }
    case "forget":
      await forgetPairing();
      return socket.restart();
    case "share":
      await share(command.site);
      break;
    case "share-tab":
      await sharePrivately(command.tabId);
      break;
    case "stop":
      await stop(command.site);
      break;
    case "stop-tab":
      await stopPrivately(command.tabId);
      break;
    case "stop-all":
      await stopAll(pages.all.map((it) => siteOf(it.url) ?? ""));
      break;
    case "stop-all-sites":
      await stopAllSites();
      break;
  }
  await reconcile();
}

function draw(): void {
  if (isDrawing) return;
  isDrawing = true;
  setTimeout(async () => {
    isDrawing = false;
    badges = await drawBadge(pages.all, socket.state, badges);
    for (const [port, tabId] of popups) {
      const hub = { state: socket.state, ...(hubAddress && { address: hubAddress }) };
      const view = await viewOf(pages.all, hub, tabId);
      if (popups.has(port)) port.postMessage({ type: "view", view } satisfies ToPopup);
    }
  });
}

// Life.

chrome.runtime.onInstalled.addListener(() => void reconcile());
chrome.runtime.onStartup.addListener(() => void reconcile());
chrome.alarms.onAlarm.addListener(() => void socket.check());
void chrome.alarms.create(ALARM, { periodInMinutes: 0.5 });
// What is stored is none of a content script's business.
void chrome.storage.local.setAccessLevel({ accessLevel: "TRUSTED_CONTEXTS" });
void socket.connect();
