import { expect, test } from "vitest";
import { announcement, type CallEvent, type CallState, nextState } from "./call-state";

const fold = (...events: CallEvent[]) => events.reduce(nextState, { phase: "drafting" } as CallState);

test("a call runs, is asked, is answered and ends", () => {
  const state = fold(
    { type: "started", at: 10 },
    { type: "asked" },
    { type: "answered" },
    { type: "ended", end: "done", at: 60 },
  );
  expect(state).toEqual({ phase: "done", startedAt: 10, endedAt: 60 });
});

test("a late progress event cannot reopen a finished call", () => {
  const done = fold({ type: "started", at: 0 }, { type: "ended", end: "cancelled", at: 1 });
  expect(nextState(done, { type: "progress", progress: { progress: 1 } })).toBe(done);
  expect(nextState(done, { type: "ended", end: "done", at: 2 })).toBe(done);
});

test("progress that goes backwards is not shown", () => {
  const half: CallEvent = { type: "progress", progress: { progress: 5, total: 10 } };
  const less: CallEvent = { type: "progress", progress: { progress: 3, total: 10 } };
  expect(fold({ type: "started", at: 0 }, half, less).progress?.progress).toBe(5);
});

test("only approvals and failures interrupt a screen reader", () => {
  const urgent = (
    ["waiting", "running", "needs-input", "done", "failed", "denied", "cancelled"] as const
  ).filter((phase) => announcement({ phase }, "create issue")?.urgent);
  expect(urgent).toEqual(["waiting", "failed"]);
});
