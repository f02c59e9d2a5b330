/** Requests over the hub's own MCP door: progress while they run, questions instead of a result, cancel by abort. */

import type { Json, JsonObject } from "@/lib/json";
import {
  type Answers,
  bodyOf,
  headersOf,
  type McpError,
  type McpRequest,
  type Message,
  type Progress,
  readMessage,
} from "@/lib/mcp-request";
import { sseEvents } from "@/lib/sse";
import { Refused, refusal } from "./http";

export type Answer = Extract<Message, { kind: "result" | "questions" | "error" }>;

export const ALL = "/mcp";
export const oneOf = (slug: string) => `/mcp/i/${slug}`;

type Options = { signal?: AbortSignal; onProgress?: (progress: Progress) => void };

export async function mcp(
  door: string,
  request: Omit<McpRequest, "id">,
  { signal, onProgress }: Options = {},
): Promise<Answer> {
  const whole = { id: crypto.randomUUID(), ...request };
  const response = await open(door, whole, signal);
  const kind = response.headers.get("content-type") ?? "";
  if (kind.startsWith("text/event-stream") && response.body) {
    for await (const event of sseEvents(response.body)) {
      const message = readMessage(JSON.parse(event.data));
      if (message.kind === "progress") onProgress?.(message.progress);
      else if (message.kind !== "other") return message;
    }
    return broken("the connection ended before the answer");
  }
  if (!kind.startsWith("application/json")) throw await refusal(response);
  const message = readMessage(await response.json());
  return message.kind === "progress" || message.kind === "other" ? broken("the hub sent no answer") : message;
}

async function open(door: string, request: McpRequest, signal: AbortSignal | undefined): Promise<Response> {
  try {
    const body = bodyOf(request, import.meta.env.VITE_VERSION ?? "0");
    return await fetch(door, {
      method: "POST",
      headers: headersOf(request),
      body,
      signal: signal ?? null,
      credentials: "same-origin",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused({
      status: 0,
      code: "hub.gone",
      detail: "the hub does not answer",
      hint: "start it with `toolgrove serve`",
    });
  }
}

const broken = (message: string): Answer => ({
  kind: "error",
  error: { code: -32603, message } satisfies McpError,
});

/** Everything of one list, page by page. */
export async function listAll(
  door: string,
  method: string,
  member: string,
  signal?: AbortSignal,
): Promise<JsonObject[]> {
  const items: JsonObject[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < 100; page++) {
    const params: Record<string, string> = cursor === undefined ? {} : { cursor: JSON.stringify(cursor) };
    const answer = await mcp(door, { method, params }, signal ? { signal } : {});
    if (answer.kind === "error")
      throw new Refused({
        status: 0,
        code: "server.error",
        detail: answer.error.message,
        data: answer.error as unknown as Json,
      });
    if (answer.kind !== "result") return items;
    const found = answer.result[member];
    if (Array.isArray(found)) items.push(...(found as JsonObject[]));
    if (typeof answer.result.nextCursor !== "string") return items;
    cursor = answer.result.nextCursor;
  }
  return items;
}

/** The parameters of a retry that brings answers. */
export function withAnswers(
  params: Record<string, string>,
  answers: Answers,
  state: string | undefined,
): Record<string, string> {
  return {
    ...params,
    inputResponses: JSON.stringify(answers),
    ...(state === undefined ? {} : { requestState: JSON.stringify(state) }),
  };
}
