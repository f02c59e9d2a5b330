/** Activity: what happened, how long it took, and why. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Pause, Play } from "lucide-react";
import { useDeferredValue, useMemo, useRef, useState } from "react";
import { asProblem } from "@/api/http";
import { callsQuery, instancesQuery, statsQuery, statusQuery } from "@/api/queries";
import type { CallRecord } from "@/api/types";
import { moveFocus, useCommand } from "@/app/commands";
import { matcher, parseFilter, withTerm } from "@/lib/activity-filter";
import { filtered, merged, wantedOf } from "@/lib/calls";
import { plural } from "@/lib/format";
import { Empty } from "@/parts/empty";
import { Page } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";
import { CallTable } from "./call-table";
import { FilterBar } from "./filter-bar";
import { Histogram } from "./histogram";
import { ServerPictures } from "./server-pictures";

const route = getRouteApi("/activity");
const NONE: CallRecord[] = [];

export function ActivityScreen() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const set = (change: Partial<typeof search>) =>
    void navigate({ search: { ...search, ...change }, replace: true });
  const line = useDeferredValue(search.q ?? "");
  const from = numberOf(search.from);
  const to = numberOf(search.to);
  const filter = useMemo(() => parseFilter(line), [line]);
  const wanted = useMemo(() => wantedOf(filter, from, to), [filter, from, to]);
  const calls = useInfiniteQuery(callsQuery(wanted));
  const stats = useQuery(statsQuery());
  const { data: instances } = useQuery(instancesQuery);
  const { data: status } = useQuery(statusQuery);
  const live = useQuery<CallRecord[]>({
    queryKey: ["calls-live"],
    queryFn: () => NONE,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  const [frozen, setFrozen] = useState<CallRecord[]>();
  const list = useRef<HTMLDivElement>(null);
  useCommand("next", () => moveFocus(list.current, 1));
  useCommand("previous", () => moveFocus(list.current, -1));

  const slugs = useMemo(() => new Map(instances?.map((it) => [it.id, it.slug])), [instances]);
  const slugOf = (id: string | null) => (id ? (slugs.get(id) ?? "") : "");
  const heard = frozen ?? live.data ?? NONE;
  const read = calls.data?.pages;
  const shown = useMemo(() => {
    const passes = matcher(filter);
    const me = ["me", ...(status ? [status.me.name] : [])];
    const nameOf = (id: string | null) => (id ? (slugs.get(id) ?? "") : "");
    const inTime = (it: CallRecord) =>
      (from === undefined || it.started_at >= from) && (to === undefined || it.started_at < to);
    return merged(heard, (read ?? []).flat()).filter((it) => inTime(it) && passes(filtered(it, nameOf, me)));
  }, [filter, heard, read, slugs, status, from, to]);
  const missed = frozen
    ? (live.data ?? NONE).filter((it) => !frozen.some((known) => known.id === it.id)).length
    : 0;
  const isEmpty = calls.isSuccess && shown.length === 0;

  return (
    <Page
      wide
      title="Activity"
      about="Every call, from every client."
      actions={
        <Button
          aria-pressed={frozen === undefined}
          onClick={() => setFrozen(frozen ? undefined : (live.data ?? NONE))}
        >
          {frozen ? <Play /> : <Pause />}
          {frozen ? `Go on${missed > 0 ? `, ${plural(missed, "new call")}` : ""}` : "Live"}
        </Button>
      }
    >
      <div className="space-y-4">
        {stats.data && stats.data.servers.length > 0 && (
          <>
            <Histogram
              stats={stats.data}
              from={from}
              to={to}
              onChange={(range) => set({ from: range?.[0].toString(), to: range?.[1].toString() })}
            />
            <ServerPictures
              stats={stats.data}
              onChoose={(slug) => set({ q: withTerm(search.q ?? "", "server", slug) })}
            />
          </>
        )}
        <FilterBar
          line={search.q ?? ""}
          problems={filter.problems}
          onChange={(q) => set({ q: q || undefined })}
        />
        {calls.isError && (
          <ProblemView problem={asProblem(calls.error)}>
            <Button size="sm" onClick={() => calls.refetch()}>
              Try again
            </Button>
          </ProblemView>
        )}
        <div ref={list} className="@container overflow-hidden rounded-lg border bg-surface">
          {calls.isPending && <SkeletonRows rows={8} />}
          {shown.length > 0 && (
            <CallTable
              calls={shown}
              slugOf={slugOf}
              filter={search.q}
              end={
                <EndOfList
                  hasMore={calls.hasNextPage}
                  isBusy={calls.isFetchingNextPage}
                  onMore={() => void calls.fetchNextPage()}
                />
              }
            />
          )}
          {isEmpty &&
            (line === "" && from === undefined ? (
              <Empty sentence="No calls yet">
                <Button asChild variant="primary">
                  <Link to="/mcp">Run a tool</Link>
                </Button>
                <Button asChild variant="link">
                  <Link to="/">Connect a client</Link>
                </Button>
              </Empty>
            ) : (
              <Empty sentence="No call is like that.">
                <Button onClick={() => void navigate({ search: {} })}>Show all</Button>
              </Empty>
            ))}
        </div>
      </div>
    </Page>
  );
}

function numberOf(text: string | undefined): number | undefined {
  const value = Number(text);
  return text !== undefined && Number.isFinite(value) ? value : undefined;
}

function EndOfList({ hasMore, isBusy, onMore }: { hasMore: boolean; isBusy: boolean; onMore: () => void }) {
  if (!hasMore)
    return (
      <p className="px-4 py-2 text-muted text-sm">Older calls are no longer kept, or there were none.</p>
    );
  return (
    <div className="p-2">
      <Button size="sm" disabled={isBusy} onClick={onMore}>
        {isBusy ? "Loading…" : "Older calls"}
      </Button>
    </div>
  );
}
