/** The Markdown that models write, as blocks and pieces. There is no raw HTML in it: `<b>` is three characters. */

import { safeLink } from "./untrusted";

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "em" | "del"; inner: Inline[] }
  | { kind: "link"; href: string; host: string; inner: Inline[] };

export type Block =
  | { kind: "paragraph"; inner: Inline[] }
  | { kind: "heading"; level: number; inner: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "list"; start: number | undefined; items: Block[][] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

/** Deeper than this it is text. */
const DEPTH = 8;

export function blocksOf(text: string, depth = 0): Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    if (line.trim() === "") at++;
    else {
      const [block, next] = blockAt(lines, at, depth);
      blocks.push(block);
      at = next;
    }
  }
  return blocks;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function blockAt(lines: string[], at: number, depth: number): [Block, number] {
  const line = lines[at] ?? "";
  const fence = FENCE.exec(line);
  if (fence) return codeAt(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading)
    return [{ kind: "heading", level: heading[1]?.length ?? 1, inner: inlines(heading[2] ?? "") }, at + 1];
  if (RULE.test(line)) return [{ kind: "rule" }, at + 1];
  if (depth < DEPTH && QUOTE.test(line)) {
    let end = at;
    while (QUOTE.test(lines[end] ?? "")) end++;
    const inner = lines.slice(at, end).map((it) => it.replace(QUOTE, ""));
    return [{ kind: "quote", blocks: blocksOf(inner.join("\n"), depth + 1) }, end];
  }
  if (depth < DEPTH && ITEM.test(line)) return listAt(lines, at, depth);
  if (line.includes("|") && DIVIDER.test(lines[at + 1] ?? "") && (lines[at + 1] ?? "").includes("-"))
    return tableAt(lines, at);
  return paragraphAt(lines, at);
}

