import { expect, test } from "vitest";
import { callSnippet } from "./call-snippet";

test.each([
  ["github", "search_code", "/call github.search_code(…)"],
  ["github-work", "a.b", "/call github-work.a.b(…)"],
  ["my server", "x", '/call "my server".x(…)'],
  ['a "quoted".name', "x", '/call "a \\"quoted\\".name".x(…)'],
])("%s %s", (server, method, expected) => {
  const snippet = callSnippet(server, method);
  expect(snippet.text).toBe(expected);
  expect(snippet.text.slice(...snippet.select)).toBe("…");
});
