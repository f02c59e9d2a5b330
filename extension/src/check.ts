/** What comes from pages, content scripts and the hub, looked at before it is believed. */

import type { Confirmation, FromHub, FromPage, Json, Result, Sources, Tool } from "./protocol";
import { isConfirmation, isProblem, isSource } from "./wire.gen";

const NAME = /^[A-Za-z0-9_.-]{1,128}$/;
const MAX_TOOLS = 256;
const MAX_DESCRIPTION = 8 * 1024;
const MAX_TOOL_BYTES = 80 * 1024;
const MAX_SCHEMA = 64 * 1024;

/** Control characters but tab and newline, and those that turn the direction of text. */
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The tools that may go to the hub, and a sentence for each that may not. */
export function soundTools(tools: unknown[]): { tools: Tool[]; dropped: string[] } {
  const sound = new Map<string, Tool>();
  const dropped: string[] = [];
  for (const it of tools) {
    const problem = toolProblem(it, sound);
    if (problem) dropped.push(problem);
    else sound.set((it as Tool).name, withCleanText(it as Tool));
  }
  return { tools: [...sound.values()], dropped };
}

function toolProblem(tool: unknown, before: Map<string, Tool>): string | undefined {
  if (!isObject(tool) || typeof tool.name !== "string") return "a tool has no name";
  const { name } = tool;
  if (!NAME.test(name)) return `\`${name.slice(0, 128)}\` is no name for a tool`;
  if (before.has(name)) return `\`${name}\` stands twice`;
  if (before.size >= MAX_TOOLS) return `\`${name}\` is one tool too many: a tab may have ${MAX_TOOLS}`;
  if (!isObject(tool.inputSchema)) return `\`${name}\` has no input schema`;
  if (JSON.stringify(tool.inputSchema).length > MAX_SCHEMA) return `the schema of \`${name}\` is too large`;
  if (JSON.stringify(tool).length > MAX_TOOL_BYTES + MAX_SCHEMA) return `\`${name}\` is too large`;
  return undefined;
}

function withCleanText(tool: Tool): Tool {
  const clean = { ...tool };
  if (typeof tool.description === "string") clean.description = cleanText(tool.description);
  else delete clean.description;
  if (typeof tool.title === "string" && tool.title !== "") clean.title = cleanText(tool.title);
  else delete clean.title;
  if (!isObject(tool.annotations)) delete clean.annotations;
  return clean;
}

/** A text without characters that hide what it says, cut where it gets too long. */
export function cleanText(text: string): string {
  return text.replace(HIDDEN, "").slice(0, MAX_DESCRIPTION);
}

/** Where each of these tools was found, as far as it was said. */
export function soundSources(sources: Json, tools: Tool[]): Sources {
  const found: Sources = {};
  for (const { name } of tools) {
    const source = sources[name];
    if (isSource(source)) found[name] = source;
  }
  return found;
}

/** A message of a content script, or nothing if it is none that we know. */
export function readFromPage(value: unknown): FromPage | undefined {
  if (!isObject(value)) return undefined;
  const { type, requestId } = value;
  switch (type) {
    case "register-tools":
    case "tools-updated": {
      if (!Array.isArray(value.tools)) return undefined;
      const sources = isObject(value.sources) ? value.sources : {};
      const relayTabId = optionalText(value.relayTabId)?.slice(0, 256);
      return { type, tools: value.tools, sources, ...(relayTabId && { relayTabId }) };
    }
    case "tool-started":
      return isText(requestId) ? { type, requestId } : undefined;
    case "tool-result": {
      const data = readResult(value.data);
      return isText(requestId) && data ? { type, requestId, data } : undefined;
    }
    case "progress": {
      const { progress, total, message } = value;
      if (!isText(requestId) || typeof progress !== "number") return undefined;
      return {
        type,
        requestId,
        progress,
        ...(typeof total === "number" && { total }),
        ...(typeof message === "string" && { message: cleanText(message) }),
      };
    }
    case "confirm-action": {
      const { confirmId, message, requestedSchema } = value;
      if (!isText(requestId) || !isText(confirmId) || typeof message !== "string") return undefined;
      return {
        type,
        requestId,
        confirmId,
        message: cleanText(message),
        ...(isObject(requestedSchema) && { requestedSchema }),
      };
    }
    default:
      return undefined;
  }
}

function readResult(value: unknown): Result | undefined {
  if (!isObject(value)) return undefined;
  const { success, payload } = value;
  if (success === true && isObject(payload)) return { success, payload };
  return success === false && typeof payload === "string" ? { success, payload } : undefined;
}

/** A message of the hub, or nothing if its envelope is not JSON-RPC. */
export function readFromHub(text: unknown): FromHub | undefined {
  const value = typeof text === "string" ? parsed(text) : undefined;
  if (!isObject(value) || value.jsonrpc !== "2.0") return undefined;
  const { id, method } = value;
  if (typeof method === "string") {
    const params = isObject(value.params) ? value.params : {};
    if (id === undefined) return { kind: "notification", method, params };
    return isText(id) ? { kind: "request", id, method, params } : undefined;
  }
  if (!isText(id)) return undefined;
  if (isProblem(value.error)) return { kind: "response", id, error: value.error };
  return "result" in value ? { kind: "response", id, result: value.result } : undefined;
}

/** What a person answered, if that is what the hub sent. */
export function readConfirmation(value: unknown): Confirmation | undefined {
  if (!isConfirmation(value)) return undefined;
  const { action, content } = value;
  return { action, ...(content && { content }) };
}

/** A JSON value, or nothing where the text is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function optionalText(value: unknown): string | undefined {
  return isText(value) ? value : undefined;
}
