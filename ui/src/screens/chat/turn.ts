/** Turns as they are told: a stream patches the thread in the cache, once for each frame, whatever page is open. */

import type { QueryClient } from "@tanstack/react-query";
import { hearers } from "@/api/events";
import { ask, asProblem, post, Refused } from "@/api/http";
import type { LiveEvent } from "@/api/types";
import type { Chat, ChatEvent, Overrides, Problem } from "@/api/types.gen";
import { fold, NO_THREAD, refused, type Said, said, type Thread } from "@/lib/chat-thread";
import { sseEvents } from "@/lib/sse";

/** The chat that is not one yet. */
export const NEW = "new";

export const threadKey = (id: string) => ["chat", id] as const;

/** The streams that are open, by chat, and the last event each has told. */
const open = new Map<string, AbortController>();
const last = new Map<string, string>();

export const isFollowed = (id: string) => open.has(id);

const read = (client: QueryClient, id: string) => client.getQueryData<Thread>(threadKey(id)) ?? NO_THREAD;
const write = (client: QueryClient, id: string, thread: Thread) => client.setQueryData(threadKey(id), thread);

/** What a chat is made with. */
export type Setup = { bud_id?: string; model?: string; mcp_config_overrides?: Overrides };

type Order = {
  id: string | undefined;
  said: Said;
  /** Whether it calls something itself, so that what comes of it is a card. */
  calls: boolean;
  setup: Setup;
  /** The new chat has an id. */
  onBorn: (id: string) => void;
};

/** One request: what was said is shown at once, and the answer patches it. Gives back why it was refused. */
export async function send(client: QueryClient, order: Order): Promise<Problem | undefined> {
  const key = order.id ?? NEW;
  const before = read(client, key);
  write(client, key, said(before, order.said, Date.now(), order.calls));
  const controller = new AbortController();
  open.set(key, controller);
  const { id, setup } = order;
  const path = id === undefined ? "/api/chats" : `/api/chats/${id}/messages`;
  const body = id === undefined ? { ...setup, message: order.said } : order.said;
  try {
    const response = await ask("POST", path, body, "text/event-stream", controller.signal);
    await listen(client, key, response, controller, order.onBorn);
    return undefined;
  } catch (error) {
    open.delete(key);
    const problem = controller.signal.aborted ? STOPPED : withWait(error);
    write(client, key, refused(before, read(client, key), order.said.edit, problem));
    return problem;
  }
}

const NOT_TAKEN: Problem = {
  status: 0,
  code: "hub.gone",
  detail: "the connection ended before the hub had taken it",
};
const STOPPED: Problem = { status: 0, code: "chat.stopped", detail: "stopped before the hub had taken it" };

function withWait(error: unknown): Problem {
  const problem = asProblem(error);
  const wait = error instanceof Refused ? error.retryAfter : undefined;
  return wait === undefined ? problem : { ...problem, hint: `wait ${wait} s, then try again` };
}

/** Hears the turn that runs, or ran last: what was missed, or all of it. */
export async function follow(client: QueryClient, id: string): Promise<void> {
  if (open.has(id)) return;
  const controller = new AbortController();
  open.set(id, controller);
  write(client, id, { ...read(client, id), stream: "open" });
  const after = last.get(id);
  const query = after === undefined ? "" : `?after=${encodeURIComponent(after)}`;
  try {
    const response = await ask(
      "GET",
      `/api/chats/${id}/stream${query}`,
      undefined,
      "text/event-stream",
      controller.signal,
    );
    if (response.status === 204) {
      open.delete(id);
      write(client, id, fold(read(client, id), { type: "done", state: "done" }));
    } else await listen(client, id, response, controller);
  } catch {
    open.delete(id);
    write(client, id, { ...read(client, id), stream: "lost" });
  }
}

