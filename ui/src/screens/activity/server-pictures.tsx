/** How each server did today, drawn: calls and failures over time, and how long calls took. */

import type { CallStats, ServerCalls } from "@/api/types";
import { duration, plural } from "@/lib/format";
import { Sparkline } from "@/parts/sparkline";

const MOST = 8;

export function ServerPictures({ stats, onChoose }: { stats: CallStats; onChoose: (slug: string) => void }) {
  const shown = stats.servers
    .filter((it): it is ServerCalls & { slug: string } => it.slug !== null && it.calls > 0)
    .slice(0, MOST);
  return (
    <ul
      aria-label="Servers today"
      className="thin-scroll grid grid-cols-[repeat(auto-fill,minmax(15rem,1fr))] gap-2 max-sm:flex max-sm:overflow-x-auto max-sm:[&>li]:w-60 max-sm:[&>li]:shrink-0"
    >
      {shown.map((it) => (
        <li key={it.slug}>
          <button
            type="button"
            onClick={() => onChoose(it.slug)}
            title={`Show calls of ${it.slug}`}
            className="flex w-full items-end gap-3 rounded-lg border bg-surface px-3 py-2 text-left hover:bg-hover"
          >
            <span className="min-w-0 flex-1">
              <span className="block truncate font-medium">{it.slug}</span>
              <Sparkline slots={it.slots} label={it.slug} />
            </span>
            <Latency server={it} edges={stats.latency_ms} />
          </button>
        </li>
      ))}
    </ul>
  );
}

/** One bar for each class of duration; the mark is where nineteen of twenty calls had ended. */
function Latency({ server, edges }: { server: ServerCalls; edges: number[] }) {
  const most = Math.max(...server.latency, 1);
  const width = 4;
  const found = edges.findIndex((it) => server.p95_ms <= it);
  const mark = found < 0 ? edges.length : found;
  const title = `${plural(server.calls, "call")}, ${plural(server.failed, "failure")}; half took at most ${duration(server.p50_ms)}, nineteen of twenty at most ${duration(server.p95_ms)}`;
  return (
    <span className="shrink-0 text-right">
      <svg
        role="img"
        aria-label={title}
        width={server.latency.length * (width + 1)}
        height="22"
        className="block text-info"
      >
        <title>{title}</title>
        {server.latency.map((calls, index) => {
          const height = calls === 0 ? 1 : Math.max(2, (calls / most) * 18);
          return (
            <rect
              key={index}
              x={index * (width + 1)}
              y={22 - height}
              width={width}
              height={height}
              fill="currentColor"
              opacity={calls === 0 ? 0.25 : 0.75}
            />
          );
        })}
        <rect x={mark * (width + 1) + width / 2 - 0.5} width="1" height="22" className="fill-warn" />
      </svg>
      <span className="block text-muted text-xs tabular-nums">{duration(server.p95_ms)}</span>
    </span>
  );
}
