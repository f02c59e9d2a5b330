/** Arguments in an address (`?args=`): they fill the form, they never run. */

import { isObject, parseJson } from "./json";

export function encodeArgs(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const binary = Array.from(bytes, (it) => String.fromCharCode(it)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The JSON text, or nothing when it is not the text of an object. */
export function decodeArgs(word: string): string | undefined {
  try {
    const binary = atob(word.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (it) => it.charCodeAt(0));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const parsed = parseJson(text);
    return parsed.ok && isObject(parsed.value) ? text : undefined;
  } catch {
    return undefined;
  }
}
