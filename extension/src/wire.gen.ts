/** The messages between worker and hub, and guards for them. Written by `cargo xtask types`; do not edit. */

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const SUBPROTOCOL = "toolgrove.tabs.v1";
export const PROTOCOL = 1;

/**
 * A tool as MCP describes it; members that are not named here travel along.
 */
export type Tool = { name: string, title?: string, description?: string, inputSchema: Record<string, unknown>, annotations?: Record<string, unknown>, };

/** Whether a value is a `Tool`. */
export function isTool(value: unknown): value is Tool {
  return isObject(value) && typeof value.name === "string" && (value.title == null || typeof value.title === "string") && (value.description == null || typeof value.description === "string") && isObject(value.inputSchema) && (value.annotations == null || isObject(value.annotations));
}

/**
 * Where a tool of a page was found.
 */
export type Source = "native" | "channel" | "shim";

/** Whether a value is a `Source`. */
export function isSource(value: unknown): value is Source {
  return (["native","channel","shim"] as unknown[]).includes(value);
}

/**
 * `hub/challenge`: the first word.
 */
export type Challenge = { nonce: string, protocol: number, };

/** Whether a value is a `Challenge`. */
export function isChallenge(value: unknown): value is Challenge {
  return isObject(value) && typeof value.nonce === "string" && Number.isInteger(value.protocol);
}

/**
 * `browser/hello`: who comes, and the proof.
 */
export type Hello = { nonce: string, 
/**
 * Lower-case hex HMAC-SHA-256 of `ext|<hubNonce>|<extNonce>`, keyed with the token.
 */
mac: string, protocol: number, profileId: string, extensionId: string, extensionVersion: string, browser: string, features: Array<string>, 
/**
 * The mac is keyed with a pairing code, and the welcome is to bring a token.
 */
pairing?: boolean, };

/** Whether a value is a `Hello`. */
export function isHello(value: unknown): value is Hello {
  return isObject(value) && typeof value.nonce === "string" && typeof value.mac === "string" && Number.isInteger(value.protocol) && typeof value.profileId === "string" && typeof value.extensionId === "string" && typeof value.extensionVersion === "string" && typeof value.browser === "string" && (value.features == null || Array.isArray(value.features) && value.features.every((it) => typeof it === "string")) && (value.pairing == null || typeof value.pairing === "boolean");
}

/**
 * `hub/welcome`: the hub's own proof, and its terms.
 */
export type Welcome = { 
/**
 * Of `hub|<extNonce>|<hubNonce>`.
 */
mac: string, pingSeconds: number, maxMessageBytes: number, 
/**
 * What a pairing code was exchanged for.
 */
token?: string, };

/** Whether a value is a `Welcome`. */
export function isWelcome(value: unknown): value is Welcome {
  return isObject(value) && typeof value.mac === "string" && Number.isInteger(value.pingSeconds) && Number.isInteger(value.maxMessageBytes) && (value.token == null || typeof value.token === "string");
}

/**
 * A tab as `browser/tabs` reports it; address and title only where the site is shared.
 */
export type TabFacts = { tabId: number, windowId?: number, active: boolean, incognito: boolean, discarded: boolean, 
/**
 * The browser has stopped its page.
 */
frozen?: boolean, url?: string, title?: string, };

/** Whether a value is a `TabFacts`. */
export function isTabFacts(value: unknown): value is TabFacts {
  return isObject(value) && Number.isInteger(value.tabId) && (value.windowId == null || Number.isInteger(value.windowId)) && (value.active == null || typeof value.active === "boolean") && (value.incognito == null || typeof value.incognito === "boolean") && (value.discarded == null || typeof value.discarded === "boolean") && typeof value.frozen === "boolean" && (value.url == null || typeof value.url === "string") && (value.title == null || typeof value.title === "string");
}

/**
 * `browser/tabs`: every tab there is.
 */
export type AllTabs = { tabs: Array<TabFacts>, };

/** Whether a value is a `AllTabs`. */
export function isAllTabs(value: unknown): value is AllTabs {
  return isObject(value) && Array.isArray(value.tabs) && value.tabs.every((it) => isTabFacts(it));
}

/**
 * Who registers: the document that the browser vouches for.
 */
