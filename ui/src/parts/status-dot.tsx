/** How something is doing: a dot and a word, never a colour alone. */

import type { Health, Level } from "@/api/types";
import { cn } from "@/lib/class";
import { Sentence } from "./problem";

const COLOUR: Record<Level, string> = {
  ok: "text-ok",
  info: "text-info",
  warn: "text-warn",
  bad: "text-bad",
  off: "text-muted",
};

/** Hollow: nothing runs, and nothing has to. */
const HOLLOW = ["idle", "closed", "disabled", "duplicate"];

export function Dot({ health, className }: { health: Health; className?: string }) {
  const isHollow = HOLLOW.includes(health.state);
  return (
    <svg
      viewBox="0 0 10 10"
      aria-hidden="true"
      className={cn("size-2.5 shrink-0", COLOUR[health.level], className)}
    >
      {health.level === "warn" ? (
        <path d="M5 .8 9.400 8.800H.6Z" fill="currentColor" />
      ) : health.level === "bad" ? (
        <rect x="1" y="1" width="8" height="8" rx="1" fill="currentColor" />
      ) : (
        <circle
          cx="5"
          cy="5"
          r={isHollow ? 3.6 : 4.2}
          fill={isHollow ? "none" : "currentColor"}
          stroke="currentColor"
          strokeWidth={isHollow ? 1.6 : 0}
          className={health.state === "starting" ? "animate-pulse" : ""}
        />
      )}
    </svg>
  );
}

export function StatusLine({ health, className }: { health: Health; className?: string }) {
  return (
    <span className={cn("inline-flex min-w-0 items-start gap-1.5", className)}>
      <Dot health={health} className="mt-1.25" />
      <span
        className={cn(
          "min-w-0 break-words",
          health.level === "bad" || health.level === "warn" ? COLOUR[health.level] : "",
        )}
      >
        <Sentence text={health.summary} />
      </span>
    </span>
  );
}
