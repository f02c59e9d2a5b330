/** The edge of the sidebar: drag it, or move it with the arrow keys. */

import type { KeyboardEvent, PointerEvent } from "react";

type Props = { value: number; min: number; max: number; onChange: (value: number) => void; label: string };

export function Splitter({ value, min, max, onChange, label }: Props) {
  const set = (next: number) => onChange(Math.min(Math.max(Math.round(next), min), max));
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
    if (step !== undefined) set(value + step);
    else if (event.key === "Home") set(min);
    else if (event.key === "End") set(max);
    else return;
    event.preventDefault();
  };
  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    const start = event.clientX - value;
    const target = event.currentTarget;
    target.setPointerCapture(event.pointerId);
    target.onpointermove = (move) => set(move.clientX - start);
    target.onpointerup = () => {
      target.onpointermove = null;
    };
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that moves is no <hr>
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={value}
      aria-valuemin={min}
      aria-valuemax={max}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onPointerDown={onPointerDown}
      className="absolute inset-y-0 -right-1 z-10 w-2 cursor-col-resize touch-none transition-colors hover:bg-focus/30 focus-visible:bg-focus/40"
    />
  );
}
