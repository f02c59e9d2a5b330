/** The popup: what is shared, with whom, and how to stop it. It draws what the worker says and decides nothing. */

import { patternOf } from "./address";
import type { SocketState } from "./socket";
import { type Command, POPUP_PORT, type ToPopup, type View } from "./view";

const STATES: Record<SocketState, { level: "ok" | "warn" | "bad" | "off"; text: string }> = {
  open: { level: "ok", text: "Connected" },
  connecting: { level: "off", text: "Looking for the hub" },
  lost: { level: "warn", text: "The hub is not running" },
  unpaired: { level: "off", text: "Not paired" },
  refused: { level: "bad", text: "Unknown to the hub" },
  outdated: { level: "bad", text: "Update the extension" },
  impostor: { level: "bad", text: "This is not your hub" },
};

const REFUSED = "the code is used or too old, or the hub has ended the pairing";

const port = chrome.runtime.connect({ name: POPUP_PORT });
const send = (command: Command) => port.postMessage(command);
let view: View | undefined;

port.onMessage.addListener((message: ToPopup) => {
  if (message.type === "view") draw(message.view);
  else say(message.text);
});

/** The tab the popup was opened over. */
async function tabInFront(): Promise<number | undefined> {
  const asked = new URLSearchParams(location.search).get("tab");
  if (asked) return Number(asked);
  const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
  return tab?.id;
}

function draw(next: View): void {
  const isNews = next.state !== view?.state;
  view = next;
  drawState(next);
  if (isNews) say(next.state === "refused" ? REFUSED : "");
  drawHere(next);
  drawSites(next);
}

function drawState({ state, hub }: View): void {
  const { level, text } = STATES[state];
  const line = element("state");
  line.textContent = state === "open" && hub ? `${text} to ${hub}` : text;
  line.dataset.level = level;
  const isPaired = state !== "unpaired" && state !== "refused";
  element("pair").hidden = isPaired;
  element("forget").hidden = state === "unpaired";
}

function drawHere({ tab }: View): void {
  const { site, name, isShared = false, isPrivate = false, tools = [] } = tab ?? {};
  element("here-title").textContent = name ?? "This page";
  element("here-text").textContent = hereText(site, isShared, isPrivate, tools.length);
  const button = element("here-switch") as HTMLButtonElement;
  button.disabled = !site;
  button.setAttribute("aria-checked", String(isShared));
  element("tools").replaceChildren(...tools.map(toolLine));
}

function hereText(site: string | undefined, isShared: boolean, isPrivate: boolean, tools: number): string {
  if (!site) return "The browser lets no extension into this page.";
  if (!isShared && isPrivate) return "Share this private tab until it is closed. Nothing of it is kept.";
  if (!isShared) return "Share this site: its tools run with your login.";
  if (tools === 0) return "Shared. This page offers no tools.";
  return tools === 1 ? "Shared. This page offers one tool:" : `Shared. This page offers ${tools} tools:`;
}

function toolLine({ name, description }: { name: string; description: string }): HTMLElement {
  const line = document.createElement("li");
  const code = document.createElement("code");
  code.textContent = name;
  line.title = description;
  line.append(code, description);
  return line;
}

function drawSites({ sites, isAllShared }: View): void {
  element("all-switch").setAttribute("aria-checked", String(isAllShared));
  element("shared").hidden = sites.length === 0;
  element("sites").replaceChildren(...sites.map(siteLine));
}

function siteLine({ site, name, tabs, tools }: View["sites"][number]): HTMLElement {
  const line = document.createElement("li");
  const title = document.createElement("span");
  title.className = "name grow";
  title.textContent = title.title = name;
  const count = document.createElement("span");
  count.className = "muted";
  count.textContent = tabs === 0 ? "" : `${counted(tabs, "tab")}, ${counted(tools, "tool")}`;
  const button = document.createElement("button");
  button.className = "quiet";
  button.textContent = "Stop";
  button.setAttribute("aria-label", `Stop sharing ${name}`);
  button.addEventListener("click", () => send({ type: "stop", site }));
  line.append(title, count, button);
  return line;
}

function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

function say(text: string): void {
  element("problem").textContent = text;
  element("problem").hidden = text === "";
}

/** Asks the browser for a grant. It may close the popup over this; the worker hears of the grant all the same. */
async function request(grant: chrome.permissions.Permissions): Promise<boolean> {
  return chrome.permissions.request(grant).catch((error) => {
    say(String(error));
    return false;
  });
}

function toggleHere(): void {
  const { site, tabId, isShared, isPrivate } = view?.tab ?? {};
  if (!site || tabId === undefined) return;
  if (isPrivate) return send({ type: isShared ? "stop-tab" : "share-tab", tabId });
  if (isShared) return send({ type: "stop", site });
  send({ type: "share", site });
  void request({ origins: [patternOf(site)] });
}

function toggleAll(): void {
  if (view?.isAllShared) return send({ type: "stop-all-sites" });
  void request({ origins: ["<all_urls>"] });
}

async function find(): Promise<void> {
  if (!(await request({ permissions: ["nativeMessaging"] }))) return;
  say("");
  send({ type: "connect" });
  setTimeout(() => {
    if (view?.state === "unpaired") say("no hub was found: run `toolgrove tabs install`, or paste a code");
  }, 2_000);
}

function pair(event: Event): void {
  event.preventDefault();
  say("");
  send({ type: "pair", text: (element("code") as HTMLInputElement).value });
}

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the popup has no \`${id}\``);
  return found;
}

element("here-switch").addEventListener("click", toggleHere);
element("all-switch").addEventListener("click", toggleAll);
element("stop-all").addEventListener("click", () => send({ type: "stop-all" }));
element("forget").addEventListener("click", () => send({ type: "forget" }));
element("find").addEventListener("click", () => void find());
element("code-form").addEventListener("submit", pair);
void tabInFront().then((tabId) => send({ type: "look", ...(tabId !== undefined && { tabId }) }));
