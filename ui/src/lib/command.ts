/** A call of the runner as a line for a terminal. */

import { isObject, type Json, member, parseJson } from "./json";
import { joinWords, quoteWord } from "./shell-words";

/**
 * `toolgrove call mcp__weather__now city=Bonn days=3`. The command line reads `key=value` by the tool's schema;
 * whatever it might read differently is given whole, as it was typed.
 */
export function toolgroveCall(tool: string, argumentsText: string, schema: unknown): string {
  const parsed = parseJson(argumentsText);
  const args = parsed.ok && isObject(parsed.value) ? Object.entries(parsed.value) : [];
  const words = args.map(([key, value]) => asWord(key, value, member(member(schema, "properties"), key)));
  const isPlain = words.every((it) => it !== undefined);
  return joinWords([
    "toolgrove",
    "call",
    tool,
    ...(isPlain ? words : ["--json-args", compact(argumentsText)]),
  ]);
}

function asWord(key: string, value: Json, property: unknown): string | undefined {
  const type = member(property, "type");
  const isSame =
    (typeof value === "string" && type === "string") ||
    (typeof value === "boolean" && type === "boolean") ||
    (typeof value === "number" && Number.isSafeInteger(value) && (type === "integer" || type === "number"));
  return isSame && /^[A-Za-z_][\w.-]*$/.test(key) ? `${key}=${value}` : undefined;
}

/** The same over HTTP. The key is the reader's to put in. */
export function curlCall(origin: string, tool: string, argumentsText: string): string {
  const body = `{"tool":${JSON.stringify(tool)},"arguments":${compact(argumentsText)}}`;
  return [
    `curl ${quoteWord(`${origin}/api/mcp/call`)}`,
    `-H "Authorization: Bearer $TOOLGROVE_KEY"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoteWord(body)}`,
  ].join(" \\\n  ");
}

/** JSON without the space around it. Numbers and texts stay as they were typed. */
export function compact(text: string): string {
  return text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, (_, quoted) => quoted ?? "");
}
