import { expect, test } from "vitest";
import { dataUrl, type Piece, pieces, safeLink } from "./untrusted";

const words = (text: string) =>
  pieces(text).map((it: Piece) => {
    if (it.kind === "link") return `[${it.text} → ${it.host}]`;
    return it.kind === "control" ? `<${it.code}>` : it.text;
  });

test.each<[string, string, string[]]>([
  ["HTML is text", "<script>alert(1)</script>", ["<script>alert(1)</script>"]],
  ["a turned-around name shows the mark", "abc\u202egnp.exe", ["abc", "<U+202E>", "gnp.exe"]],
  ["invisible instructions show", "a\u{e0049}\u200bb", ["a", "<U+E0049>", "<U+200B>", "b"]],
  ["an escape sequence shows", "\u001b[31mred", ["<U+001B>", "[31mred"]],
  ["lines and tabs stay", "a\r\nb\tc", ["a\nb\tc"]],
  ["a lone carriage return shows", "safe\rrm", ["safe", "<U+000D>", "rm"]],
  [
    "a link says its host",
    "see https://example.com/a?b=1.",
    ["see ", "[https://example.com/a?b=1 → example.com]", "."],
  ],
  ["brackets around a link are not in it", "(https://a.test/x)", ["(", "[https://a.test/x → a.test]", ")"]],
  ["brackets inside a link are", "https://a.test/x_(y)", ["[https://a.test/x_(y) → a.test]"]],
  [
    "a name in front of the host is no link",
    "https://google.com@evil.test/",
    ["https://google.com@evil.test/"],
  ],
  [
    "letters that look alike show their real host",
    "https://аpple.com/",
    ["[https://аpple.com/ → xn--pple-43d.com]"],
  ],
  ["scripts are no links", "javascript:alert(1) data:text/html,x", ["javascript:alert(1) data:text/html,x"]],
  ["emoji joined by joiners keep their marks visible", "👩\u200d💻", ["👩", "<U+200D>", "💻"]],
])("%s", (_, text, expected) => expect(words(text)).toEqual(expected));

test("only web addresses may be opened", () => {
  for (const url of ["javascript:alert(1)", "file:///etc/passwd", "//x", "ftp://a", "https://u:p@a/"]) {
    expect(safeLink(url)).toBeUndefined();
  }
  expect(safeLink("HTTPS://Example.COM:8443/a")).toEqual({
    href: "https://example.com:8443/a",
    host: "example.com:8443",
  });
});

test("only pictures and sounds become data addresses", () => {
  expect(dataUrl("image", "image/png", "aGk=")).toBe("data:image/png;base64,aGk=");
  expect(dataUrl("image", "text/html", "aGk=")).toBeUndefined();
  expect(dataUrl("image", "image/png", 'aGk="><script>')).toBeUndefined();
  expect(dataUrl("audio", "audio/wav;x=1", "aGk=")).toBeUndefined();
});