export type PageFacts = { tabId: number, windowId?: number, documentId?: string, active?: boolean, incognito: boolean, title?: string, sources: { [key in string]: Source }, 
/**
 * The id under which the page is known to `webmcp-local-relay`, if it embeds that too.
 */
relayTabId?: string, };

/** Whether a value is a `PageFacts`. */
export function isPageFacts(value: unknown): value is PageFacts {
  return isObject(value) && (value.tabId == null || Number.isInteger(value.tabId)) && (value.windowId == null || Number.isInteger(value.windowId)) && (value.documentId == null || typeof value.documentId === "string") && (value.active == null || typeof value.active === "boolean") && (value.incognito == null || typeof value.incognito === "boolean") && (value.title == null || typeof value.title === "string") && (value.sources == null || isObject(value.sources) && Object.values(value.sources).every((it) => isSource(it))) && (value.relayTabId == null || typeof value.relayTabId === "string");
}

/**
 * `browser/registerTools` and `browser/updateTools`: always the full list.
 */
export type ToolList = { tools: Tool[], tabUrl?: string, extensions: PageFacts, };

/** Whether a value is a `ToolList`. */
export function isToolList(value: unknown): value is ToolList {
  return isObject(value) && Array.isArray(value.tools) && value.tools.every((it) => isTool(it)) && (value.tabUrl == null || typeof value.tabUrl === "string") && (value.extensions == null || isPageFacts(value.extensions));
}

/**
 * The tab, and where needed the document, window or former id, that a message is about.
 */
export type TabPlace = { tabId?: number, windowId?: number, documentId?: string, oldTabId?: number, 
/**
 * The call that asks.
 */
requestId?: string, };

/** Whether a value is a `TabPlace`. */
export function isTabPlace(value: unknown): value is TabPlace {
  return isObject(value) && (value.tabId == null || Number.isInteger(value.tabId)) && (value.windowId == null || Number.isInteger(value.windowId)) && (value.documentId == null || typeof value.documentId === "string") && (value.oldTabId == null || Number.isInteger(value.oldTabId)) && (value.requestId == null || typeof value.requestId === "string");
}

/**
 * `browser/tabDisconnected`, `tabActivated`, `windowFocus`, `tabReplaced`, `tabRemoved`.
 */
export type TabNews = { extensions: TabPlace, };

/** Whether a value is a `TabNews`. */
export function isTabNews(value: unknown): value is TabNews {
  return isObject(value) && (value.extensions == null || isTabPlace(value.extensions));
}

/**
 * `browser/toolStarted`: the content script has begun.
 */
export type ToolStarted = { requestId: string, };

/** Whether a value is a `ToolStarted`. */
export function isToolStarted(value: unknown): value is ToolStarted {
  return isObject(value) && typeof value.requestId === "string";
}

/**
 * `notifications/progress` of a page.
 */
export type Progress = { progressToken: string, progress: number, total?: number, message?: string, };

/** Whether a value is a `Progress`. */
export function isProgress(value: unknown): value is Progress {
  return isObject(value) && typeof value.progressToken === "string" && typeof value.progress === "number" && (value.total == null || typeof value.total === "number") && (value.message == null || typeof value.message === "string");
}

/**
 * `browser/elicitConfirmation`: a page asks its person something in the middle of a call.
 */
export type Elicit = { message: string, requestedSchema?: Record<string, unknown>, extensions: TabPlace, };

/** Whether a value is a `Elicit`. */
export function isElicit(value: unknown): value is Elicit {
  return isObject(value) && typeof value.message === "string" && (value.requestedSchema == null || isObject(value.requestedSchema)) && (value.extensions == null || isTabPlace(value.extensions));
}

export type ConfirmAction = "accept" | "decline" | "cancel";

/** Whether a value is a `ConfirmAction`. */
export function isConfirmAction(value: unknown): value is ConfirmAction {
  return (["accept","decline","cancel"] as unknown[]).includes(value);
}

/**
 * What a person answered.
 */
export type Confirmation = { action: ConfirmAction, content?: Record<string, unknown>, };