async function listen(
  client: QueryClient,
  begun: string,
  response: Response,
  controller: AbortController,
  onBorn?: (id: string) => void,
): Promise<void> {
  let id = begun;
  let waiting: ChatEvent[] = [];
  let isScheduled = false;
  let isOver = false;
  const flush = () => {
    isScheduled = false;
    const events = waiting;
    waiting = [];
    if (events.length > 0) write(client, id, events.reduce(fold, read(client, id)));
  };
  const later = () => {
    if (isScheduled) return;
    isScheduled = true;
    if (document.hidden) setTimeout(flush, 200);
    else requestAnimationFrame(flush);
  };
  try {
    for await (const { data, id: place } of sseEvents(response.body ?? new ReadableStream())) {
      const event = JSON.parse(data) as ChatEvent;
      if (event.type === "chat") {
        flush();
        id = settle(client, id, event.chat, controller, onBorn);
      }
      if (place !== "") last.set(id, place);
      waiting.push(event);
      if (event.type === "done") isOver = true;
      later();
    }
  } catch {
    // A connection that breaks is one that ended too early.
  }
  flush();
  if (open.get(id) === controller) open.delete(id);
  if (!isOver && id === NEW) throw new Refused(NOT_TAKEN);
  if (!isOver) write(client, id, { ...read(client, id), stream: "lost" });
  else putChat(client, read(client, id).chat);
}

/** A chat that was new has an id now: everything moves there. */
function settle(
  client: QueryClient,
  id: string,
  chat: Chat,
  controller: AbortController,
  onBorn?: (id: string) => void,
): string {
  putChat(client, chat);
  if (id !== NEW) return id;
  write(client, chat.id, { ...read(client, NEW), chat });
  open.delete(NEW);
  open.set(chat.id, controller);
  onBorn?.(chat.id);
  client.removeQueries({ queryKey: threadKey(NEW), exact: true });
  return chat.id;
}

/** Last used first. */
export function putChat(client: QueryClient, chat: Chat | undefined): void {
  if (!chat) return;
  client.setQueryData<Chat[]>(["chats"], (list) => list && [chat, ...list.filter((it) => it.id !== chat.id)]);
}

/** What another page, or a program, does with a chat. What is heard here is newer than what is told of it. */
function hear(client: QueryClient, event: LiveEvent): void {
  if (event.type === "chat_removed") forget(client, event.id);
  if (event.type !== "chat") return;
  const { chat } = event;
  putChat(client, chat);
  const thread = client.getQueryData<Thread>(threadKey(chat.id));
  if (!thread || open.has(chat.id) || !isNews(chat, thread.chat)) return;
  write(client, chat.id, { ...thread, chat });
  // Somebody who follows hears the rest; of what is over there is nothing to follow.
  if (!chat.running) void client.invalidateQueries({ queryKey: threadKey(chat.id), exact: true });
}
hearers.add(hear);

const isNews = (chat: Chat, known: Chat | undefined) =>
  known === undefined ||
  chat.updated_at > known.updated_at ||
  (chat.updated_at === known.updated_at && chat.running !== known.running);

/** Ends the turn. One that the hub does not know yet just ends here. */
export async function stop(id: string | undefined): Promise<void> {
  if (id === undefined) open.get(NEW)?.abort();
  else await post(`/api/chats/${id}/stop`);
}

export function forget(client: QueryClient, id: string): void {
  open.get(id)?.abort();
  open.delete(id);
  client.removeQueries({ queryKey: threadKey(id), exact: true });
  client.setQueryData<Chat[]>(["chats"], (list) => list?.filter((it) => it.id !== id));
}

export type Answer = {
  action: "accept" | "decline" | "cancel";
  content?: unknown;
  /** A tool that asks for leave has it for as long as there is the chat. */
  remember?: "chat";
};

/** Answers a question. One that nobody asks any more is gone all the same. */
export async function answer(client: QueryClient, id: string, askId: string, given: Answer): Promise<void> {
  try {
    await post(`/api/chats/${id}/asks/${askId}`, given);
  } catch (error) {
    if (asProblem(error).status !== 404) throw error;
  }
  write(client, id, fold(read(client, id), { type: "asked", ask: askId }));
}
