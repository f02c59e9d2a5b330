/** A place where a page keeps its tools. There are three; this is what they have in common. */

import { isObject } from "../check";
import type { Json, Result, Source, Tool } from "../protocol";

/** A call as the page side sees it. */
export type Running = {
  requestId: string;
  signal: AbortSignal;
  progress: (step: { progress: number; total?: number; message?: string }) => void;
};

export type PageSource = {
  readonly source: Source;
  /** The tools as last seen. */
  readonly tools: Tool[];
  call: (name: string, args: Json, running: Running) => Promise<Result>;
  /** Stops listening to the page. */
  stop: () => void;
};

/** A tool as a page describes it, as MCP describes it; nothing if it has no name. */
export function toTool(found: unknown): Tool | undefined {
  if (!isObject(found) || typeof found.name !== "string") return undefined;
  const { inputSchema } = found;
  return { ...found, name: found.name, inputSchema: isObject(inputSchema) ? inputSchema : noArguments() };
}

/** The schema of a tool that says nothing of its arguments. */
export function noArguments(): Json {
  return { type: "object", properties: {} };
}

/** An error as a sentence for whoever called. */
export function failure(error: unknown): Result {
  const text = error instanceof Error || error instanceof DOMException ? error.message : String(error);
  return { success: false, payload: text || "the tool failed and said nothing" };
}
