/** How this browser came to know its hub: by the native-messaging host, by a link, or by a pasted code. */

import { addressOf } from "./address";
import { isObject } from "./check";
import type { Endpoint, Identity } from "./socket";

/** The name of the native-messaging host that `toolgrove tabs install` makes known. */
export const NATIVE_HOST = "dev.toolgrove.pair";
const DEFAULT_HUB = "127.0.0.1:7430";
const HOST_PATIENCE = 5_000;

/** A hub and a code as a person has them: `CODE`, `127.0.0.1:7431#CODE` or `https://hub.example.com#CODE`. */
export type Invitation = { hub: string; code: string };

/** Reads what was pasted, or says in a sentence what is wrong with it. */
export function readInvitation(text: string): Invitation | { problem: string } {
  const pasted = text.trim();
  const hash = pasted.indexOf("#");
  const code = pasted.slice(hash + 1);
  if (!/^[A-Za-z0-9_-]{6,128}$/.test(code)) return { problem: "this is no pairing code" };
  const hub = hubAddress(hash < 0 ? DEFAULT_HUB : pasted.slice(0, hash));
  return hub ? { hub, code } : { problem: "a hub on another machine has to be reached over https" };
}

/** `ws://…` for a hub on this machine, `wss://…` for one that is not; nothing for all else. */
export function hubAddress(text: string): string | undefined {
  const address = addressOf(text.includes("://") ? text : `http://${text}`);
  if (!address || address.username || address.password) return undefined;
  const isSecure = address.protocol === "https:" || address.protocol === "wss:";
  const isPlain = address.protocol === "http:" || address.protocol === "ws:";
  const isHere = ["127.0.0.1", "localhost", "[::1]"].includes(address.hostname);
  if (isSecure) return `wss://${address.host}`;
  return isPlain && isHere ? `ws://${address.host}` : undefined;
}

/** What the native-messaging host answered, as an endpoint. */
export function readHostAnswer(answer: unknown): Endpoint | undefined {
  if (!isObject(answer)) return undefined;
  const { port, token } = answer;
  const isPort = Number.isInteger(port) && (port as number) > 0 && (port as number) < 65536;
  if (!isPort || typeof token !== "string" || token === "") return undefined;
  return { hub: `ws://127.0.0.1:${port}`, secret: token, isCode: false };
}

/** Where the hub is. A code is used once; a stored pairing comes before the host. */
export async function endpoint(identity: Identity): Promise<Endpoint | undefined> {
  const { invitation } = await chrome.storage.session.get<{ invitation?: Invitation }>("invitation");
  if (invitation) {
    await chrome.storage.session.remove("invitation");
    return { hub: invitation.hub, secret: invitation.code, isCode: true };
  }
  const { pairing } = await chrome.storage.local.get<{ pairing?: { hub: string; token: string } }>("pairing");
  if (pairing) return { hub: pairing.hub, secret: pairing.token, isCode: false };
  return askHost(identity);
}

/** Asks the host on every connect and keeps nothing: so a hub on a new port is found. */
async function askHost(identity: Identity): Promise<Endpoint | undefined> {
  if (!(await chrome.permissions.contains({ permissions: ["nativeMessaging"] }))) return undefined;
  const { profileId, extensionVersion, browser } = identity;
  const question = chrome.runtime.sendNativeMessage(NATIVE_HOST, { profileId, extensionVersion, browser });
  const silence = new Promise<undefined>((done) => setTimeout(done, HOST_PATIENCE));
  try {
    return readHostAnswer(await Promise.race([question, silence]));
  } catch (error) {
    console.info(`toolgrove: the native-messaging host did not answer: ${String(error)}`);
    return undefined;
  }
}

/** Keeps a code for the next connect. */
export async function invite(invitation: Invitation): Promise<void> {
  await chrome.storage.session.set({ invitation });
}

/** Keeps the token that a code was exchanged for. */
export async function keepPairing(hub: string, token: string): Promise<void> {
  await chrome.storage.local.set({ pairing: { hub, token } });
}

/** Forgets the hub; the hub forgets the browser in its own settings. */
export async function forgetPairing(): Promise<void> {
  await chrome.storage.local.remove("pairing");
}

/** Who we are: a profile keeps its id for good. */
export async function identity(): Promise<Identity> {
  const stored = await chrome.storage.local.get<{ profileId?: string }>("profileId");
  const profileId = stored.profileId ?? crypto.randomUUID();
  if (!stored.profileId) await chrome.storage.local.set({ profileId });
  return {
    profileId,
    extensionId: chrome.runtime.id,
    extensionVersion: chrome.runtime.getManifest().version,
    browser: browserName(navigator.userAgent),
    features: ["started"],
  };
}

/** `Chromium/156` of a user agent that says much more. */
export function browserName(userAgent: string): string {
  const found = /(Edg|OPR|Chrome)\/(\d+)/g;
  const names: Record<string, string> = { Edg: "Edge", OPR: "Opera", Chrome: "Chromium" };
  const all = [...userAgent.matchAll(found)];
  const it = all.find(([, name]) => name !== "Chrome") ?? all[0];
  return it ? `${names[it[1] ?? ""]}/${it[2]}` : "unknown";
}
