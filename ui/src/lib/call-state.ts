/** The one state that a call's label, icon, shimmer and live region read. */

export type Phase =
  | "drafting"
  | "waiting"
  | "running"
  | "needs-input"
  | "done"
  | "failed"
  | "denied"
  | "cancelled";

export type CallProgress = { progress: number; total?: number; message?: string };

export type CallState = {
  phase: Phase;
  /** Milliseconds of the page's clock. */
  startedAt?: number;
  endedAt?: number;
  progress?: CallProgress;
};

export type CallEvent =
  | { type: "approval-wanted" }
  | { type: "started"; at: number }
  | { type: "progress"; progress: CallProgress }
  | { type: "asked" }
  | { type: "answered" }
  | { type: "ended"; end: "done" | "failed" | "denied" | "cancelled"; at: number };

const ENDS: readonly Phase[] = ["done", "failed", "denied", "cancelled"];

export const hasEnded = (state: CallState) => ENDS.includes(state.phase);

/** Folds events into the state. An end never reopens. */
export function nextState(state: CallState, event: CallEvent): CallState {
  if (hasEnded(state)) return state;
  switch (event.type) {
    case "approval-wanted":
      return { ...state, phase: "waiting" };
    case "started":
      return { ...state, phase: "running", startedAt: state.startedAt ?? event.at };
    case "progress":
      return isBackward(state.progress, event.progress) ? state : { ...state, progress: event.progress };
    case "asked":
      return { ...state, phase: "needs-input" };
    case "answered":
      return { ...state, phase: "running" };
    case "ended":
      return { ...state, phase: event.end, endedAt: event.at };
  }
}

function isBackward(before: CallProgress | undefined, now: CallProgress): boolean {
  return before !== undefined && now.progress < before.progress;
}

/** What a screen reader is told, and how urgently. */
export function announcement(state: CallState, tool: string): { text: string; urgent: boolean } | undefined {
  switch (state.phase) {
    case "waiting":
      return { text: `Approval needed: ${tool}`, urgent: true };
    case "running":
      return { text: state.progress?.message ?? `${tool} is running`, urgent: false };
    case "needs-input":
      return { text: `${tool} asks a question`, urgent: false };
    case "done":
      return { text: `${tool} is done`, urgent: false };
    case "failed":
      return { text: `${tool} failed`, urgent: true };
    case "denied":
      return { text: `${tool} was denied`, urgent: false };
    case "cancelled":
      return { text: `${tool} was cancelled`, urgent: false };
    case "drafting":
      return undefined;
  }
}
