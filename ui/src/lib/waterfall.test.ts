import { expect, test } from "vitest";
import { bars } from "./waterfall";

test("spans lie one after the other on the scale of the call", () => {
  const found = bars(
    100,
    [
      { name: "policy", start_ms: 0, ms: 1 },
      { name: "server", start_ms: 20, ms: 80 },
    ],
    [{ at_ms: 60, text: "half" }],
    [],
  );
  expect(found.map((it) => [it.label, it.left, it.width])).toEqual([
    ["Permission", 0, 0.01],
    ["Server worked", 0.2, 0.8],
  ]);
  expect(found[1]?.ticks).toEqual([{ left: 0.6, text: "half" }]);
});

test("clocks that disagree draw nothing outside the picture", () => {
  const found = bars(
    10,
    [{ name: "link", start_ms: -5, ms: 3 }],
    [],
    [{ id: "n", tool: "t", start_ms: 8, ms: 50, outcome: "done", depth: 1 }],
  );
  for (const it of found) {
    expect(it.left).toBeGreaterThanOrEqual(0);
    expect(it.left + it.width).toBeLessThanOrEqual(1.0001);
  }
});

test("a call without spans and time is an empty picture, not a division by zero", () => {
  expect(bars(0, [], [], [])).toEqual([]);
  expect(bars(0, [{ name: "queue", start_ms: 0, ms: 0 }], [], [])[0]?.width).toBe(0);
});
