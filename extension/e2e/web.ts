/** Pages of every kind, served from this machine, each written as a page author would. */

import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { dirname, join, resolve } from "node:path";
import { build } from "vite";
import { peer } from "./real/toolgrove";

const require = createRequire(import.meta.url);
const library = (name: string) =>
  readFileSync(resolve(import.meta.dirname, "../node_modules", name, "dist/index.iife.js"), "utf8");

const page = (body: string) => `<!doctype html><title>A page</title><h1>A page</h1>${body}`;
const script = (code: string) => `<script>${code}</script>`;

/** Tools that a page registers with `document.modelContext`, the browser's own or a polyfill's. */
const REGISTER = `
  const mc = document.modelContext ?? navigator.modelContext;
  window.calls = 0;
  const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
  mc?.registerTool({ name: "echo", description: "Says it again", inputSchema: schema, annotations: { readOnlyHint: true },
    execute: async ({ text }) => { calls++; return { content: [{ type: "text", text: "echo " + text }] } } });
  mc?.registerTool({ name: "plain", description: "Returns an object", execute: async (args) => ({ got: args }) });
  mc?.registerTool({ name: "boom", description: "Fails", execute: async () => { throw new Error("boom") } });
  mc?.registerTool({ name: "slow", description: "Never ends", execute: () => new Promise(() => {}) });
  window.addTool = (name) => mc.registerTool({ name, description: "Came later", execute: async () => name });
`;

/** A server written by hand, without any library: pages in the field have those. */
const BY_HAND = (options: string) => `
  const options = Object.assign({ listChanged: true, tools: ["getCart"], announces: true }, ${options});
  const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const say = (payload) => postMessage({ channel: "mcp-default", type: "mcp", direction: "server-to-client", payload }, "*");
  const asked = new Map();
  if (options.relayTabId) sessionStorage.setItem("__webmcp_relay_tab_id", options.relayTabId);
  window.cancelled = [];
  window.begun = 0;
  const call = async (id, { name, arguments: args, _meta }) => {
    window.begun++;
    if (name === "whoami") return { content: [{ type: "text", text: JSON.stringify({ n: options.n }) }] };
    if (name === "image") return { content: [{ type: "image", data: pixel, mimeType: "image/png" }] };
    if (name === "fail") return { isError: true, content: [{ type: "text", text: "no such cart" }] };
    if (name === "slow") return new Promise(() => {});
    if (name === "large") return { content: [{ type: "text", text: "x".repeat(args.size) }] };
    if (name === "steps") {
      for (const progress of [1, 2]) {
        say({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: _meta.progressToken, progress, total: 2, message: "step " + progress } });
      }
    }
    if (name === "buy") {
      const answer = await new Promise((done) => {
        asked.set("q1", done);
        say({ jsonrpc: "2.0", id: "q1", method: "elicitation/create", params: { message: "Buy it?", requestedSchema: { type: "object", properties: { sure: { type: "boolean" } } } } });
      });
      return { content: [{ type: "text", text: JSON.stringify(answer) }] };
    }
    return { content: [{ type: "text", text: name + " " + JSON.stringify(args) }] };
  };
  const start = () => {
    addEventListener("message", async ({ data, source }) => {
      if (source !== window || data?.channel !== "mcp-default" || data.direction !== "client-to-server") return;
      const message = data.payload;
      if (message === "mcp-check-ready") return say("mcp-server-ready");
      const { id, method, params, result, error } = message;
      if (method === "notifications/cancelled") window.cancelled.push(params);
      if (id === undefined) return;
      if (method === undefined) return asked.get(id)?.(result ?? { error });
      const answers = {
        initialize: () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: options.listChanged ? { listChanged: true } : {} }, serverInfo: { name: "by hand", version: "1" } }),
        "tools/list": () => ({ tools: options.tools.map((name) => ({ name, description: "By hand", inputSchema: { type: "object" }, annotations: { cache: true } })) }),
        "tools/call": () => call(id, params),
      };
      const answer = answers[method];
      if (!answer) return say({ jsonrpc: "2.0", id, error: { code: -32601, message: "not here" } });
      say({ jsonrpc: "2.0", id, result: await answer() });
    });
    if (options.announces) say("mcp-server-ready");
  };
  window.change = (tools) => { options.tools = tools; say({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }); };
  window.askOutOfTurn = () => new Promise((done) => { asked.set("q2", done); say({ jsonrpc: "2.0", id: "q2", method: "elicitation/create", params: { message: "Hm?" } }); });
  options.after ? setTimeout(start, options.after) : start();
`;

