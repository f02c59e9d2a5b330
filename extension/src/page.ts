/**
 * The shim: runs in the page's own world and makes a server of a bare polyfill, which the isolated world cannot see. It
 * starts only where there is one, holds no secret, and speaks to our content script alone.
 */

import { isObject } from "./check";
import { type Json, MCP_REVISION } from "./protocol";
import { type Host, nativeSource } from "./sources/native";
import { listen, post, SHIM_CHANNEL } from "./sources/post";
import type { PageSource } from "./sources/source";

const LATE = 2_000;

/** Whether a page has a `modelContext` that neither the browser nor a library with a server of its own put there. */
export function hasBarePolyfill(host: Host): boolean {
  const owner = host.document.modelContext ? host.document : host.navigator;
  const context = owner.modelContext as Json | undefined;
  if (typeof context?.getTools !== "function" || typeof context.executeTool !== "function") return false;
  return !context.__isBrowserMcpServer && !isBuiltIn(owner);
}

function isBuiltIn(owner: object): boolean {
  for (let it = owner; it; it = Object.getPrototypeOf(it)) {
    const found = Object.getOwnPropertyDescriptor(it, "modelContext");
    if (found)
      return found.get !== undefined && Function.prototype.toString.call(found.get).includes("[native code]");
  }
  return false;
}

function serve(): void {
  const calls = new Map<unknown, AbortController>();
  const say = (message: Json) => post(SHIM_CHANNEL, "server-to-client", { jsonrpc: "2.0", ...message });
  const changed = () => say({ method: "notifications/tools/list_changed" });
  const tools = nativeSource(window as unknown as Host, changed);
  if (!tools) return;
  listen(SHIM_CHANNEL, "client-to-server", (payload) => {
    if (payload === "mcp-check-ready") return post(SHIM_CHANNEL, "server-to-client", "mcp-server-ready");
    if (!isObject(payload)) return;
    const params = isObject(payload.params) ? payload.params : {};
    if (payload.method === "notifications/cancelled") calls.get(params.requestId)?.abort(params.reason);
    const { id } = payload;
    if (id === undefined) return;
    void answer(tools, payload.method, params, calls, id).then((it) => say({ id, ...it }));
  });
  post(SHIM_CHANNEL, "server-to-client", "mcp-server-ready");
}

async function answer(
  source: PageSource,
  method: unknown,
  params: Json,
  calls: Map<unknown, AbortController>,
  id: unknown,
): Promise<Json> {
  if (method === "initialize") {
    const capabilities = { tools: { listChanged: true } };
    const serverInfo = { name: "toolgrove-shim", version: "1" };
    return { result: { protocolVersion: MCP_REVISION, capabilities, serverInfo } };
  }
  if (method === "tools/list") return { result: { tools: source.tools } };
  if (method !== "tools/call") return { error: { code: -32601, message: "the shim only has tools" } };
  const controller = new AbortController();
  calls.set(id, controller);
  const args = isObject(params.arguments) ? params.arguments : {};
  const running = { requestId: String(id), signal: controller.signal, progress: () => {} };
  const { success, payload } = await source.call(String(params.name), args, running);
  calls.delete(id);
  return success ? { result: payload } : { error: { code: -32603, message: payload } };
}

declare global {
  interface Window {
    [SHIM_CHANNEL]?: boolean;
  }
}

function start(): void {
  if (window[SHIM_CHANNEL] || !hasBarePolyfill(window as unknown as Host)) return;
  Object.defineProperty(window, SHIM_CHANNEL, { value: true });
  serve();
}

if (typeof window !== "undefined") {
  start();
  window.addEventListener("load", start);
  setTimeout(start, LATE);
}
