/** The messages between page, worker and hub. README.md, "The wire", says what each one means. */

/** The subprotocol and the version of the wire between worker and hub. */
export const SUBPROTOCOL = "toolgrove.tabs.v1";
export const PROTOCOL = 1;
/** The revision of MCP that pages are spoken to in. */
export const MCP_REVISION = "2025-06-18";
/** The name of the port between a content script and the worker. */
export const PORT = "mcp-content-script-proxy";

/** Close codes of the socket. */
export const CLOSE = { impostor: 4001, protocol: 4002, refused: 4003 } as const;

export type Json = Record<string, unknown>;

/** A tool as MCP describes it; members we do not know travel along. */
export type Tool = Json & {
  name: string;
  title?: string;
  description?: string;
  inputSchema: Json;
  annotations?: Json;
};

/** Where a tool of a page was found. */
export type Source = "native" | "channel" | "shim";
export type Sources = Record<string, Source>;

/** What a call came to: the page's `CallToolResult`, or a sentence. */
export type Result = { success: true; payload: Json } | { success: false; payload: string };

/** What a person answered to a page's question. */
export type Confirmation = { action: "accept" | "decline" | "cancel"; content?: Json };

export type Problem = { code: number; message: string; data?: Json };

// Between content script and worker.

export type FromPage =
  | { type: "register-tools" | "tools-updated"; tools: unknown[]; sources: Json; relayTabId?: string }
  | { type: "tool-started"; requestId: string }
  | { type: "tool-result"; requestId: string; data: Result }
  | { type: "progress"; requestId: string; progress: number; total?: number; message?: string }
  | { type: "confirm-action"; confirmId: string; requestId: string; message: string; requestedSchema?: Json };

export type ToPage =
  | { type: "execute-tool"; requestId: string; toolName: string; args: Json }
  | { type: "cancel"; requestId: string; reason?: string }
  | { type: "confirm-result"; confirmId: string; data: Confirmation | { error: Problem } }
  | { type: "stop" };

// Between worker and hub.

export type TabId = { tabId: number };

/** A tab as `browser/tabs` reports it; address and title only where the site is shared. */
export type TabFacts = TabId & {
  windowId: number;
  active: boolean;
  incognito: boolean;
  discarded: boolean;
  url?: string;
  title?: string;
};

/** Who registers: the document that the browser vouches for. */
export type PageFacts = TabId & {
  windowId: number;
  documentId: string;
  active: boolean;
  incognito: boolean;
  title: string;
  sources: Sources;
  relayTabId?: string;
};

export type Hello = {
  nonce: string;
  mac: string;
  protocol: number;
  profileId: string;
  extensionId: string;
  extensionVersion: string;
  browser: string;
  features: string[];
  /** The mac is keyed with a pairing code, and the welcome is to bring a token. */
  pairing?: true;
};

export type Welcome = { mac: string; pingSeconds: number; maxMessageBytes: number; token?: string };

type Registration = { tools: Tool[]; tabUrl: string; extensions: PageFacts };

export type ToHub =
  | { method: "browser/hello"; params: Hello }
  | { method: "browser/tabs"; params: { tabs: TabFacts[] } }
  | { method: "browser/registerTools" | "browser/updateTools"; params: Registration }
  | { method: "browser/tabDisconnected"; params: { extensions: TabId & { documentId: string } } }
  | { method: "browser/tabActivated"; params: { extensions: TabId & { windowId: number } } }
  | { method: "browser/windowFocus"; params: { extensions: { windowId: number } } }
  | { method: "browser/tabReplaced"; params: { extensions: TabId & { oldTabId: number } } }
  | { method: "browser/tabRemoved"; params: { extensions: TabId } }
  | { method: "browser/toolStarted"; params: { requestId: string } }
  | { method: "browser/pong"; params: { t: unknown } }
  | {
      method: "notifications/progress";
      params: { progressToken: string; progress: number; total?: number; message?: string };
    }
  | {
      id: string;
      method: "browser/elicitConfirmation";
      params: { message: string; requestedSchema?: Json; extensions: TabId & { requestId: string } };
    }
  | { id: string; result: unknown }
  | { id: string; error: Problem };

/** A message of the hub whose envelope is sound; what is in it is checked where it is used. */
export type FromHub =
  | { kind: "request"; id: string; method: string; params: Json }
  | { kind: "notification"; method: string; params: Json }
  | { kind: "response"; id: string; result?: unknown; error?: Problem };
