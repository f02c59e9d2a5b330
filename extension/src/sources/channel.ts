/**
 * A client of the MCP server in a page, over the window's messages. Everybody in the page hears every answer and can
 * forge any, so ids are unique and answers to others are ignored.
 */

import { isObject } from "../check";
import {
  type Confirmation,
  type Json,
  MCP_REVISION,
  type Problem,
  type Result,
  type Source,
  type Tool,
} from "../protocol";
import { failure, type PageSource, type Running, toTool } from "./source";

const PATIENCE = 10_000;
const POLL_EVERY = 60_000;
const MAX_PAGES = 32;

export type Around = {
  /** Sends a payload to the page. */
  post: (payload: unknown) => void;
  changed: () => void;
  /** Asks the person behind a running call; an error if there is none. */
  ask: (message: string, requestedSchema: Json | undefined) => Promise<Confirmation | { error: Problem }>;
};

type Waiting = { resolve: (result: unknown) => void; reject: (error: Error) => void; running?: Running };

/** One channel of a window and the server at its other end, if there is one. */
export class Channel implements PageSource {
  tools: Tool[] = [];
  readonly #prefix = `toolgrove-${crypto.randomUUID()}`;
  readonly #waiting = new Map<string, Waiting>();
  #count = 0;
  #isOpen = false;
  #poll: ReturnType<typeof setInterval> | undefined;
  #isConnecting = false;
  #isListing = false;
  #isStale = false;

  constructor(
    readonly source: Source,
    private readonly around: Around,
  ) {}

  /** Asks whether there is a server; a server that starts later says so itself. */
  look(): void {
    if (!this.#isOpen) this.around.post("mcp-check-ready");
  }

  /** The page said something on this channel. */
  hear(payload: unknown): void {
    if (payload === "mcp-server-ready") return void this.#connect();
    if (payload === "mcp-server-stopped") return this.stop();
    if (!isObject(payload) || payload.jsonrpc !== "2.0") return;
    const { id, method, params } = payload;
    if (typeof method === "string") {
      const given = isObject(params) ? params : {};
      if (id === undefined) this.#notice(method, given);
      else void this.#oblige(id, method, given);
      return;
    }
    const waiting = typeof id === "string" ? this.#waiting.get(id) : undefined;
    if (!waiting) return;
    this.#waiting.delete(id as string);
    const { error } = payload;
    if (isObject(error)) waiting.reject(new Error(String(error.message ?? "the page's server failed")));
    else waiting.resolve(payload.result);
  }

  async call(name: string, args: Json, running: Running): Promise<Result> {
    try {
      const result = await this.#request("tools/call", { name, arguments: args }, running);
      if (isObject(result)) return { success: true, payload: result };
      return { success: false, payload: "the tool returned an invalid result" };
    } catch (error) {
      return failure(error);
    }
  }

  /** The server is gone, or we are. */
  stop(): void {
    clearInterval(this.#poll);
    this.#isOpen = false;
    for (const it of this.#waiting.values()) it.reject(new Error("the page's server stopped"));
    this.#waiting.clear();
    this.#know([]);
  }

  async #connect(): Promise<void> {
    if (this.#isConnecting) return;
    this.#isConnecting = true;
    try {
      const answer = await this.#request("initialize", {
        protocolVersion: MCP_REVISION,
        capabilities: { elicitation: {} },
        clientInfo: { name: "toolgrove-extension", version: "0.1.0" },
      });
      this.#isOpen = true;
      this.around.post({ jsonrpc: "2.0", method: "notifications/initialized" });
      clearInterval(this.#poll);
      if (!saysWhenToolsChange(answer)) this.#poll = setInterval(() => void this.#list(), POLL_EVERY);
      await this.#list();
    } catch (error) {
      console.info(`toolgrove: the page's server did not answer: ${String(error)}`);
    } finally {
      this.#isConnecting = false;
    }
  }

  async #list(): Promise<void> {
    this.#isStale = true;
    if (this.#isListing) return;
    this.#isListing = true;
    try {
      while (this.#isStale && this.#isOpen) {
        this.#isStale = false;
        this.#know(await this.#allPages());
      }
    } catch (error) {
      console.info(`toolgrove: the page's server did not list its tools: ${String(error)}`);
    } finally {
      this.#isListing = false;
    }
  }

  async #allPages(): Promise<Tool[]> {
    const tools: Tool[] = [];
    let cursor: unknown;
    for (let page = 0; page < MAX_PAGES; page++) {
      const answer = await this.#request("tools/list", cursor === undefined ? {} : { cursor });
      const listed = isObject(answer) && Array.isArray(answer.tools) ? answer.tools : [];
      tools.push(...listed.map(toTool).filter((it) => it !== undefined));
      cursor = isObject(answer) ? answer.nextCursor : undefined;
      if (typeof cursor !== "string") break;
    }
    return tools;
  }

  #know(tools: Tool[]): void {
    this.tools = tools;
    this.around.changed();
  }

  #notice(method: string, params: Json): void {
    if (method === "notifications/tools/list_changed") void this.#list();
    if (method !== "notifications/progress") return;
    const { progressToken, progress, total, message } = params;
    const running = this.#waiting.get(progressToken as string)?.running;
    if (typeof progress !== "number") return;
    running?.progress({
      progress,
      ...(typeof total === "number" && { total }),
      ...(typeof message === "string" && { message }),
    });
  }

  /** Servers may ask, too. */
  async #oblige(id: unknown, method: string, params: Json): Promise<void> {
    const reply = (answer: Json) => this.around.post({ jsonrpc: "2.0", id, ...answer });
    if (method === "ping") return reply({ result: {} });
    if (method !== "elicitation/create") {
      return reply({ error: { code: -32601, message: `\`${method}\` is not known here` } });
    }
    const schema = isObject(params.requestedSchema) ? params.requestedSchema : undefined;
    const answer = await this.around.ask(String(params.message ?? ""), schema);
    reply("error" in answer ? { error: answer.error } : { result: answer });
  }

  /** Calls have their clock in the hub; what we ask for ourselves is given up after a while. */
  #request(method: string, params: Json, running?: Running): Promise<unknown> {
    const id = `${this.#prefix}-${++this.#count}`;
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, ...(running && { running }) });
      const giveUp = (why: string) => {
        this.#waiting.delete(id);
        reject(new Error(why));
      };
      if (!running) {
        setTimeout(() => giveUp("no answer"), PATIENCE);
        return;
      }
      const cancel = () => {
        const reason = String(running.signal.reason);
        const params = { requestId: id, reason };
        this.around.post({ jsonrpc: "2.0", method: "notifications/cancelled", params });
        giveUp("the call was cancelled");
      };
      running.signal.addEventListener("abort", cancel, { once: true });
    });
    const meta = running ? { _meta: { progressToken: id } } : {};
    this.around.post({ jsonrpc: "2.0", id, method, params: { ...params, ...meta } });
    return answer;
  }
}

function saysWhenToolsChange(answer: unknown): boolean {
  const capabilities = isObject(answer) && isObject(answer.capabilities) ? answer.capabilities : {};
  return isObject(capabilities.tools) && capabilities.tools.listChanged === true;
}
