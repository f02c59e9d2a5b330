/**
 * The content script: finds the tools of a page in three places, reports them as one list, and calls them. Isolated
 * world, `document_end`; no timers on the way of a call, because hidden tabs are made to wait for those.
 */

import { isObject } from "./check";
import { Link } from "./link";
import type { Confirmation, Json, Problem, Sources, ToPage } from "./protocol";
import { Channel } from "./sources/channel";
import { merge } from "./sources/merge";
import { type Host, nativeSource } from "./sources/native";
import { listen, PAGE_CHANNEL, post, SHIM_CHANNEL } from "./sources/post";
import type { PageSource } from "./sources/source";

const FIRST_REPORT = 50;
const REPORT = 500;
const LOOK_AGAIN = [2_000, 10_000];

type Running = { controller: AbortController; source: PageSource };

class PageProxy {
  isRunning = true;
  readonly #channels = [
    { channel: PAGE_CHANNEL, client: this.#client("channel", PAGE_CHANNEL) },
    { channel: SHIM_CHANNEL, client: this.#client("shim", SHIM_CHANNEL) },
  ];
  readonly #calls = new Map<string, Running>();
  readonly #questions = new Map<string, (answer: Confirmation | { error: Problem }) => void>();
  readonly #leave: (() => void)[] = [];
  #native: PageSource | undefined;
  #sources: Sources = {};
  #sent: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  readonly #link = new Link({
    hear: (message) => this.#hear(message),
    isWanted: () => this.isRunning && this.#offer().tools.length > 0,
    opened: () => this.#report(),
    closed: () => {
      this.#sent = undefined;
      for (const { controller } of this.#calls.values()) controller.abort("the hub is gone");
      this.#calls.clear();
      for (const answer of this.#questions.values()) answer({ action: "cancel" });
      this.#questions.clear();
    },
    ended: () => this.stop(),
  });

  start(): void {
    for (const { channel, client } of this.#channels) {
      this.#leave.push(listen(channel, "server-to-client", (it) => client.hear(it)));
    }
    const onShow = ({ persisted }: PageTransitionEvent) => persisted && this.#link.revive();
    const look = () => this.#look();
    window.addEventListener("pageshow", onShow);
    window.addEventListener("load", look);
    this.#leave.push(() => window.removeEventListener("pageshow", onShow));
    this.#leave.push(() => window.removeEventListener("load", look));
    for (const later of LOOK_AGAIN) {
      const timer = setTimeout(look, later);
      this.#leave.push(() => clearTimeout(timer));
    }
    this.#look();
  }

  stop(): void {
    if (!this.isRunning) return;
    this.isRunning = false;
    clearTimeout(this.#timer);
    for (const leave of this.#leave) leave();
    this.#link.close();
    this.#native?.stop();
    for (const { client } of this.#channels) client.stop();
  }

  #client(source: "channel" | "shim", channel: string): Channel {
    return new Channel(source, {
      post: (payload) => post(channel, "client-to-server", payload),
      changed: () => this.#changed(),
      ask: (message, schema) => this.#ask(message, schema),
    });
  }

  #look(): void {
    if (!this.isRunning) return;
    this.#native ??= nativeSource(window as unknown as Host, () => this.#changed());
    for (const { client } of this.#channels) client.look();
  }

  #offer() {
    const sources = this.#channels.map(({ client }) => client as PageSource);
    return merge(this.#native ? [this.#native, ...sources] : sources);
  }

  /** First lists are partial and pages change in bursts, so a report waits a little; not where it would be long. */
  #changed(): void {
    if (!this.isRunning) return;
    const isFirst = this.#sent === undefined;
    if (isFirst && document.hidden) return this.#tell();
    this.#timer ??= setTimeout(() => this.#tell(), isFirst ? FIRST_REPORT : REPORT);
  }

  #tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#sent !== undefined) this.#report();
    else if (this.#offer().tools.length > 0) this.#link.open();
  }

  /** Tells the worker, if there is something new to tell. */
  #report(): void {
    const { tools, sources } = this.#offer();
    const text = JSON.stringify([tools, sources]);
    if (text === this.#sent) return;
    const type = this.#sent === undefined ? "register-tools" : "tools-updated";
    const relayTabId = relayId();
    this.#sources = sources;
    if (this.#link.send({ type, tools, sources, ...(relayTabId && { relayTabId }) })) this.#sent = text;
  }

  #hear(message: ToPage): void {
    switch (message.type) {
      case "execute-tool":
        return void this.#execute(message.requestId, message.toolName, message.args);
      case "cancel":
        return this.#calls.get(message.requestId)?.controller.abort(message.reason ?? "cancelled");
      case "confirm-result": {
        this.#questions.get(message.confirmId)?.(message.data);
        this.#questions.delete(message.confirmId);
        return;
      }
      default:
        console.info("toolgrove: the worker sent something that means nothing here");
    }
  }

  async #execute(requestId: string, toolName: string, args: unknown): Promise<void> {
    const source = this.#sourceOf(toolName);
    if (!source) {
      const payload = `this page has no tool \`${toolName}\``;
      this.#link.send({ type: "tool-result", requestId, data: { success: false, payload } });
      return;
    }
    const controller = new AbortController();
    this.#calls.set(requestId, { controller, source });
    this.#link.send({ type: "tool-started", requestId });
    const data = await source.call(toolName, isObject(args) ? args : {}, {
      requestId,
      signal: controller.signal,
      progress: (step) => void this.#link.send({ type: "progress", requestId, ...step }),
    });
    if (this.#calls.delete(requestId) && !controller.signal.aborted) {
      this.#link.send({ type: "tool-result", requestId, data });
    }
  }

  #sourceOf(toolName: string): PageSource | undefined {
    const source = Object.hasOwn(this.#sources, toolName) ? this.#sources[toolName] : undefined;
    if (source === "native") return this.#native;
    return this.#channels.find(({ client }) => client.source === source)?.client;
  }

  /** Only a call may ask; of several that run, the page does not say which, so it is the youngest. */
  #ask(message: string, requestedSchema: Json | undefined): Promise<Confirmation | { error: Problem }> {
    const running = [...this.#calls].filter(([, it]) => it.source.source === "channel").map(([id]) => id);
    const requestId = running.at(-1);
    const error = { code: -32600, message: "no call is running that could ask" };
    if (!requestId) return Promise.resolve({ error });
    const confirmId = crypto.randomUUID();
    return new Promise((answer) => {
      this.#questions.set(confirmId, answer);
      const question = { confirmId, requestId, message, ...(requestedSchema && { requestedSchema }) };
      if (!this.#link.send({ type: "confirm-action", ...question })) answer({ error });
    });
  }
}

/** The id under which the page may also have connected to a relay, so that the hub sees one tab and not two. */
function relayId(): string | undefined {
  try {
    return sessionStorage.getItem("__webmcp_relay_tab_id") ?? undefined;
  } catch {
    return undefined;
  }
}

declare global {
  var toolgroveProxy: PageProxy | undefined;
  interface Document {
    readonly prerendering?: boolean;
  }
}

// Injected twice, it runs once. What an update of the extension left behind lives in another world and stops by itself.
if (!globalThis.toolgroveProxy?.isRunning) {
  const proxy = new PageProxy();
  globalThis.toolgroveProxy = proxy;
  // A page that the browser loads ahead is nobody's tab yet.
  if (!document.prerendering) proxy.start();
  else document.addEventListener("prerenderingchange", () => proxy.start(), { once: true });
}
