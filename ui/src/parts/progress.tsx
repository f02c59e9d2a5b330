/** A call that runs: how far, how long, and how to stop it. */

import { LoaderCircle } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { announcement, type CallState, hasEnded } from "@/lib/call-state";
import { duration } from "@/lib/format";
import { Foreign } from "@/parts/foreign";
import { Button } from "@/ui/button";

export function Progress({ state, onCancel }: { state: CallState; onCancel?: () => void }) {
  const elapsed = useElapsed(state.startedAt);
  const { progress } = state;
  const share = progress?.total ? Math.min(progress.progress / progress.total, 1) : undefined;
  return (
    <div className="space-y-2 rounded-md border bg-sunken p-3">
      <div className="flex items-center gap-2">
        <LoaderCircle aria-hidden className="size-4 shrink-0 animate-spin text-info" />
        <span className="min-w-0 flex-1">
          {progress?.message ? <Foreign text={progress.message} plain /> : "Running"}
          {progress && (
            <span className="ml-2 text-muted tabular-nums">
              {progress.progress}
              {progress.total ? ` of ${progress.total}` : ""}
            </span>
          )}
        </span>
        <span className="text-muted tabular-nums">{duration(elapsed)}</span>
        {onCancel && (
          <Button size="sm" onClick={onCancel}>
            Cancel
          </Button>
        )}
      </div>
      <div
        role="progressbar"
        aria-label="Progress"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={share === undefined ? undefined : Math.round(share * 100)}
        className="h-1.5 overflow-hidden rounded-full bg-line"
      >
        {share === undefined ? (
          <div className="h-full w-1/3 animate-pulse rounded-full bg-info" />
        ) : (
          <div
            className="h-full origin-left rounded-full bg-info transition-transform duration-150"
            style={{ transform: `scaleX(${share})` }}
          />
        )}
      </div>
    </div>
  );
}

function useElapsed(since: number | undefined): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 100);
    return () => clearInterval(timer);
  }, []);
  return since === undefined ? 0 : Math.max(0, now - since);
}

/** Tells a screen reader what matters, progress at most every five seconds. */
export function Announcer({ state, tool }: { state: CallState; tool: string }) {
  const [said, setSaid] = useState<ReturnType<typeof announcement>>();
  const last = useRef(0);
  useEffect(() => {
    const next = announcement(state, tool);
    const isSoon = Date.now() - last.current < 5000 && state.phase === "running" && !hasEnded(state);
    if (!next || isSoon) return;
    last.current = Date.now();
    setSaid(next);
  }, [state, tool]);
  return (
    <>
      <div className="sr-only" role="status">
        {said && !said.urgent ? said.text : ""}
      </div>
      <div className="sr-only" role="alert">
        {said?.urgent ? said.text : ""}
      </div>
    </>
  );
}