/** Files of packages in the versions that pages in the field load beside each other. */
const field = (name: string, file: string) =>
  readFileSync(join(dirname(peer.resolve(`@mcp-b/${name}`)), file), "utf8");

const PAGES: Record<string, (address: URL) => string | Promise<string>> = {
  "/native": () => page(script(REGISTER)),
  "/polyfill": () => page(script(library("@mcp-b/webmcp-polyfill")) + script(REGISTER)),
  "/global": () => page(script(library("@mcp-b/global")) + script(REGISTER)),
  "/sdk": async () => page(`<script type="module">${await example()}</script>`),
  "/frames": () =>
    page(
      `<iframe src="/child"></iframe>${script(`document.modelContext?.registerTool({ name: "search", description: "of the page", execute: async () => "page" })`)}`,
    ),
  "/child": () =>
    page(
      script(
        `document.modelContext?.registerTool({ name: "search", description: "of the frame", execute: async () => "frame" })`,
      ),
    ),
  "/ahead": () =>
    page(
      `<script type="speculationrules">{"prerender":[{"urls":["/shown"],"eagerness":"immediate"}]}</script>${script(`setTimeout(() => { location.href = "/shown" }, 3000)`)}`,
    ),
  "/shown": () =>
    page(
      script(
        `document.modelContext?.registerTool({ name: "shown", description: "When it was shown", execute: async () => String(performance.getEntriesByType("navigation")[0].activationStart) })`,
      ),
    ),
  "/relay": ({ searchParams }) =>
    page(
      `${script(field("global", "index.iife.js"))}${script(REGISTER)}<script src="/embed.js" data-relay-port="${searchParams.get("port")}"></script>`,
    ),
  "/embed.js": () => field("webmcp-local-relay", "browser/embed.js"),
  "/widget.html": () => field("webmcp-local-relay", "browser/widget.html"),
  "/plain": () => page(""),
};

/** The example of docs/browser.md for authors of pages, as it stands there. */
export function documented(): string {
  const text = readFileSync(resolve(import.meta.dirname, "../../docs/browser.md"), "utf8");
  const code = /```js title="page\.js"\n([\s\S]*?)```/.exec(text)?.[1];
  if (!code) throw new Error("docs/browser.md has no example");
  return code;
}

/** That very example, bundled as its reader would. */
async function example(): Promise<string> {
  const code = documented();
  const name = "\0example";
  const built = await build({
    configFile: false,
    root: resolve(import.meta.dirname, ".."),
    logLevel: "error",
    plugins: [
      {
        name: "example",
        resolveId: (id, from) =>
          id === name
            ? id
            : from === name
              ? require.resolve(id, { paths: [import.meta.dirname] })
              : undefined,
        load: (id) => (id === name ? code : undefined),
      },
    ],
    build: { write: false, minify: true, rollupOptions: { input: name, output: { format: "es" } } },
  });
  const [output] = Array.isArray(built) ? built : [built];
  if (!output || !("output" in output)) throw new Error("the example was not built");
  return output.output[0].code.replaceAll("</script", "<\\/script");
}

/** Serves the pages above, on a port of its own and so as an origin of its own. */
export class Web {
  readonly #server: Server = createServer();
  readonly #cache = new Map<string, string>();

  async start(): Promise<void> {
    this.#server.on("request", async (request, answer) => {
      const address = new URL(request.url ?? "/", "http://127.0.0.1");
      const headers: Record<string, string> = {
        "Content-Type": address.pathname.endsWith(".js") ? "text/javascript" : "text/html",
      };
      if (address.searchParams.has("strict")) {
        headers["Content-Security-Policy"] = "default-src 'none'; script-src 'unsafe-inline'";
      }
      const body = await this.#body(address).catch((error) => String(error));
      answer.writeHead(200, headers).end(body);
    });
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
  }

  /** `http://127.0.0.1:port` and a path. */
  at(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** The address of a server written by hand, with its options. */
  byHand(options: Record<string, unknown> = {}): string {
    return this.at(`/by-hand?options=${encodeURIComponent(JSON.stringify(options))}`);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #body(address: URL): Promise<string> {
    if (address.pathname === "/by-hand")
      return page(script(BY_HAND(address.searchParams.get("options") ?? "{}")));
    const make = PAGES[address.pathname];
    if (!make) return page("nothing here");
    const made = this.#cache.get(address.href) ?? (await make(address));
    this.#cache.set(address.href, made);
    return made;
  }
}
