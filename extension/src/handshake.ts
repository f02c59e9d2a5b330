/** Both ends prove that they hold the same secret, and neither says it. */

import { isObject } from "./check";
import type { Json, Welcome } from "./protocol";

/** 32 random bytes in hex. */
export function nonce(): string {
  return hex(crypto.getRandomValues(new Uint8Array(32)));
}

/** What the extension shows: it signs the hub's nonce and its own. */
export function extensionMac(secret: string, hubNonce: string, ownNonce: string): Promise<string> {
  return mac(secret, `ext|${hubNonce}|${ownNonce}`);
}

/** What the hub has to show. */
export function hubMac(secret: string, hubNonce: string, extensionNonce: string): Promise<string> {
  return mac(secret, `hub|${extensionNonce}|${hubNonce}`);
}

async function mac(secret: string, text: string): Promise<string> {
  const bytes = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes.encode(secret), algorithm, false, ["sign"]);
  return hex(new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes.encode(text))));
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (it) => it.toString(16).padStart(2, "0")).join("");
}

/** Compares two texts in a time that does not tell where they differ. */
export function isSame(left: string, right: string): boolean {
  let difference = left.length ^ right.length;
  for (let at = 0; at < left.length; at++) difference |= left.charCodeAt(at) ^ right.charCodeAt(at);
  return difference === 0;
}

/** A welcome whose members have the right types. */
export function readWelcome(params: Json): Welcome | undefined {
  const { mac, pingSeconds, maxMessageBytes, token } = params;
  if (!isObject(params) || typeof mac !== "string") return undefined;
  return {
    mac,
    pingSeconds: typeof pingSeconds === "number" && pingSeconds > 0 ? pingSeconds : 20,
    maxMessageBytes:
      typeof maxMessageBytes === "number" && maxMessageBytes > 0 ? maxMessageBytes : 10_000_000,
    ...(typeof token === "string" && token !== "" && { token }),
  };
}
