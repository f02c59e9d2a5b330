/** One stream of events keeps the cache true. */

import type { QueryClient } from "@tanstack/react-query";
import { dropInstance, putCall, putInstance, putLog } from "./patch";
import { instancesQuery, registryQuery, statsQuery, statusQuery } from "./queries";
import type { HubStatus, LiveEvent } from "./types";

/** What pages that are loaded later do with events of their own. */
export const hearers = new Set<(client: QueryClient, event: LiveEvent) => void>();

/** The key under which it stands whether a page asks its person something. */
export const ASKING = ["asking"];

export type Live = "connecting" | "live" | "reconnecting";

type Ears = { onState: (state: Live) => void; onEvent?: (event: LiveEvent) => void };

/** Opens the stream; when it drops it is opened again and the lists are read anew. Gives back how to close it. */
export function listen(client: QueryClient, { onState, onEvent }: Ears, url = "/api/events"): () => void {
  let wasLost = false;
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wait = 1000;
  const hear = (message: MessageEvent<string>) => {
    const event = JSON.parse(message.data) as LiveEvent;
    apply(client, event);
    onEvent?.(event);
  };
  const open = () => {
    source = new EventSource(url);
    source.onopen = () => {
      onState("live");
      wait = 1000;
      if (wasLost) readAgain(client);
      wasLost = false;
    };
    source.onerror = () => {
      onState("reconnecting");
      wasLost = true;
      // A refused stream is not tried again by the browser.
      if (source?.readyState === EventSource.CLOSED) {
        timer = setTimeout(open, wait);
        wait = Math.min(wait * 2, 30_000);
      }
    };
    source.onmessage = hear;
    source.addEventListener("lag", hear);
  };
  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}

/** What an event does to the cache. One of a newer hub does nothing. */
export function apply(client: QueryClient, event: LiveEvent): void {
  switch (event.type) {
    case "instance":
      putInstance(client, event.instance);
      tick(client, "server");
      return;
    case "instance_removed":
      dropInstance(client, event.id);
      return;
    case "registry":
      client.setQueryData(registryQuery.queryKey, event.rows);
      return;
    case "list":
      void client.invalidateQueries({
        queryKey: ["instance"],
        predicate: (it) => (it.state.data as { id?: string } | undefined)?.id === event.instance,
      });
      void client.invalidateQueries({ queryKey: ["offer", event.instance] });
      return;
    case "log":
      putLog(client, event.instance, event.from, event.lines);
      return;
    case "call":
      putCall(client, event.call);
      tick(client, "call");
      return;
    case "client":
      tick(client, "client");
      return;
    case "tabs":
      void client.invalidateQueries({ queryKey: ["tabs"] });
      // The shell fetches what draws them when there are some.
      client.setQueryData(ASKING, event.questions > 0);
      return;
    case "lag":
      readAgain(client);
      return;
    default:
      for (const hear of hearers) hear(client, event);
  }
}

/** A step of the beginning was taken. */
function tick(client: QueryClient, step: keyof HubStatus["checklist"]): void {
  client.setQueryData(statusQuery.queryKey, (status) => {
    if (!status || status.checklist[step]) return status;
    return { ...status, checklist: { ...status.checklist, [step]: true } };
  });
}

/** What may have been missed. */
function readAgain(client: QueryClient): void {
  for (const queryKey of [
    instancesQuery.queryKey,
    registryQuery.queryKey,
    statsQuery().queryKey,
    ["calls"],
    ["chats"],
    ["chat"],
    ["instance"],
    ["instance-log"],
  ]) {
    void client.invalidateQueries({ queryKey });
  }
}
