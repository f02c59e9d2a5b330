import { expect, test } from "vitest";
import { diffLines } from "./diff";

const marks = { same: " ", gone: "-", new: "+" };
const words = (before: string, after: string) =>
  diffLines(before, after)
    .map((it) => marks[it.kind] + it.text)
    .join("|");

test.each([
  ["a\nb\nc", "a\nb\nc", " a| b| c"],
  ["a\nb\nc", "a\nc", " a|-b| c"],
  ["a\nc", "a\nb\nc", " a|+b| c"],
  ["a\nb", "a\nx", " a|-b|+x"],
  ["", "a", "-|+a"],
])("%j to %j", (before, after, expected) => expect(words(before, after)).toBe(expected));