/** Whether a value is a `Confirmation`. */
export function isConfirmation(value: unknown): value is Confirmation {
  return isObject(value) && isConfirmAction(value.action) && (value.content == null || isObject(value.content));
}

/**
 * `browser/executeTool`.
 */
export type Execute = { toolName: string, args: Record<string, unknown>, extensions: TabPlace, };

/** Whether a value is a `Execute`. */
export function isExecute(value: unknown): value is Execute {
  return isObject(value) && typeof value.toolName === "string" && isObject(value.args) && isTabPlace(value.extensions);
}

/**
 * What a call came to: the page's `CallToolResult`, or a sentence.
 */
export type Executed = { success: boolean, payload: Record<string, unknown> | string, };

/** Whether a value is a `Executed`. */
export function isExecuted(value: unknown): value is Executed {
  return isObject(value) && typeof value.success === "boolean";
}

/**
 * Why a request was not fulfilled.
 */
export type Problem = { code: number, message: string, data?: Record<string, unknown>, };

/** Whether a value is a `Problem`. */
export function isProblem(value: unknown): value is Problem {
  return isObject(value) && Number.isInteger(value.code) && typeof value.message === "string" && (value.data == null || isObject(value.data));
}

/**
 * `browser/openTab`.
 */
export type OpenTab = { url: string, active: boolean, };

/** Whether a value is a `OpenTab`. */
export function isOpenTab(value: unknown): value is OpenTab {
  return isObject(value) && typeof value.url === "string" && typeof value.active === "boolean";
}

/**
 * `browser/activateTab`, `reloadTab` and `closeTab`, and the answer to `openTab`.
 */
export type OneTab = { tabId: number, };

/** Whether a value is a `OneTab`. */
export function isOneTab(value: unknown): value is OneTab {
  return isObject(value) && Number.isInteger(value.tabId);
}

/**
 * `notifications/cancelled`.
 */
export type Cancelled = { requestId: string, reason: string, };

/** Whether a value is a `Cancelled`. */
export function isCancelled(value: unknown): value is Cancelled {
  return isObject(value) && typeof value.requestId === "string" && typeof value.reason === "string";
}

/**
 * `hub/ping`, answered by `browser/pong` with the same `t`.
 */
export type Ping = { t: number, };

/** Whether a value is a `Ping`. */
export function isPing(value: unknown): value is Ping {
  return isObject(value) && Number.isInteger(value.t);
}

/**
 * What the worker sends besides answers.
 */
export type ToHub = { "method": "browser/hello", "params": Hello } | { "method": "browser/tabs", "params": AllTabs } | { "method": "browser/registerTools", "params": ToolList } | { "method": "browser/updateTools", "params": ToolList } | { "method": "browser/tabDisconnected", "params": TabNews } | { "method": "browser/tabActivated", "params": TabNews } | { "method": "browser/windowFocus", "params": TabNews } | { "method": "browser/tabReplaced", "params": TabNews } | { "method": "browser/tabRemoved", "params": TabNews } | { "method": "browser/toolStarted", "params": ToolStarted } | { "method": "notifications/progress", "params": Progress } | { "method": "browser/elicitConfirmation", "params": Elicit } | { "method": "browser/pong", "params": Ping };

/** Whether a value is a `ToHub`. */
export function isToHub(value: unknown): value is ToHub {
  return (isObject(value) && value.method === "browser/hello" && isHello(value.params) || isObject(value) && value.method === "browser/tabs" && isAllTabs(value.params) || isObject(value) && value.method === "browser/registerTools" && isToolList(value.params) || isObject(value) && value.method === "browser/updateTools" && isToolList(value.params) || isObject(value) && value.method === "browser/tabDisconnected" && isTabNews(value.params) || isObject(value) && value.method === "browser/tabActivated" && isTabNews(value.params) || isObject(value) && value.method === "browser/windowFocus" && isTabNews(value.params) || isObject(value) && value.method === "browser/tabReplaced" && isTabNews(value.params) || isObject(value) && value.method === "browser/tabRemoved" && isTabNews(value.params) || isObject(value) && value.method === "browser/toolStarted" && isToolStarted(value.params) || isObject(value) && value.method === "notifications/progress" && isProgress(value.params) || isObject(value) && value.method === "browser/elicitConfirmation" && isElicit(value.params) || isObject(value) && value.method === "browser/pong" && isPing(value.params));
}

