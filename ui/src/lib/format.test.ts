import { expect, test } from "vitest";
import { age, ago, bytes, duration, plural } from "./format";

test.each([
  [0.04, "0.0 ms"],
  [0.4, "0.4 ms"],
  [38.2, "38 ms"],
  [999.6, "1.0 s"],
  [4120, "4.1 s"],
  [59_960, "1 min 0 s"],
  [125_000, "2 min 5 s"],
  [7_260_000, "2 h 1 min"],
])("%d ms reads %s", (ms, expected) => expect(duration(ms)).toBe(expected));

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1234, "1.2 kB"],
  [999_960, "1.0 MB"],
  [3_400_000, "3.4 MB"],
])("%d bytes read %s", (value, expected) => expect(bytes(value)).toBe(expected));

test("a time in the future is now, not a negative age", () => {
  expect(ago(2000, 1000)).toBe("now");
  expect(ago(0, 61_000)).toBe("1 min ago");
  expect(age(200)).toBe("3 min old");
});

test("one tool is not `1 tools`", () => {
  expect([plural(0, "tool"), plural(1, "tool"), plural(1056, "tool"), plural(2, "entry", "entries")]).toEqual(
    ["0 tools", "1 tool", "1,056 tools", "2 entries"],
  );
});
