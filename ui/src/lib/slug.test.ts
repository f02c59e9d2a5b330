import { expect, test } from "vitest";
import { freeSlug, slugProblem } from "./slug";

test.each([
  ["", "slug is required"],
  ["a".repeat(25), "slug must be at most 24 characters"],
  ["a_b", "slug may hold only letters, digits and hyphens"],
  ["My-Git1", undefined],
])("%s: %s", (slug, expected) => expect(slugProblem(slug)).toBe(expected));

test("a taken slug gets the next number, whatever its case, and never grows too long", () => {
  expect(freeSlug("github", ["GitHub", "github-2"])).toBe("github-3");
  expect(freeSlug("tabs", [])).toBe("tabs-2");
  expect(freeSlug("x".repeat(24), ["x".repeat(24)])).toBe(`${"x".repeat(22)}-2`);
});