/**
 * What the hub sends besides answers.
 */
export type FromHub = { "method": "hub/challenge", "params": Challenge } | { "method": "hub/welcome", "params": Welcome } | { "method": "browser/executeTool", "params": Execute } | { "method": "browser/openTab", "params": OpenTab } | { "method": "browser/activateTab", "params": OneTab } | { "method": "browser/reloadTab", "params": OneTab } | { "method": "browser/closeTab", "params": OneTab } | { "method": "notifications/cancelled", "params": Cancelled } | { "method": "hub/ping", "params": Ping };

/** Whether a value is a `FromHub`. */
export function isFromHub(value: unknown): value is FromHub {
  return (isObject(value) && value.method === "hub/challenge" && isChallenge(value.params) || isObject(value) && value.method === "hub/welcome" && isWelcome(value.params) || isObject(value) && value.method === "browser/executeTool" && isExecute(value.params) || isObject(value) && value.method === "browser/openTab" && isOpenTab(value.params) || isObject(value) && value.method === "browser/activateTab" && isOneTab(value.params) || isObject(value) && value.method === "browser/reloadTab" && isOneTab(value.params) || isObject(value) && value.method === "browser/closeTab" && isOneTab(value.params) || isObject(value) && value.method === "notifications/cancelled" && isCancelled(value.params) || isObject(value) && value.method === "hub/ping" && isPing(value.params));
}

/**
 * What is said to the hub in the second vocabulary, by peers that name types instead of methods.
 */
export type TypedToHub = { "type": "register-tools" } & ToolList | { "type": "tools-updated" } & ToolList | { "type": "tool-started", requestId: string, } | { "type": "progress", requestId: string, progress: number, total?: number, message?: string, } | { "type": "tool-result", requestId: string, data: Executed, } | { "type": "confirm-action", confirmId: string, message: string, requestedSchema?: Record<string, unknown>, requestId?: string, extensions: TabPlace, } | { "type": "pong" };

/** Whether a value is a `TypedToHub`. */
export function isTypedToHub(value: unknown): value is TypedToHub {
  return (isObject(value) && value.type === "register-tools" && isToolList(value) || isObject(value) && value.type === "tools-updated" && isToolList(value) || isObject(value) && value.type === "tool-started" && typeof value.requestId === "string" || isObject(value) && value.type === "progress" && typeof value.requestId === "string" && typeof value.progress === "number" && (value.total == null || typeof value.total === "number") && (value.message == null || typeof value.message === "string") || isObject(value) && value.type === "tool-result" && typeof value.requestId === "string" && isExecuted(value.data) || isObject(value) && value.type === "confirm-action" && typeof value.confirmId === "string" && typeof value.message === "string" && (value.requestedSchema == null || isObject(value.requestedSchema)) && (value.requestId == null || typeof value.requestId === "string") && (value.extensions == null || isTabPlace(value.extensions)) || isObject(value) && value.type === "pong");
}

/**
 * What the hub says in it.
 */
export type TypedFromHub = { "type": "execute-tool", requestId: string, toolName: string, args: Record<string, unknown>, extensions: TabPlace, } | { "type": "cancel", requestId: string, reason: string, } | { "type": "confirm-result", confirmId: string, data: Confirmed, };

/** Whether a value is a `TypedFromHub`. */
export function isTypedFromHub(value: unknown): value is TypedFromHub {
  return (isObject(value) && value.type === "execute-tool" && typeof value.requestId === "string" && typeof value.toolName === "string" && isObject(value.args) && isTabPlace(value.extensions) || isObject(value) && value.type === "cancel" && typeof value.requestId === "string" && typeof value.reason === "string" || isObject(value) && value.type === "confirm-result" && typeof value.confirmId === "string" && isConfirmed(value.data));
}

/**
 * What a person answered, or why nobody was asked.
 */
export type Confirmed = Confirmation | { error: Problem, };

/** Whether a value is a `Confirmed`. */
export function isConfirmed(value: unknown): value is Confirmed {
  return (isConfirmation(value) || isObject(value) && isProblem(value.error));
}
