/** Puts answers and events into the cache, so that nothing has to be asked again. */

import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import { callsQuery, instancesQuery, isHollow, logQuery, registryQuery, serversQuery } from "./queries";
import type { CallRecord, Instance, RegistryEntry, Server, WholeInstance } from "./types";

/** An instance that was added or changed, whole or as a row. */
export function putInstance(client: QueryClient, instance: Instance | WholeInstance): void {
  const row = rowOf(instance);
  client.setQueryData(instancesQuery.queryKey, (list) =>
    list && !isHollow(row) ? upsert(list, row, (it) => it.slug) : list,
  );
  client.setQueriesData<WholeInstance>({ queryKey: ["instance"] }, (whole) => {
    if (whole?.id !== instance.id) return whole;
    // An answer that does not say which era it found leaves the known one.
    const era = ("era" in instance && instance.era) || whole.era;
    return { ...whole, ...instance, era };
  });
  if ("tool_list" in instance) {
    for (const word of [instance.id, instance.slug]) {
      client.setQueryData<WholeInstance>(["instance", word], (whole) => whole ?? instance);
    }
  }
  client.setQueryData(registryQuery.queryKey, (list) => list?.map((it) => withInstance(it, row)));
}

function rowOf(instance: Instance | WholeInstance): Instance {
  if (!("tool_list" in instance)) return instance;
  const { era: _, tool_list: __, credentials: ___, auth_config_id: ____, ...row } = instance;
  return row;
}

function withInstance(entry: RegistryEntry, row: Instance): RegistryEntry {
  if (entry.id !== row.server_id) return entry;
  const { id, slug, name, enabled, status, health } = row;
  const failure = health.level === "bad" ? health.summary : null;
  const instances = upsert(entry.instances, { id, slug, name, enabled, status, failure }, (it) => it.id);
  const used = entry.instance?.id ?? id;
  const instance = instances.find((it) => it.id === used) ?? null;
  return {
    ...entry,
    instances,
    instance,
    status: instance?.status ?? null,
    tools: used === id ? row.tools - row.tools_off : entry.tools,
  };
}

/** As many lines as the hub keeps. */
const LOG_LINES = 500;

/** New lines of a log that is looked at. They are numbered, so none is shown twice and a gap is seen. */
export function putLog(client: QueryClient, id: string, from: number, lines: string[]): void {
  const { queryKey } = logQuery(id);
  const known = client.getQueryData(queryKey);
  if (!known) return;
  const have = known.from + known.lines.length;
  if (from > have) return void client.invalidateQueries({ queryKey });
  const all = [...known.lines, ...lines.slice(have - from)];
  const kept = all.slice(-LOG_LINES);
  client.setQueryData(queryKey, { ...known, lines: kept, from: known.from + all.length - kept.length });
}

export function dropInstance(client: QueryClient, id: string): void {
  client.setQueryData(instancesQuery.queryKey, (list) => list?.filter((it) => it.id !== id));
  client.removeQueries({
    queryKey: ["instance"],
    predicate: (it) => (it.state.data as Instance | undefined)?.id === id,
  });
  client.setQueryData(registryQuery.queryKey, (list) =>
    list?.map((entry) => {
      const instances = entry.instances.filter((it) => it.id !== id);
      const instance = entry.instance?.id === id ? (instances[0] ?? null) : entry.instance;
      return { ...entry, instances, instance, status: instance?.status ?? null };
    }),
  );
}

export function putServer(client: QueryClient, server: Server): void {
  client.setQueryData(serversQuery.queryKey, (list) => list && upsert(list, server, (it) => it.name));
}

export function dropServer(client: QueryClient, id: string): void {
  client.setQueryData(serversQuery.queryKey, (list) => list?.filter((it) => it.id !== id));
  client.setQueryData(registryQuery.queryKey, (list) => list?.filter((it) => it.id !== id));
  client.setQueryData(instancesQuery.queryKey, (list) => list?.filter((it) => it.server_id !== id));
}

/** As many calls as are kept of what happened while the page was open. */
const LIVE_CALLS = 1000;

/** A call that began or ended: into the list of all calls, and into what happened while the page was open. */
export function putCall(client: QueryClient, call: CallRecord): void {
  client.setQueryData<InfiniteData<CallRecord[], unknown>>(callsQuery().queryKey, (data) => {
    const [first, ...rest] = data?.pages ?? [];
    if (!data || !first || rest.some((page) => page.some((it) => it.id === call.id))) return data;
    return { ...data, pages: [onTop(first, call), ...rest] };
  });
  client.setQueryData<CallRecord[]>(["calls-live"], (list) => onTop(list ?? [], call).slice(0, LIVE_CALLS));
}

function onTop(list: CallRecord[], call: CallRecord): CallRecord[] {
  const at = list.findIndex((it) => it.id === call.id);
  return at >= 0 ? list.with(at, call) : [call, ...list];
}

export function upsert<T extends { id: string }>(list: T[], item: T, order: (it: T) => string): T[] {
  const at = list.findIndex((it) => it.id === item.id);
  if (at >= 0) return list.with(at, item);
  return [...list, item].sort((a, b) => order(a).localeCompare(order(b), "en"));
}
