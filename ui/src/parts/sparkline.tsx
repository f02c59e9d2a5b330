/** A day in a few pixels: how often, and how often wrong. */

import type { Slot } from "@/api/types";
import { plural } from "@/lib/format";

export function Sparkline({ slots, label }: { slots: Slot[]; label: string }) {
  const bars = paired(slots);
  const most = Math.max(...bars.map((it) => it.calls), 1);
  const width = 3;
  const calls = bars.reduce((sum, it) => sum + it.calls, 0);
  const failed = bars.reduce((sum, it) => sum + it.failed, 0);
  const title = `${label}: ${plural(calls, "call")}${failed > 0 ? `, ${plural(failed, "error")}` : ""} in 24 h`;
  return (
    <svg
      role="img"
      aria-label={title}
      width={bars.length * (width + 1)}
      height="20"
      className="block text-muted"
    >
      <title>{title}</title>
      {bars.map((it, index) => {
        const height = it.calls === 0 ? 1 : Math.max(2, (it.calls / most) * 18);
        const bad = it.calls === 0 ? 0 : (it.failed / it.calls) * height;
        return (
          <g key={index} transform={`translate(${index * (width + 1)} 0)`}>
            <rect
              y={20 - height}
              width={width}
              height={height}
              fill="currentColor"
              opacity={it.calls === 0 ? 0.35 : 0.7}
            />
            {bad > 0 && (
              <rect y={20 - Math.max(bad, 2)} width={width} height={Math.max(bad, 2)} className="fill-bad" />
            )}
          </g>
        );
      })}
    </svg>
  );
}

/** A day in 24 bars, whatever it was counted in. */
function paired(slots: Slot[]): Slot[] {
  const size = Math.max(1, Math.ceil(slots.length / 24));
  return Array.from({ length: Math.ceil(slots.length / size) }, (_, at) => {
    const part = slots.slice(at * size, (at + 1) * size);
    return { calls: sum(part, "calls"), failed: sum(part, "failed") };
  });
}

const sum = (slots: Slot[], key: keyof Slot) => slots.reduce((total, it) => total + it[key], 0);
