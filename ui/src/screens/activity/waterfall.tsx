/** Where the time of a call went, as bars on one scale. */

import { Link } from "@tanstack/react-router";
import type { CallDetail } from "@/api/types";
import { cn } from "@/lib/class";
import { duration } from "@/lib/format";
import { bars } from "@/lib/waterfall";
import { Foreign } from "@/parts/foreign";

const COLOUR: Record<string, string> = {
  policy: "bg-muted",
  queue: "bg-warn",
  link: "bg-info",
  server: "bg-accent",
};

export function Waterfall({ call }: { call: CallDetail }) {
  const nested = call.nested.map((it) => ({
    id: it.id,
    tool: it.tool,
    start_ms: it.started_at - call.started_at,
    ms: it.ms,
    outcome: it.outcome ?? "running",
    depth: it.depth - call.depth,
  }));
  const ticks = call.ticks.map((it) => ({
    at_ms: it.at_ms,
    text: it.progress === null ? "asked a question" : `progress ${it.progress}`,
  }));
  const rows = bars(call.ms, call.parts, ticks, nested);
  if (rows.length === 0) return <p className="text-muted">The call ended before anything was done.</p>;
  return (
    <section aria-label="Where the time went" className="rounded-lg border bg-surface p-3">
      <ol className="space-y-1">
        {rows.map((it) => (
          <li
            key={it.key}
            className="grid grid-cols-[8.5rem_minmax(0,1fr)_4.5rem] items-center gap-3 max-sm:grid-cols-[minmax(0,1fr)_4.5rem]"
          >
            <span className="truncate" style={{ paddingLeft: it.depth * 12 }}>
              {it.kind === "call" ? (
                <Link
                  to="/activity/$call"
                  params={{ call: it.key }}
                  className="font-mono text-sm hover:underline"
                >
                  <Foreign text={it.label} plain />
                </Link>
              ) : (
                it.label
              )}
            </span>
            <span className="relative h-4 rounded-sm bg-sunken max-sm:order-3 max-sm:col-span-2">
              <span
                className={cn("absolute inset-y-0 rounded-sm", COLOUR[it.detail] ?? "bg-info")}
                style={{ left: `${it.left * 100}%`, width: `max(2px, ${it.width * 100}%)` }}
              />
              {it.ticks.map((tick, index) => (
                <span
                  key={index}
                  title={tick.text}
                  className="absolute inset-y-0 w-0.5 bg-surface"
                  style={{ left: `${tick.left * 100}%` }}
                />
              ))}
            </span>
            <span className="text-right text-muted text-sm tabular-nums">{duration(it.ms)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
