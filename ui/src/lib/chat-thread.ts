/** A chat as the page holds it: what is stored, what is on its way, and what the stream says about it. */

import type { Chat, ChatEvent, ChatMessage, ChatQuestion, MessageContent, Problem } from "@/api/types.gen";
import type { CallProgress, Phase } from "./call-state";

/** What does not belong to a role is absent. */
export type Content = Partial<MessageContent> & { text: string };
export type Message = Omit<ChatMessage, "content"> & {
  content: Content;
  /** What the page knew it by before the hub did, so that nothing jumps when the real one comes. */
  key?: string;
};

export type Thread = {
  chat: Chat | undefined;
  messages: Message[];
  asks: ChatQuestion[];
  /** How far a running tool is, by message. */
  progress: Record<string, CallProgress>;
  stream: "closed" | "open" | "lost";
  /** Why an edit was refused; what it would have replaced is there again. */
  problem?: Problem;
};

export const NO_THREAD: Thread = { chat: undefined, messages: [], asks: [], progress: {}, stream: "closed" };

const DRAFT = "draft:";
export const isDraft = (message: Message) => message.id.startsWith(DRAFT);
export const isRunning = (message: Message) => message.content.state === "running";

/** What an event of a turn does. Events that come twice do nothing the second time. */
export function fold(thread: Thread, event: ChatEvent): Thread {
  switch (event.type) {
    case "chat":
      return { ...thread, chat: event.chat };
    case "message":
      return put(thread, event.message as Message);
    case "cut":
      return cut(thread, event.from);
    case "delta":
      return answered(
        change(thread, event.message, (it) => ({ ...it, text: it.text + event.delta })),
        event.message,
      );
    case "use":
      return change(thread, event.message, (it) => ({
        ...it,
        uses: [...(it.uses ?? []), { id: event.use_id, name: event.name, arguments: "" }],
      }));
    case "arguments":
      return change(thread, event.message, (it) => ({
        ...it,
        uses: (it.uses ?? []).map((use) =>
          use.id === event.use_id ? { ...use, arguments: use.arguments + event.delta } : use,
        ),
      }));
    case "progress": {
      const { progress, total, note } = event;
      const now = {
        progress,
        ...(total === null ? {} : { total }),
        ...(note === null ? {} : { message: note }),
      };
      return answered({ ...thread, progress: { ...thread.progress, [event.message]: now } }, event.message);
    }
    case "ask":
      return thread.asks.some((it) => it.id === event.ask.id)
        ? thread
        : { ...thread, asks: [...thread.asks, event.ask] };
    case "asked":
      return { ...thread, asks: thread.asks.filter((it) => it.id !== event.ask) };
    case "done":
      return {
        ...thread,
        chat: thread.chat && { ...thread.chat, running: false },
        messages: thread.messages.filter((it) => !isDraft(it)),
        asks: [],
        progress: {},
        stream: "closed",
      };
    default:
      return thread;
  }
}

/** A message as it stands now: in the place of the one with its id, else of the draft that waits for it, else last. */
function put(thread: Thread, message: Message): Thread {
  const { messages } = thread;
  const known = messages.findIndex((it) => it.id === message.id);
  const isUser = message.role === "user";
  const at = known >= 0 ? known : messages.findIndex((it) => isDraft(it) && (it.role === "user") === isUser);
  const key = messages[at]?.key;
  const next = key === undefined ? message : { ...message, key };
  const after = { ...thread, messages: at >= 0 ? messages.with(at, next) : [...messages, next] };
  return isRunning(message) ? after : ended(after, message.id);
}

function ended(thread: Thread, id: string): Thread {
  if (!(id in thread.progress) && !thread.asks.some((it) => it.message === id)) return thread;
  const { [id]: _, ...progress } = thread.progress;
  return { ...thread, progress, asks: thread.asks.filter((it) => it.message !== id) };
}

/** A tool that goes on has been allowed to. */
function answered(thread: Thread, id: string): Thread {
  const isOpen = thread.asks.some((it) => it.message === id && it.permission);
  return isOpen
    ? { ...thread, asks: thread.asks.filter((it) => it.message !== id || !it.permission) }
    : thread;
}

