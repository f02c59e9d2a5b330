/** The doctor's way to a server, step by step. */

import { Check, X } from "lucide-react";
import type { Step } from "@/api/types";
import { cn } from "@/lib/class";
import { duration } from "@/lib/format";
import { Foreign } from "./foreign";

export function Steps({ steps, className }: { steps: Step[]; className?: string }) {
  if (steps.length === 0) return null;
  return (
    <ol className={cn("space-y-1", className)}>
      {steps.map((it, index) => (
        <li key={`${index} ${it.name}`} className="flex animate-in items-baseline gap-2">
          {it.ok ? (
            <Check aria-label="done" className="size-3.5 shrink-0 translate-y-0.5 text-ok" />
          ) : (
            <X aria-label="failed" className="size-3.5 shrink-0 translate-y-0.5 text-bad" />
          )}
          <span className="w-16 shrink-0 font-medium">{it.name}</span>
          <Foreign text={it.detail} className={cn("min-w-0 flex-1", it.ok ? "text-muted" : "text-bad")} />
          {it.ms > 0 && <span className="shrink-0 text-muted text-sm tabular-nums">{duration(it.ms)}</span>}
        </li>
      ))}
    </ol>
  );
}
