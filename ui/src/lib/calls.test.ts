import { expect, test } from "vitest";
import type { CallRecord } from "@/api/types";
import { parseFilter } from "./activity-filter";
import { merged, wantedOf } from "./calls";

test.each([
  ["", {}],
  ["tool:github*", { tool: "*github*" }],
  ["tool:mcp__a__b", { tool: "mcp__a__b" }],
  ["tool:a tool:b", {}],
  ["-tool:a", {}],
  ["server:github end:failed >500ms", { instance: "github", outcome: "failed,tool_error", min_ms: "500" }],
  ["server:git*", {}],
  [">1s >2s <3s", { min_ms: "2000" }],
  ["end:done end:asked", { outcome: "done,input_required" }],
  ["-end:done by:me word", {}],
])("`%s` asks the hub for %j", (line, expected) =>
  expect(wantedOf(parseFilter(line), undefined, undefined)).toEqual(expected),
);

test("a stretch of time is asked for as it is", () => {
  expect(wantedOf(parseFilter(""), 5, 9)).toEqual({ since: "5", until: "9" });
});

test("a call that was read and heard of is shown once, as it was heard last", () => {
  const call = (id: string, started_at: number, ms = 0) => ({ id, started_at, ms }) as CallRecord;
  const found = merged([call("b", 2, 7), call("d", 4)], [call("c", 3), call("b", 2), call("a", 1)]);
  expect(found.map((it) => `${it.id}${it.ms}`)).toEqual(["d0", "c0", "b7", "a0"]);
});
