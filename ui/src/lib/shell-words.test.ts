import { expect, test } from "vitest";
import { joinWords, splitWords } from "./shell-words";

test.each<[string, string[] | undefined]>([
  ["npx -y @scope/server", ["npx", "-y", "@scope/server"]],
  [`a 'b c' "d e"`, ["a", "b c", "d e"]],
  [`a "x \\"y\\" \\n"`, ["a", 'x "y" \\n']],
  [`a b\\ c ''`, ["a", "b c", ""]],
  ["a \\\n  b", ["a", "b"]],
  ["echo $HOME; rm", ["echo", "$HOME;", "rm"]],
  ["a 'open", undefined],
  ["", []],
])("%j is %j", (line, expected) => expect(splitWords(line)).toEqual(expected));

test("whatever words there are, a shell reads them back", () => {
  const words = ["a b", "it's", "$(rm -rf ~)", "`x`", "", "new\nline", "plain", '"', "ü", "!x"];
  expect(splitWords(joinWords(words))).toEqual(words);
});
