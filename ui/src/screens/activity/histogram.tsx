/** The last day: how many calls when, and how many of them failed. A stretch of it can be chosen. */

import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import type { CallStats } from "@/api/types";
import { clock, plural } from "@/lib/format";
import { Button } from "@/ui/button";
import { Select } from "@/ui/input";

type Range = [number, number];
type Props = {
  stats: CallStats;
  from: number | undefined;
  to: number | undefined;
  onChange: (range: Range | undefined) => void;
};

const HEIGHT = 56;
const MINUTE = 60_000;
const SPANS: [string, number][] = [
  ["Last 15 minutes", 15 * MINUTE],
  ["Last hour", 60 * MINUTE],
  ["Last 6 hours", 360 * MINUTE],
];

export function Histogram({ stats, from, to, onChange }: Props) {
  const { slots, since, until, step_ms } = stats;
  const [drag, setDrag] = useState<Range>();
  const frame = useRef<SVGSVGElement>(null);
  const most = Math.max(...slots.map((it) => it.calls), 1);
  const chosen = drag ?? (from !== undefined && to !== undefined ? ([from, to] as Range) : undefined);
  const timeAt = (event: PointerEvent) => {
    const { left, width } = frame.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
    const share = Math.min(Math.max((event.clientX - left) / width, 0), 1);
    return since + share * (until - since);
  };
  const snapped = ([a, b]: Range): Range => {
    const [low, high] = a < b ? [a, b] : [b, a];
    const first = Math.floor((low - since) / step_ms);
    return [
      since + first * step_ms,
      since + Math.max(Math.ceil((high - since) / step_ms), first + 1) * step_ms,
    ];
  };
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const [a, b] = chosen ?? snapped([until - step_ms, until]);
    onChange(
      event.shiftKey
        ? snapped([a, Math.max(b + step * step_ms, a + step_ms)])
        : [a + step * step_ms, b + step * step_ms],
    );
  };
  const x = (at: number) => ((at - since) / (until - since)) * 100;
  const calls = slots.reduce((sum, it) => sum + it.calls, 0);
  const now = Date.now();
  return (
    <div className="rounded-lg border bg-surface px-4 py-3">
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <h2 className="min-w-0 flex-1 font-semibold">
          {plural(calls, "call")} in 24 h
          {chosen && (
            <span className="ml-2 font-normal text-muted">
              {clock(chosen[0], now)} to {clock(chosen[1], now)}
            </span>
          )}
        </h2>
        <Select
          aria-label="Time"
          value=""
          onChange={(event) =>
            event.target.value !== "" &&
            onChange([Date.now() - Number(event.target.value), Date.now() + MINUTE])
          }
        >
          <option value="">{chosen ? "Chosen time" : "Any time"}</option>
          {SPANS.map(([name, ms]) => (
            <option key={ms} value={ms}>
              {name}
            </option>
          ))}
        </Select>
        {chosen && (
          <Button size="sm" variant="ghost" onClick={() => onChange(undefined)}>
            Any time
          </Button>
        )}
      </div>
      <div
        role="slider"
        tabIndex={0}
        aria-label="Chosen time. Arrow keys move it, with Shift they stretch it"
        aria-valuemin={0}
        aria-valuemax={slots.length}
        aria-valuenow={chosen ? Math.round((chosen[0] - since) / step_ms) : slots.length}
        aria-valuetext={chosen ? `${clock(chosen[0], now)} to ${clock(chosen[1], now)}` : "any time"}
        onKeyDown={move}
        className="rounded-sm"
      >
        <svg
          ref={frame}
          viewBox={`0 0 100 ${HEIGHT}`}
          preserveAspectRatio="none"
          aria-hidden="true"
          className="block h-14 w-full cursor-crosshair touch-none"
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            setDrag([timeAt(event), timeAt(event)]);
          }}
          onPointerMove={(event) => drag && setDrag([drag[0], timeAt(event)])}
          onPointerUp={() => {
            if (drag) onChange(snapped(drag));
            setDrag(undefined);
          }}
          onPointerCancel={() => setDrag(undefined)}
        >
          <rect y={HEIGHT - 0.5} width="100" height="0.5" className="fill-line" />
          {chosen && (
            <rect
              x={x(chosen[0])}
              width={Math.max(x(chosen[1]) - x(chosen[0]), 0.3)}
              height={HEIGHT}
              className="fill-accent-soft"
            />
          )}
          {slots.map((it, index) => {
            const width = 100 / slots.length;
            const height = (it.calls / most) * (HEIGHT - 4);
            const failed = it.calls === 0 ? 0 : (it.failed / it.calls) * height;
            return (
              <g key={index} transform={`translate(${index * width} 0)`}>
                <rect
                  x={width * 0.12}
                  y={HEIGHT - height}
                  width={width * 0.76}
                  height={height}
                  className="fill-accent"
                  opacity="0.75"
                />
                <rect
                  x={width * 0.12}
                  y={HEIGHT - failed}
                  width={width * 0.76}
                  height={failed}
                  className="fill-bad"
                />
              </g>
            );
          })}
        </svg>
      </div>
    </div>
  );
}
