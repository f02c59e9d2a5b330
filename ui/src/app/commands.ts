/** Who answers a shortcut: whatever is on screen and asked last. */

import { useEffect, useRef } from "react";
import type { Command } from "@/lib/keys";

const takers = new Map<Command, (() => void)[]>();

/** True when somebody took it. */
export function runCommand(command: Command): boolean {
  const last = takers.get(command)?.at(-1);
  last?.();
  return last !== undefined;
}

/** Answers a shortcut while the component is on screen. */
export function useCommand(command: Command, run: () => void, enabled = true): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    if (!enabled) return;
    const taker = () => latest.current();
    takers.set(command, [...(takers.get(command) ?? []), taker]);
    return () => {
      takers.set(
        command,
        (takers.get(command) ?? []).filter((it) => it !== taker),
      );
    };
  }, [command, enabled]);
}

/** Moves focus among the items of a list: `j`, `k` and the arrows. */
export function moveFocus(container: HTMLElement | null, step: 1 | -1): void {
  const items = [...(container?.querySelectorAll<HTMLElement>("[data-item]") ?? [])];
  const at = items.findIndex((it) => it === document.activeElement || it.contains(document.activeElement));
  const next =
    at < 0 ? (step > 0 ? 0 : items.length - 1) : Math.min(Math.max(at + step, 0), items.length - 1);
  items[next]?.focus();
}