function change(thread: Thread, id: string, how: (content: Content) => Content): Thread {
  const at = thread.messages.findLastIndex((it) => it.id === id);
  const message = thread.messages[at];
  if (!message) return thread;
  return { ...thread, messages: thread.messages.with(at, { ...message, content: how(message.content) }) };
}

function cut(thread: Thread, from: string): Thread {
  const at = thread.messages.findIndex((it) => it.id === from);
  return at < 0 ? thread : { ...thread, messages: thread.messages.slice(0, at) };
}

export type Said = { text: string; images?: MessageContent["images"]; edit?: string };

/** What is shown at once: what was said, and the place of what will come of it. */
export function said(thread: Thread, { text, images, edit }: Said, now: number, calls: boolean): Thread {
  const base = edit === undefined ? thread : cut(thread, edit);
  const draft = (role: Message["role"], content: Content): Message => {
    const id = `${DRAFT}${role} ${now}`;
    return { id, key: id, chat_id: thread.chat?.id ?? "", role, content, call_id: null, created_at: now };
  };
  return {
    ...base,
    messages: [
      ...base.messages.filter((it) => !isDraft(it)),
      draft("user", { text, ...(images?.length ? { images } : {}) }),
      draft(calls ? "tool" : "assistant", { text: "", state: "running" }),
    ],
    asks: [],
    progress: {},
    stream: "open",
    problem: undefined,
  };
}

/** The hub did not take it: what was to come says why. An edit is undone. */
export function refused(before: Thread, thread: Thread, edit: string | undefined, problem: Problem): Thread {
  if (edit !== undefined) return { ...before, stream: "closed", problem };
  return {
    ...thread,
    stream: "closed",
    messages: thread.messages.map((it) =>
      isDraft(it) && it.role !== "user"
        ? { ...it, role: "assistant", content: { text: "", state: "failed", error: problem } }
        : it,
    ),
  };
}

/** What the thread draws, in order. Tools that an answer asked for stand with it. */
export type Row =
  | { kind: "user"; key: string; message: Message }
  | { kind: "answer"; key: string; message: Message }
  | { kind: "tool"; key: string; message: Message }
  /** A tool that a model is still asking for. */
  | { kind: "use"; key: string; name: string; text: string; owner: Message };

export function rowsOf(messages: readonly Message[]): Row[] {
  const rows: Row[] = [];
  const taken = new Set<string>();
  for (const [at, message] of messages.entries()) {
    const key = message.key ?? message.id;
    if (message.role === "user") rows.push({ kind: "user", key, message });
    else if (message.role === "tool" && !taken.has(message.id)) rows.push({ kind: "tool", key, message });
    else if (message.role === "assistant") {
      const uses = message.content.uses ?? [];
      // An answer that says nothing and only calls needs no line of its own.
      if (message.content.text !== "" || message.content.error || uses.length === 0)
        rows.push({ kind: "answer", key, message });
      const tools = uses.length > 0 ? toolsAfter(messages, at) : [];
      for (const [place, use] of uses.entries()) {
        const tool = tools.find((it) => it.content.use_id === use.id && !taken.has(it.id));
        const its = `${key} ${place}`;
        if (!tool) rows.push({ kind: "use", key: its, name: use.name, text: use.arguments, owner: message });
        else {
          taken.add(tool.id);
          rows.push({ kind: "tool", key: its, message: tool });
        }
      }
    }
  }
  return rows;
}

/** Models count their uses anew with every answer, so only what follows this one is its own. */
function toolsAfter(messages: readonly Message[], at: number): Message[] {
  const found: Message[] = [];
  for (const it of messages.slice(at + 1)) {
    if (it.role === "assistant" || it.role === "user") break;
    if (it.role === "tool") found.push(it);
  }
  return found;
}

/** How a tool's card is. */
export function phaseOf(content: Content, ask: ChatQuestion | undefined): Phase {
  switch (content.state) {
    case "running":
      return ask ? (ask.permission ? "waiting" : "needs-input") : "running";
    case "stopped":
      return "cancelled";
    case "failed":
      return content.error?.code === "call.denied" ? "denied" : "failed";
    default:
      return "done";
  }
}

/** The tool's own name, where the public one begins as those of its server do. */
export function bareName(tool: string, server: string | undefined): string {
  const prefix = [`mcp__${server}__`, `mcp_${server}__`].find((it) => tool.startsWith(it));
  return server !== undefined && prefix ? tool.slice(prefix.length) : tool;
}
