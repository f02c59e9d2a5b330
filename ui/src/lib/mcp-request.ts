/** Requests to the hub's own MCP door, in the revision of 2026-07-28. */

import { isObject, type Json, type JsonObject, member } from "./json";

export const VERSION = "2026-07-28";

export type Answers = Record<string, JsonObject>;

export type McpRequest = {
  id: string;
  method: string;
  /** The parameters as JSON text, so that arguments travel as they were typed. */
  params: Record<string, string>;
  /** What `Mcp-Name` must say; only for methods that name something. */
  name?: string;
  paramHeaders?: Record<string, string>;
};

/** Questions can be answered here, so the hub passes them on instead of declining them. */
const CAPABILITIES: JsonObject = { elicitation: { form: {}, url: {} } };

export function bodyOf({ id, method, params }: McpRequest, clientVersion: string): string {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
    "io.modelcontextprotocol/clientInfo": {
      name: "toolgrove-ui",
      title: "Toolgrove UI",
      version: clientVersion,
    },
    progressToken: id,
  };
  const members = Object.entries(params).map(([key, text]) => `${JSON.stringify(key)}:${text}`);
  const inner = [...members, `"_meta":${JSON.stringify(meta)}`].join(",");
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)},"params":{${inner}}}`;
}

export function headersOf({ method, name, paramHeaders }: McpRequest): Record<string, string> {
  return {
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": VERSION,
    "Mcp-Method": method,
    ...(name === undefined ? {} : { "Mcp-Name": headerValue(name) }),
    ...paramHeaders,
  };
}

/** A value as a header can carry it: as it is, or as base64 of its UTF-8. */
export function headerValue(value: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(value) && !value.startsWith("=?base64?");
  if (isPlain) return value;
  const bytes = new TextEncoder().encode(value);
  return `=?base64?${btoa(String.fromCharCode(...bytes))}?=`;
}

/** Arguments that a tool's schema wants to see as headers too (`x-mcp-header`). */
export function paramHeaders(schema: unknown, args: Json | undefined): Record<string, string> {
  const found: Record<string, string> = {};
  const properties = member(schema, "properties");
  if (!isObject(properties)) return found;
  for (const [key, property] of Object.entries(properties)) {
    const value = member(args, key);
    const header = member(property, "x-mcp-header");
    if (typeof header === "string" && ["string", "number", "boolean"].includes(typeof value)) {
      found[`Mcp-Param-${header}`] = headerValue(String(value));
    }
    Object.assign(found, paramHeaders(property, value));
  }
  return found;
}

/** A question that a server asks in the middle of a call. */
export type Question =
  | { key: string; kind: "form"; message: string; schema: JsonObject }
  | { key: string; kind: "url"; message: string; url: string }
  | { key: string; kind: "other"; method: string };

export type McpError = { code: number; message: string; data?: Json };
export type Progress = { progress: number; total?: number; message?: string };

/** One message of the door's answer. */
export type Message =
  | { kind: "result"; result: JsonObject }
  | { kind: "questions"; questions: Question[]; state: string | undefined }
  | { kind: "error"; error: McpError }
  | { kind: "progress"; progress: Progress }
  | { kind: "other" };

export function readMessage(value: unknown): Message {
  const error = member(value, "error");
  if (isObject(error)) {
    const { code, message, data } = error;
    return {
      kind: "error",
      error: { code: Number(code), message: String(message), ...(data === undefined ? {} : { data }) },
    };
  }
  const result = member(value, "result");
  if (isObject(result))
    return result.resultType === "input_required" ? questionsOf(result) : { kind: "result", result };
  const params = member(value, "params");
  if (member(value, "method") !== "notifications/progress" || !isObject(params)) return { kind: "other" };
  const { progress, total, message } = params;
  if (typeof progress !== "number") return { kind: "other" };
  return {
    kind: "progress",
    progress: {
      progress,
      ...(typeof total === "number" ? { total } : {}),
      ...(typeof message === "string" ? { message } : {}),
    },
  };
}

function questionsOf(result: JsonObject): Message {
  const requests = isObject(result.inputRequests) ? result.inputRequests : {};
  const state = typeof result.requestState === "string" ? result.requestState : undefined;
  return {
    kind: "questions",
    questions: Object.entries(requests).map(([key, it]) => questionOf(key, it)),
    state,
  };
}

function questionOf(key: string, request: Json): Question {
  const method = String(member(request, "method"));
  const params = member(request, "params");
  const message = String(member(params, "message") ?? "");
  const url = member(params, "url");
  const schema = member(params, "requestedSchema");
  if (method !== "elicitation/create") return { key, kind: "other", method };
  if (typeof url === "string") return { key, kind: "url", message, url };
  return { key, kind: "form", message, schema: isObject(schema) ? schema : {} };
}
