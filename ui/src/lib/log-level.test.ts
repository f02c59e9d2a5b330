import { expect, test } from "vitest";
import { levelOf } from "./log-level";

test.each([
  ["2026-11-15 ERROR cannot open", "error"],
  ["Traceback (most recent call last):", "error"],
  ["thread 'main' panicked at src/main.rs", "error"],
  ["(node:1) Warning: deprecated", "warning"],
  ["[debug] ping", "debug"],
  ["Server running on stdio", "info"],
  [`${"x".repeat(90)} error`, "info"],
])("%s is %s", (line, expected) => expect(levelOf(line)).toBe(expected));
