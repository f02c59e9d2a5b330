/** The pages that offer tools, each behind a port, and the calls that run in them. */

import { siteOf } from "./address";
import { readConfirmation, readFromPage, soundSources, soundTools } from "./check";
import type { FromHub, FromPage, Json, Problem, Sources, TabFacts, ToHub, Tool, ToPage } from "./protocol";

/** The part of a `chrome.runtime.Port` that is needed here. */
export type PagePort = { postMessage: (message: ToPage) => void; disconnect: () => void };

/** What the browser vouches for when a content script connects. */
export type Sender = { tabId: number; documentId: string; url: string };

export type Page = Sender & {
  port: PagePort;
  tools: Tool[];
  sources: Sources;
  relayTabId?: string;
  isRegistered: boolean;
  /** The report that waits for its turn: a page may change at most five times a second. */
  report: ReturnType<typeof setTimeout> | undefined;
  reportedAt: number;
};

type Around = {
  /** Says whether it was sent. */
  send: (message: ToHub) => boolean;
  /** A tab as it is now; nothing if it is gone or not shared. */
  tab: (tabId: number) => Promise<TabFacts | undefined>;
  /** The tools of some page are others now. */
  changed: () => void;
};

const REPORT_EVERY = 200;
/** What one call may say in a second, and one page may ask at once: a page must not drown the others. */
const MAX_PROGRESS = 50;
const MAX_QUESTIONS = 4;

type Call = { page: Page; second: number; steps: number };

/** The pages of this browser by tab, and every call and question that is under way in them. */
export class Pages {
  readonly #pages = new Map<number, Page>();
  readonly #calls = new Map<string, Call>();
  readonly #questions = new Map<string, { page: Page; confirmId: string; requestId: string }>();

  constructor(private readonly around: Around) {}

