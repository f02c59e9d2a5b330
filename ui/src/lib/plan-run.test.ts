import { expect, test } from "vitest";
import { BEGUN, cutOff, heard, over, summary } from "./plan-run";

const PROBLEM = { status: 502, code: "server.unreachable", detail: "gone" };
const RUN = [
  { node: "a", state: "waiting" as const },
  { node: "b", state: "waiting" as const },
  { node: "c", state: "waiting" as const },
  { node: "a", state: "running" as const, call_id: "1" },
  { node: "a", state: "running" as const, delta: "half way", call_id: "1" },
];

test("what a node says while it runs is a note, and what it gives at its end is its text", () => {
  const running = RUN.reduce(heard, BEGUN);
  expect(running.nodes.a).toEqual({ state: "running", text: "", note: "half way", callId: "1" });
  const done = heard(running, { node: "a", state: "done", delta: "42", call_id: "1" });
  expect(done.nodes.a).toEqual({ state: "done", text: "42", callId: "1" });
});

test("a failure has its words, and the end says how every node ended", () => {
  const failed = heard(RUN.reduce(heard, BEGUN), { node: "a", state: "failed", delta: "no", error: PROBLEM });
  const whole = over(failed, { nodes: { a: "failed", b: "skipped", c: "done" } });
  expect(whole.nodes.a).toMatchObject({ state: "failed", text: "no", problem: PROBLEM });
  expect(whole.state).toBe("done");
  expect(summary(whole)).toBe("1 done, 1 failed, 1 skipped");
});

test("a run that nobody hears of any more leaves nothing running", () => {
  const lost = cutOff(RUN.reduce(heard, BEGUN), "lost");
  expect(Object.values(lost.nodes).map((it) => it.state)).toEqual(["skipped", "skipped", "skipped"]);
});
