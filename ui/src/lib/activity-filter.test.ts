import { expect, test } from "vitest";
import { type Filtered, glob, matcher, parseFilter, withTerm } from "./activity-filter";

const calls: Record<string, Filtered> = {
  search: {
    tool: "mcp__github__search_code",
    server: "github",
    outcome: "done",
    ms: 120,
    by: ["me", "Ada"],
    client: "cursor",
    door: "mcp",
  },
  issue: {
    tool: "mcp__github-work__create_issue",
    server: "github-work",
    outcome: "failed",
    ms: 900,
    by: ["Bob"],
    code: "call.timeout",
    door: "mcp",
  },
  weather: {
    tool: "mcp__weather__now",
    server: "weather",
    outcome: "tool_error",
    ms: 4100,
    by: ["me", "Ada"],
    door: "cli",
  },
  ask: { tool: "mcp__db__drop", server: "db", outcome: "input_required", ms: 3, by: ["me"], door: "api" },
};

test.each([
  ["", "search issue weather ask"],
  ["tool:github*", "search issue"],
  ["tool:mcp__github__*", "search"],
  ["server:github", "search"],
  ["end:failed", "issue weather"],
  ["end:error", "weather"],
  ["end:failed end:asked", "issue weather ask"],
  ["end:failed >500ms by:me", "weather"],
  [">100ms <1s", "search issue"],
  ["by:ada", "search weather"],
  ["-by:me", "issue"],
  ["-end:done -end:asked", "issue weather"],
  ["code:call.*", "issue"],
  ["create", "issue"],
  ["github create", "issue"],
  ["timeout", "issue"],
  ['tool:"github*"', "search issue"],
  ["door:cli", "weather"],
  [">4s", "weather"],
  ["GITHUB", "search issue"],
])("`%s` finds %s", (line, expected) => {
  const filter = parseFilter(line);
  const passes = matcher(filter);
  expect(filter.problems).toEqual([]);
  expect(
    Object.keys(calls)
      .filter((it) => passes(calls[it] as Filtered))
      .join(" "),
  ).toBe(expected);
});

test("what is not understood is said where it stands", () => {
  expect(parseFilter("tool:a foo:b end:maybe").problems).toEqual([
    { at: 7, length: 5, text: "`foo:` is not known; use tool, server, end, by, client, door, code, call" },
    { at: 13, length: 9, text: "`maybe` is no end; use done, failed, error, cancelled, asked" },
  ]);
});

test("a pattern is no regular expression", () => {
  expect(glob("a.c")("abc")).toBe(false);
  expect(glob("(a+)+$")("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")).toBe(false);
  expect(glob("a*c")("a\nc")).toBe(true);
  expect(glob("a*b*c")("axbxc")).toBe(true);
  expect(glob("ab*b")("ab")).toBe(false);
  expect(glob("*")("")).toBe(true);
});

test("a term takes the place of others of its key", () => {
  expect(withTerm("tool:a end:done >1s", "end", "failed")).toBe("tool:a >1s end:failed");
  expect(withTerm("", "by", "Ada Lovelace")).toBe('by:"Ada Lovelace"');
});
