/** Calls, newest first. A real table of which only what is seen is drawn. */

import { useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type MouseEvent, memo, type ReactNode, useRef } from "react";
import type { CallRecord } from "@/api/types";
import { useNow } from "@/app/now";
import { endTone, endWord, type Tone } from "@/lib/calls";
import { cn } from "@/lib/class";
import { bytes, clock, duration } from "@/lib/format";
import { Foreign } from "@/parts/foreign";

const ROW = 34;
const COLOUR: Record<Tone, string> = {
  ok: "text-ok",
  bad: "text-bad",
  muted: "text-muted",
  info: "text-info",
};
const BAR: Record<Tone, string> = { ok: "bg-ok", bad: "bg-bad", muted: "bg-muted", info: "bg-info" };

type Props = {
  calls: CallRecord[];
  slugOf: (id: string | null) => string;
  filter: string | undefined;
  end: ReactNode;
};

export function CallTable({ calls, slugOf, filter, end }: Props) {
  const scroll = useRef<HTMLDivElement>(null);
  const now = useNow();
  const virtual = useVirtualizer({
    count: calls.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  // Rows come and go by the hundred while one scrolls, so their links are plain, and one ear is for all of them.
  const navigate = useNavigate();
  const follow = (event: MouseEvent) => {
    const link = (event.target as Element).closest<HTMLElement>("a[data-call]");
    const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (!link?.dataset.call || !isPlain) return;
    event.preventDefault();
    const search = filter ? { q: filter } : {};
    void navigate({ to: "/activity/$call", params: { call: link.dataset.call }, search });
  };
  const items = virtual.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Enter on a link is a click
    <section
      ref={scroll}
      aria-label="Calls"
      onClick={follow}
      className="thin-scroll max-h-[max(24rem,calc(100dvh-19rem))] overflow-y-auto"
    >
      <table aria-rowcount={calls.length + 1} className="w-full table-fixed border-collapse text-left">
        <thead className="sticky top-0 z-10 bg-sunken text-muted text-sm">
          <tr>
            <th className="w-22 py-2 pl-4 font-medium">Time</th>
            <th className="py-2 font-medium">Tool</th>
            <th className="hidden w-32 py-2 font-medium @3xl:table-cell">Client</th>
            <th className="hidden w-16 py-2 font-medium @4xl:table-cell">Door</th>
            <th className="w-22 py-2 font-medium">End</th>
            <th className="hidden w-40 py-2 font-medium @xl:table-cell">Duration</th>
            <th className="hidden w-20 py-2 pr-4 text-right font-medium @2xl:table-cell">Size</th>
          </tr>
        </thead>
        <tbody>
          {before > 0 && (
            <tr aria-hidden style={{ height: before }}>
              <td />
            </tr>
          )}
          {items.map((item) => {
            const call = calls[item.index];
            return (
              call && (
                <CallRow
                  key={call.id}
                  call={call}
                  index={item.index}
                  slug={slugOf(call.instance_id)}
                  now={now}
                  filter={filter}
                />
              )
            );
          })}
          {after > 0 && (
            <tr aria-hidden style={{ height: after }}>
              <td />
            </tr>
          )}
        </tbody>
      </table>
      {end}
    </section>
  );
}

type RowProps = { call: CallRecord; index: number; slug: string; now: number; filter: string | undefined };

const CallRow = memo(function CallRow({ call, index, slug, now, filter }: RowProps) {
  const tone = endTone(call.outcome);
  return (
    <tr aria-rowindex={index + 2} style={{ height: ROW }} className="border-t hover:bg-hover">
      <td
        className="truncate pl-4 text-muted text-sm tabular-nums"
        title={new Date(call.started_at).toISOString()}
      >
        {clock(call.started_at, now)}
      </td>
      <td className="truncate pr-3" style={{ paddingLeft: call.depth > 0 ? call.depth * 12 : undefined }}>
        <a
          data-item
          data-call={call.id}
          href={`/ui/activity/${call.id}${filter ? `?q=${encodeURIComponent(filter)}` : ""}`}
          className="rounded-sm font-mono text-sm hover:underline"
        >
          <Foreign text={call.tool} plain />
        </a>
        {call.tab && (
          <span className="ml-2 text-muted text-xs">
            <Foreign text={call.tab.domain} plain />, tab {call.tab.id}
          </span>
        )}
        {slug === "" && call.instance_id !== null && <span className="ml-2 text-muted text-xs">removed</span>}
      </td>
      <td className="hidden truncate pr-3 text-muted @3xl:table-cell">
        <Foreign text={call.client ?? "–"} plain />
      </td>
      <td className="hidden truncate pr-3 text-muted @4xl:table-cell">{call.door}</td>
      <td className={cn("truncate pr-3 text-sm", COLOUR[tone])} title={call.error_code ?? undefined}>
        {endWord(call.outcome)}
      </td>
      <td className="hidden pr-3 @xl:table-cell">
        <span className="flex items-center gap-2">
          <span className="w-16 shrink-0 text-right text-sm tabular-nums">
            {call.outcome === null ? "…" : duration(call.ms)}
          </span>
          <span className="h-1.5 flex-1 overflow-hidden rounded-full bg-hover">
            <span
              className={cn("block h-full origin-left rounded-full", BAR[tone])}
              style={{ transform: `scaleX(${share(call.ms)})` }}
            />
          </span>
        </span>
      </td>
      <td className="hidden truncate pr-4 text-right text-muted text-sm tabular-nums @2xl:table-cell">
        {bytes(call.bytes)}
      </td>
    </tr>
  );
});

/** From 1 ms to a minute, so that both can be told from their neighbours. */
function share(ms: number): number {
  return Math.min(Math.max(Math.log10(Math.max(ms, 1)) / Math.log10(60_000), 0.02), 1);
}