/** A fence that is still open holds everything that has come so far. */
function codeAt(lines: string[], at: number, fence: RegExpExecArray): [Block, number] {
  const mark = fence[1] ?? "```";
  const isEnd = (it: string) => {
    const trimmed = it.trim();
    return trimmed.length >= mark.length && trimmed === (mark[0] ?? "`").repeat(trimmed.length);
  };
  let end = at + 1;
  while (end < lines.length && !isEnd(lines[end] ?? "")) end++;
  return [{ kind: "code", language: fence[2] ?? "", text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function listAt(lines: string[], from: number, depth: number): [Block, number] {
  const first = ITEM.exec(lines[from] ?? "");
  const isNumbered = /\d/.test(first?.[2] ?? "");
  const items: Block[][] = [];
  let at = from;
  for (;;) {
    const item = ITEM.exec(lines[at] ?? "");
    if (!item || /\d/.test(item[2] ?? "") !== isNumbered || RULE.test(lines[at] ?? "")) break;
    const width = item[0].length;
    const own = [(lines[at] ?? "").slice(width)];
    at++;
    for (; at < lines.length; at++) {
      const line = lines[at] ?? "";
      const indent = line.length - line.trimStart().length;
      if (line.trim() === "") {
        const next = lines[at + 1] ?? "";
        // An empty line ends an item unless what follows belongs to it.
        if (next.trim() === "" || next.length - next.trimStart().length < 2) break;
      } else if (indent < 2 && (ITEM.test(line) || FENCE.test(line) || HEADING.test(line))) break;
      own.push(indent >= 2 ? line.slice(Math.min(indent, width)) : line);
    }
    items.push(blocksOf(own.join("\n"), depth + 1));
    if ((lines[at] ?? "").trim() === "" && ITEM.test(lines[at + 1] ?? "")) at++;
  }
  const start = isNumbered ? Number.parseInt(first?.[2] ?? "1", 10) : undefined;
  return [{ kind: "list", start, items }, at];
}

function tableAt(lines: string[], at: number): [Block, number] {
  const cells = (line: string) =>
    line
      .trim()
      .replace(/^\||(?<!\\)\|$/g, "")
      .split(/(?<!\\)\|/)
      .map((it) => inlines(it.trim().replaceAll("\\|", "|")));
  const head = cells(lines[at] ?? "");
  const rows: Inline[][][] = [];
  let end = at + 2;
  for (; (lines[end] ?? "").includes("|"); end++) {
    const row = cells(lines[end] ?? "");
    rows.push(head.map((_, place) => row[place] ?? []));
  }
  return [{ kind: "table", head, rows }, end];
}

function paragraphAt(lines: string[], at: number): [Block, number] {
  let end = at + 1;
  const ends = (it: string) =>
    it.trim() === "" ||
    FENCE.test(it) ||
    HEADING.test(it) ||
    QUOTE.test(it) ||
    ITEM.test(it) ||
    RULE.test(it);
  while (end < lines.length && !ends(lines[end] ?? "")) end++;
  return [{ kind: "paragraph", inner: inlines(lines.slice(at, end).join("\n")) }, end];
}

const MARKS = [
  { kind: "strong", form: /(\*\*|__)(?=\S)([\s\S]{0,4000}?\S)\1/y },
  { kind: "em", form: /([*_])(?=[^\s*_])([\s\S]{0,4000}?[^\s*_])\1/y },
  { kind: "del", form: /(~~)(?=\S)([\s\S]{0,4000}?\S)\1/y },
] as const;
const CODE = /(`{1,8})([\s\S]{0,4000}?[^`])\1(?!`)/y;
const LINK =
  /!?\[((?:[^[\]\\]|\\.){0,500})\]\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?(?:\s+"[^"]*")?\s*\)/y;
const SPECIAL = /[\\`*_~![]/g;

/** Pieces of one line or paragraph. What is not closed is text. Long texts without marks cost one look. */
export function inlines(text: string, depth = 0): Inline[] {
  const found: Inline[] = [];
  let plain = 0;
  let at = 0;
  const flush = (to: number) => {
    const piece = text.slice(plain, to).replace(/\\([\\`*_~![\]()#>|{}+.-])/g, "$1");
    if (piece !== "") found.push({ kind: "text", text: piece });
  };
  // Marks that do not close would be looked for again and again.
  let tries = 0;
  while (depth < DEPTH && tries < 1000) {
    SPECIAL.lastIndex = at;
    const special = SPECIAL.exec(text);
    if (!special) break;
    tries++;
    at = special.index;
    const taken = special[0] === "\\" ? undefined : pieceAt(text, at, depth);
    if (taken) {
      flush(at);
      found.push(taken[0]);
      at = taken[1];
      plain = at;
    } else at += special[0] === "\\" ? 2 : 1;
  }
  flush(text.length);
  return found;
}

function pieceAt(text: string, at: number, depth: number): [Inline, number] | undefined {
  CODE.lastIndex = at;
  const code = CODE.exec(text);
  if (code) return [{ kind: "code", text: (code[2] ?? "").replace(/^ (.*) $/, "$1") }, at + code[0].length];
  LINK.lastIndex = at;
  const link = LINK.exec(text);
  if (link) {
    const safe = safeLink(link[2] ?? "");
    const inner = inlines(link[1] || (link[2] ?? ""), depth + 1);
    // An address that may not be opened is shown as it was written.
    return [safe ? { kind: "link", ...safe, inner } : { kind: "text", text: link[0] }, at + link[0].length];
  }
  const isInWord = /[\p{L}\p{N}]/u.test(text[at - 1] ?? "");
  for (const { kind, form } of MARKS) {
    form.lastIndex = at;
    const mark = form.exec(text);
    if (!mark) continue;
    const isBeforeWord = /[\p{L}\p{N}]/u.test(text[at + mark[0].length] ?? "");
    // Inside a word an underscore is a letter like any other.
    if (mark[1]?.startsWith("_") && (isInWord || isBeforeWord)) continue;
    return [{ kind, inner: inlines(mark[2] ?? "", depth + 1) }, at + mark[0].length];
  }
  return undefined;
}
