import { expect, test } from "vitest";
import { type Block, blocksOf, type Inline, inlines } from "./markdown";

const plain = (inner: Inline[]): string =>
  inner
    .map((it) => {
      if (it.kind === "text") return it.text;
      if (it.kind === "code") return `\`${it.text}\``;
      return `<${it.kind === "link" ? it.host : it.kind}>${plain(it.inner)}</>`;
    })
    .join("");
const shown = (block: Block): unknown => {
  switch (block.kind) {
    case "paragraph":
      return plain(block.inner);
    case "heading":
      return `${"#".repeat(block.level)} ${plain(block.inner)}`;
    case "code":
      return ["code", block.language, block.text];
    case "quote":
      return ["quote", ...block.blocks.map(shown)];
    case "list":
      return [block.start ?? "-", ...block.items.map((it) => it.map(shown))];
    case "table":
      return ["table", block.head.map(plain), ...block.rows.map((row) => row.map(plain))];
    case "rule":
      return "---";
  }
};
const read = (text: string) => blocksOf(text).map(shown);

test.each<[string, string, unknown[]]>([
  ["paragraphs", "a\nb\n\nc", ["a\nb", "c"]],
  ["headings", "## Two ##\ntext", ["## Two", "text"]],
  ["a fence", "x\n```ts\nlet a = `**`;\n```\ny", ["x", ["code", "ts", "let a = `**`;"], "y"]],
  ["a fence that is still open", "```\nhalf", [["code", "", "half"]]],
  ["lists in lists", "- a\n  - b\n- c\n\nd", [["-", ["a", ["-", ["b"]]], ["c"]], "d"]],
  ["numbers from where they start", "3. a\n4. b", [[3, ["a"], ["b"]]]],
  ["quotes", "> a\n> b\n\nc", [["quote", "a\nb"], "c"]],
  [
    "tables",
    "| a | b |\n|---|--:|\n| 1 | `x\\|y` |\n| 2 |",
    [["table", ["a", "b"], ["1", "`x|y`"], ["2", ""]]],
  ],
  ["rules", "a\n\n---\nb", ["a", "---", "b"]],
])("%s are read", (_, text, blocks) => {
  expect(read(text)).toEqual(blocks);
});

test.each<[string, string]>([
  ["a **b** _c_ ~~d~~", "a <strong>b</> <em>c</> <del>d</>"],
  ["**a *b* c**", "<strong>a <em>b</> c</>"],
  ["snake_case_name and 2*3*4", "snake_case_name and 2<em>3</>4"],
  ["`a*b*` and ``c`d``", "`a*b*` and `c`d`"],
  ["**open and `open", "**open and `open"],
  ["[docs](https://example.com/a_(b))", "<example.com>docs</>"],
  ["\\*not\\* em", "*not* em"],
  ["<b onclick=x>hi</b>", "<b onclick=x>hi</b>"],
])("`%s`", (text, pieces) => {
  expect(plain(inlines(text))).toBe(pieces);
});

test.each([
  "[x](javascript:alert(1))",
  "[x](data:text/html,hi)",
  "[x](https://me:pw@evil.example)",
  "![x](file:///etc)",
])("`%s` is no link", (text) => {
  expect(JSON.stringify(inlines(text))).not.toContain('"link"');
});

test("a picture of elsewhere is a link, so nothing is fetched", () => {
  expect(plain(inlines("![cat](https://cats.example/1.png)"))).toBe("<cats.example>cat</>");
});

test("a megabyte of marks that never close is read in no time", () => {
  const began = Date.now();
  for (const piece of ["**", "[", "`", "_a ", "- ", "> "]) blocksOf(piece.repeat(200_000 / piece.length));
  // Generous, because machines differ; what must not happen is a minute.
  expect(Date.now() - began).toBeLessThan(20_000);
});
