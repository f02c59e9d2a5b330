// Written by `cargo xtask types`; do not edit.

/**
 * A tool as MCP describes it; members that are not named here travel along.
 */
export type Tool = { name: string, title?: string, description?: string, inputSchema: Record<string, unknown>, annotations?: Record<string, unknown>, };

/**
 * Where a tool of a page was found.
 */
export type Source = "native" | "channel" | "shim";

/**
 * `hub/challenge`: the first word.
 */
export type Challenge = { nonce: string, protocol: number, };

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

/**
 * A tab as `browser/tabs` reports it; address and title only where the site is shared.
 */
export type TabFacts = { tabId: number, windowId?: number, active: boolean, incognito: boolean, discarded: boolean, url?: string, title?: string, };

/**
 * `browser/tabs`: every tab there is.
 */
export type AllTabs = { tabs: Array<TabFacts>, };

/**
 * Who registers: the document that the browser vouches for.
 */
export type PageFacts = { tabId: number, windowId?: number, documentId?: string, active?: boolean, incognito: boolean, title?: string, sources: { [key in string]: Source }, 
/**
 * The id under which the page is known to `webmcp-local-relay`, if it embeds that too.
 */
relayTabId?: string, };

/**
 * `browser/registerTools` and `browser/updateTools`: always the full list.
 */
export type ToolList = { tools: Tool[], tabUrl?: string, extensions: PageFacts, };

/**
 * The tab, and where needed the document, window or former id, that a message is about.
 */
export type TabPlace = { tabId: number, windowId?: number, documentId?: string, oldTabId?: number, 
/**
 * The call that asks.
 */
requestId?: string, };

/**
 * `browser/tabDisconnected`, `tabActivated`, `windowFocus`, `tabReplaced`, `tabRemoved`.
 */
export type TabNews = { extensions: TabPlace, };

/**
 * `browser/toolStarted`: the content script has begun.
 */
export type ToolStarted = { requestId: string, };

/**
 * `notifications/progress` of a page.
 */
export type Progress = { progressToken: string, progress: number, total?: number, message?: string, };

/**
 * `browser/elicitConfirmation`: a page asks its person something in the middle of a call.
 */
export type Elicit = { message: string, requestedSchema?: Record<string, unknown>, extensions: TabPlace, };

export type ConfirmAction = "accept" | "decline" | "cancel";

/**
 * What a person answered.
 */
export type Confirmation = { action: ConfirmAction, content?: Record<string, unknown>, };

/**
 * `browser/executeTool`.
 */
export type Execute = { toolName: string, args: Record<string, unknown>, extensions: TabPlace, };

/**
 * What a call came to: the page's `CallToolResult`, or a sentence.
 */
export type Executed = { success: boolean, payload: Record<string, unknown> | string, };

/**
 * `browser/openTab`.
 */
export type OpenTab = { url: string, active: boolean, };

/**
 * `browser/activateTab`, `reloadTab` and `closeTab`, and the answer to `openTab`.
 */
export type OneTab = { tabId: number, };

/**
 * `notifications/cancelled`.
 */
export type Cancelled = { requestId: string, reason: string, };

/**
 * `hub/ping`, answered by `browser/pong` with the same `t`.
 */
export type Ping = { t: number, };

/**
 * What the worker sends besides answers.
 */
export type ToHub = { "method": "browser/hello", "params": Hello } | { "method": "browser/tabs", "params": AllTabs } | { "method": "browser/registerTools", "params": ToolList } | { "method": "browser/updateTools", "params": ToolList } | { "method": "browser/tabDisconnected", "params": TabNews } | { "method": "browser/tabActivated", "params": TabNews } | { "method": "browser/windowFocus", "params": TabNews } | { "method": "browser/tabReplaced", "params": TabNews } | { "method": "browser/tabRemoved", "params": TabNews } | { "method": "browser/toolStarted", "params": ToolStarted } | { "method": "notifications/progress", "params": Progress } | { "method": "browser/elicitConfirmation", "params": Elicit } | { "method": "browser/pong", "params": Ping };

/**
 * What the hub sends besides answers.
 */
export type FromHub = { "method": "hub/challenge", "params": Challenge } | { "method": "hub/welcome", "params": Welcome } | { "method": "browser/executeTool", "params": Execute } | { "method": "browser/openTab", "params": OpenTab } | { "method": "browser/activateTab", "params": OneTab } | { "method": "browser/reloadTab", "params": OneTab } | { "method": "browser/closeTab", "params": OneTab } | { "method": "notifications/cancelled", "params": Cancelled } | { "method": "hub/ping", "params": Ping };
