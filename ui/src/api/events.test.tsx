import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { call, entry, instance, STATUS, whole } from "@/test-kit";
import { apply } from "./events";
import { callsQuery, instanceQuery, instancesQuery, logQuery, registryQuery, statusQuery } from "./queries";

function client() {
  const cache = new QueryClient();
  cache.setQueryData(instancesQuery.queryKey, [instance("a"), instance("c")]);
  cache.setQueryData(registryQuery.queryKey, [entry("a"), entry("c")]);
  cache.setQueryData(instanceQuery("a").queryKey, whole("a", []));
  cache.setQueryData(callsQuery().queryKey, { pages: [[call("1", { started_at: 1 })]], pageParams: [""] });
  return cache;
}

const slugs = (cache: QueryClient) => cache.getQueryData(instancesQuery.queryKey)?.map((it) => it.slug);

test("a changed instance changes its row, its page and its entry in the registry", () => {
  const cache = client();
  apply(cache, {
    type: "instance",
    instance: instance("a", { status: "needs_reauth", tools: 9, tools_off: 2 }),
  });
  expect(cache.getQueryData(instancesQuery.queryKey)?.[0]?.status).toBe("needs_reauth");
  expect(cache.getQueryData(instanceQuery("a").queryKey)?.status).toBe("needs_reauth");
  expect(cache.getQueryData(registryQuery.queryKey)?.[0]).toMatchObject({ status: "needs_reauth", tools: 7 });
});

test("a new instance stands at its place, a removed one is gone everywhere", () => {
  const cache = client();
  apply(cache, { type: "instance", instance: instance("b") });
  expect(slugs(cache)).toEqual(["a", "b", "c"]);
  apply(cache, { type: "instance_removed", id: "i-a" });
  expect(slugs(cache)).toEqual(["b", "c"]);
  expect(cache.getQueryData(instanceQuery("a").queryKey)).toBeUndefined();
  expect(cache.getQueryData(registryQuery.queryKey)?.[0]).toMatchObject({ instance: null, status: null });
});

test("a call appears when it begins and changes in its place when it ends", () => {
  const cache = client();
  apply(cache, { type: "call", call: call("2", { outcome: null, started_at: 2 }) });
  apply(cache, { type: "call", call: call("3", { outcome: null, started_at: 3 }) });
  apply(cache, { type: "call", call: call("2", { outcome: "failed", started_at: 2 }) });
  const shown = cache
    .getQueryData(callsQuery().queryKey)
    ?.pages.flat()
    .map((it) => `${it.id} ${it.outcome}`);
  expect(shown).toEqual(["3 null", "2 failed", "1 done"]);
});

test("the first steps tick themselves", () => {
  const cache = client();
  cache.setQueryData(statusQuery.queryKey, STATUS);
  apply(cache, { type: "client", name: "cursor" });
  apply(cache, { type: "call", call: call("9") });
  expect(cache.getQueryData(statusQuery.queryKey)?.checklist).toEqual({
    server: true,
    client: true,
    call: true,
  });
});

test("an event of a newer hub does nothing", () => {
  const cache = client();
  apply(cache, { type: "tea-time" } as never);
  expect(slugs(cache)).toEqual(["a", "c"]);
});

test("lines of a log that is looked at come once each, and a gap is asked for", () => {
  const cache = client();
  const { queryKey } = logQuery("i-a");
  const log = (from: number, ...lines: string[]) =>
    apply(cache, { type: "log", instance: "i-a", from, lines });
  log(0, "nobody looks");
  expect(cache.getQueryData(queryKey)).toBeUndefined();
  cache.setQueryData(queryKey, { slug: "a", from: 3, lines: ["three", "four"] });
  log(4, "four", "five");
  expect(cache.getQueryData(queryKey)).toEqual({ slug: "a", from: 3, lines: ["three", "four", "five"] });
  log(2, "two", "three");
  expect(cache.getQueryData(queryKey)?.lines).toEqual(["three", "four", "five"]);
  log(6, ...Array.from({ length: 500 }, (_, it) => String(it)));
  expect(cache.getQueryData(queryKey)).toMatchObject({ from: 6 });
  expect(cache.getQueryState(queryKey)?.isInvalidated).toBe(false);
  log(600, "after a gap");
  expect(cache.getQueryState(queryKey)?.isInvalidated).toBe(true);
});
