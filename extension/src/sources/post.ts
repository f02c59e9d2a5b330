/** The envelope of MCP messages on a window, the one that MCP-B pages use. */

import { isObject } from "../check";

/** The channel of pages that are servers, and the one between our own two scripts. */
export const PAGE_CHANNEL = "mcp-default";
export const SHIM_CHANNEL = "toolgrove-shim";

export type Direction = "client-to-server" | "server-to-client";

/** Sends a payload to everybody in this window. Pages of files have no origin to address. */
export function post(channel: string, direction: Direction, payload: unknown): void {
  const target = location.origin === "null" || location.protocol === "file:" ? "*" : location.origin;
  window.postMessage({ channel, type: "mcp", direction, payload }, target);
}

/** Hears the payloads of a channel that come from this very window; call what it returns to stop. */
export function listen(channel: string, direction: Direction, hear: (payload: unknown) => void): () => void {
  const onMessage = ({ source, origin, data }: MessageEvent) => {
    if (source !== window || (location.protocol !== "file:" && origin !== location.origin)) return;
    if (!isObject(data) || data.type !== "mcp") return;
    if (data.channel === channel && data.direction === direction) hear(data.payload);
  };
  window.addEventListener("message", onMessage);
  return () => window.removeEventListener("message", onMessage);
}
