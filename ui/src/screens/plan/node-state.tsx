/** How far a node is: a sign and its word. */

import { Check, CircleAlert, CircleDashed, CircleX, LoaderCircle } from "lucide-react";
import type { NodeState } from "@/api/types.gen";
import { cn } from "@/lib/class";

const LOOK: Record<NodeState, [typeof Check, string, string]> = {
  waiting: [CircleDashed, "text-muted", "Waiting"],
  running: [LoaderCircle, "animate-spin text-info", "Running"],
  done: [Check, "text-ok", "Done"],
  failed: [CircleAlert, "text-bad", "Failed"],
  skipped: [CircleX, "text-muted", "Skipped"],
};

export const stateWord = (state: NodeState) => LOOK[state][2];

export function StateMark({ state }: { state: NodeState }) {
  const [Icon, colour, word] = LOOK[state];
  return (
    <span className="flex shrink-0 items-center gap-1 text-sm">
      <Icon aria-hidden className={cn("size-3.5", colour)} />
      {word}
    </span>
  );
}
