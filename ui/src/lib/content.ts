/** What is in a result, part by part. Anything unknown is kept as it came. */

import { isObject, type Json, type JsonObject, member } from "./json";

export type Part =
  | { kind: "text"; text: string }
  | { kind: "image" | "audio"; mimeType: string; data: string }
  | { kind: "resource"; uri: string; mimeType: string; text?: string; blob?: string }
  | { kind: "link"; uri: string; name: string; description: string; mimeType: string }
  | { kind: "unknown"; value: Json };

const text = (value: unknown) => (typeof value === "string" ? value : "");

export function partsOf(content: Json | undefined): Part[] {
  return Array.isArray(content) ? content.map(partOf) : [];
}

export function partOf(value: Json): Part {
  const type = member(value, "type");
  if (type === "text") return { kind: "text", text: text(member(value, "text")) };
  if (type === "image" || type === "audio") {
    return { kind: type, mimeType: text(member(value, "mimeType")), data: text(member(value, "data")) };
  }
  if (type === "resource_link") {
    const uri = text(member(value, "uri"));
    const name = text(member(value, "title")) || text(member(value, "name")) || uri;
    return {
      kind: "link",
      uri,
      name,
      description: text(member(value, "description")),
      mimeType: text(member(value, "mimeType")),
    };
  }
  const resource = type === "resource" ? member(value, "resource") : undefined;
  return isObject(resource) ? resourceOf(resource) : { kind: "unknown", value };
}

/** One entry of `contents`, or of an embedded resource. */
export function resourceOf(resource: JsonObject): Part {
  const { text: body, blob } = resource;
  return {
    kind: "resource",
    uri: text(resource.uri),
    mimeType: text(resource.mimeType),
    ...(typeof body === "string" ? { text: body } : {}),
    ...(typeof blob === "string" ? { blob } : {}),
  };
}

/** A text that is JSON is easier to read as JSON. */
export function jsonOf(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** One line about a result. */
export function summaryOf(result: JsonObject): string {
  const parts = partsOf(result.content);
  const first = parts.find((it) => it.kind === "text");
  const line = first?.text.split("\n").find((it) => it.trim() !== "") ?? "";
  if (line) return line.slice(0, 140);
  if (parts.length === 0)
    return result.structuredContent === undefined ? "Nothing in it" : "Structured content";
  return parts.map((it) => it.kind).join(", ");
}
