/**
 * The messages between page, worker and hub. Those of the hub are generated from its own types (`wire.gen.ts`); here is
 * how they travel, and what is said between page and worker. README.md, "The wire", says what each one means.
 */

import type * as wire from "./wire.gen";
import type { Confirmation, Problem, Source } from "./wire.gen";

export type { Confirmation, Hello, Problem, Source, Welcome } from "./wire.gen";
export { PROTOCOL, SUBPROTOCOL } from "./wire.gen";

/** The revision of MCP that pages are spoken to in. */
export const MCP_REVISION = "2025-06-18";
/** The name of the port between a content script and the worker. */
export const PORT = "mcp-content-script-proxy";

/** Close codes of the socket. */
export const CLOSE = { impostor: 4001, protocol: 4002, refused: 4003 } as const;

export type Json = Record<string, unknown>;

/** A tool as MCP describes it; members we do not know travel along. */
export type Tool = Json & wire.Tool;

export type Sources = Record<string, Source>;

/** What a call came to: the page's `CallToolResult`, or a sentence. */
export type Result = { success: true; payload: Json } | { success: false; payload: string };

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

/** A tab as `browser/tabs` reports it; address and title only where the site is shared. */
export type TabFacts = wire.TabFacts & { windowId: number };

type Question = Extract<wire.ToHub, { method: "browser/elicitConfirmation" }>;

/** What the worker sends: notifications, a page's question, and answers. */
export type ToHub =
  | Exclude<wire.ToHub, Question>
  | (Question & { id: string })
  | { id: string; result: unknown }
  | { id: string; error: Problem };

/** A message of the hub whose envelope is sound; what is in it is checked where it is used. */
export type FromHub =
  | { kind: "request"; id: string; method: string; params: Json }
  | { kind: "notification"; method: string; params: Json }
  | { kind: "response"; id: string; result?: unknown; error?: Problem };