  /** Every page that has a port, with tools or without. */
  get all(): Page[] {
    return [...this.#pages.values()];
  }

  /** A content script has connected. An older one of the same tab is over. */
  add(port: PagePort, sender: Sender): Page {
    const old = this.#pages.get(sender.tabId);
    if (old) this.#end(old);
    const page: Page = {
      ...sender,
      port,
      tools: [],
      sources: {},
      isRegistered: false,
      report: undefined,
      reportedAt: 0,
    };
    this.#pages.set(sender.tabId, page);
    return page;
  }

  /** The port of a page is closed: it was left, closed or put aside. */
  remove(page: Page): void {
    if (this.#pages.get(page.tabId) === page) this.#end(page);
  }

  /** A content script said something. What is malformed is logged, and the port lives on. */
  hear(page: Page, value: unknown): void {
    const message = readFromPage(value);
    if (!message) return console.warn(`toolgrove: tab ${page.tabId} sent something that is no message`);
    if (this.#pages.get(page.tabId) !== page) return;
    switch (message.type) {
      case "register-tools":
      case "tools-updated":
        return this.#learn(page, message);
      case "confirm-action":
        return this.#ask(page, message);
    }
    const call = this.#calls.get(message.requestId);
    if (call?.page !== page) {
      return console.info(`toolgrove: tab ${page.tabId} speaks of a call that it was not asked for`);
    }
    const { requestId } = message;
    if (message.type === "tool-started") {
      this.around.send({ method: "browser/toolStarted", params: { requestId } });
    } else if (message.type === "progress") {
      if (isFlood(call)) return;
      const { progress, total, message: text } = message;
      const params = { progressToken: requestId, progress, ...(total !== undefined && { total }) };
      this.around.send({
        method: "notifications/progress",
        params: { ...params, ...(text !== undefined && { message: text }) },
      });
    } else {
      this.#calls.delete(requestId);
      if (!this.around.send({ id: requestId, result: message.data })) {
        const payload = "the result is larger than the hub takes";
        this.around.send({ id: requestId, result: { success: false, payload } });
      }
    }
  }

  /** The hub wants a tool called. */
  execute(id: string, params: Json): void {
    const { toolName, args, extensions } = params as {
      toolName?: unknown;
      args?: unknown;
      extensions?: Json;
    };
    if (typeof toolName !== "string" || this.#calls.has(id)) {
      return this.#refuse(id, { code: -32602, message: "`toolName` is missing, or the id is in use" });
    }
    const page = this.#pages.get(extensions?.tabId as number);
    if (!page) return this.#refuse(id, notFound("TabNotFound"));
    const { documentId } = extensions ?? {};
    if (documentId !== undefined && documentId !== page.documentId) {
      return this.#refuse(id, notFound("Navigated"));
    }
    this.#calls.set(id, { page, second: 0, steps: 0 });
    try {
      page.port.postMessage({ type: "execute-tool", requestId: id, toolName, args: (args ?? {}) as Json });
    } catch {
      // The browser has closed the port and not told us yet.
      this.#calls.delete(id);
      this.#refuse(id, notFound("TabNotFound"));
    }
  }

  /** The hub no longer wants an answer, so it gets none. */
  cancel(requestId: unknown, reason: unknown): void {
    const page = this.#calls.get(requestId as string)?.page;
    if (!page) return;
    this.#calls.delete(requestId as string);
    const because = typeof reason === "string" ? { reason } : {};
    post(page, { type: "cancel", requestId: requestId as string, ...because });
  }

  /** The hub answered a question of a page. */
  answer({ id, result, error }: Extract<FromHub, { kind: "response" }>): void {
    const question = this.#questions.get(id);
    if (!question) return;
    this.#questions.delete(id);
    const data = error ? { error } : (readConfirmation(result) ?? { action: "cancel" as const });
    post(question.page, { type: "confirm-result", confirmId: question.confirmId, data });
  }

  /** Tells a hub that has just come everything. */
  async registerAll(): Promise<void> {
    for (const page of this.all) {
      page.isRegistered = false;
      if (page.tools.length > 0) await this.#report(page);
    }
  }

  /** The hub is gone: nobody waits for the answers any more. */
  cancelAll(): void {
    for (const requestId of [...this.#calls.keys()]) this.cancel(requestId, "the hub is gone");
    this.#questions.clear();
  }

  /** The browser gave a tab another id. */
  replace(tabId: number, oldTabId: number): void {
    const page = this.#pages.get(oldTabId);
    if (!page) return;
    this.#pages.delete(oldTabId);
    page.tabId = tabId;
    this.#pages.set(tabId, page);
  }

  /** A person no longer shares these pages. */
  stop(isStopped: (page: Page) => boolean): void {
    for (const page of this.all.filter(isStopped)) {
      post(page, { type: "stop" });
      this.#end(page);
      page.port.disconnect();
    }
  }

  /** Address or title of a page have changed. */
  refresh(tabId: number): void {
    const page = this.#pages.get(tabId);
    if (page?.isRegistered) this.#reportSoon(page);
  }

  #learn(page: Page, message: Extract<FromPage, { type: "register-tools" | "tools-updated" }>): void {
    const { tools, dropped } = soundTools(message.tools);
    for (const it of dropped) console.warn(`toolgrove: tab ${page.tabId}: ${it}`);
    page.tools = tools;
    page.sources = soundSources(message.sources, tools);
    if (message.relayTabId) page.relayTabId = message.relayTabId;
    this.around.changed();
    if (tools.length > 0 || page.isRegistered) this.#reportSoon(page);
  }

  #reportSoon(page: Page): void {
    const wait = page.reportedAt + REPORT_EVERY - Date.now();
    if (wait <= 0) void this.#report(page);
    else page.report ??= setTimeout(() => void this.#report(page), wait);
  }

  async #report(page: Page): Promise<void> {
    clearTimeout(page.report);
    page.report = undefined;
    page.reportedAt = Date.now();
    const tab = await this.around.tab(page.tabId);
    if (!tab || this.#pages.get(page.tabId) !== page) return;
    const { tools, sources, documentId, relayTabId } = page;
    const { windowId, active, incognito, title = "" } = tab;
    const sent = this.around.send({
      method: page.isRegistered ? "browser/updateTools" : "browser/registerTools",
      params: {
        tools,
        // A tab may already be on its way to another site.
        tabUrl: tab.url && siteOf(tab.url) === siteOf(page.url) ? tab.url : page.url,
        extensions: {
          ...{ tabId: page.tabId, windowId, documentId, active, incognito, title, sources },
          ...(relayTabId && { relayTabId }),
        },
      },
    });
    if (sent) page.isRegistered = true;
    else
      console.info(`toolgrove: tab ${page.tabId} was not reported: no hub, or a list larger than it takes`);
  }

  #ask(page: Page, message: Extract<FromPage, { type: "confirm-action" }>): void {
    const { confirmId, requestId, message: text, requestedSchema } = message;
    const id = crypto.randomUUID();
    const isRunning = this.#calls.get(requestId)?.page === page;
    const open = [...this.#questions.values()].filter((it) => it.page === page).length;
    const params = {
      message: text,
      ...(requestedSchema && { requestedSchema }),
      extensions: { tabId: page.tabId, requestId },
    };
    const isAllowed = isRunning && open < MAX_QUESTIONS;
    if (!isAllowed || !this.around.send({ id, method: "browser/elicitConfirmation", params })) {
      const text = isRunning ? "too many questions at once" : "no call is running that could ask";
      const error = { code: -32600, message: text };
      return post(page, { type: "confirm-result", confirmId, data: { error } });
    }
    this.#questions.set(id, { page, confirmId, requestId });
  }

  #end(page: Page): void {
    clearTimeout(page.report);
    this.#pages.delete(page.tabId);
    for (const [id, it] of this.#calls) {
      if (it.page !== page) continue;
      this.#calls.delete(id);
      this.#refuse(id, notFound("TabClosed"));
    }
    for (const [id, it] of this.#questions) if (it.page === page) this.#questions.delete(id);
    if (page.isRegistered) {
      const { tabId, documentId } = page;
      this.around.send({ method: "browser/tabDisconnected", params: { extensions: { tabId, documentId } } });
    }
    this.around.changed();
  }

  #refuse(id: string, error: Problem): void {
    this.around.send({ id, error });
  }
}

function isFlood(call: Call): boolean {
  const second = Math.floor(Date.now() / 1000);
  if (call.second !== second) Object.assign(call, { second, steps: 0 });
  return ++call.steps > MAX_PROGRESS;
}

/** The error for a tab that cannot answer. Only one that was closed may have begun. */
function notFound(reason: "TabNotFound" | "TabClosed" | "Navigated"): Problem {
  return { code: -32001, message: "TabNotFound", data: { reason, delivered: reason === "TabClosed" } };
}

function post(page: Page, message: ToPage): void {
  try {
    page.port.postMessage(message);
  } catch {
    // The port is closed; its page is removed as soon as the browser says so.
  }
}
