/** Lines that call something themselves: `/call server.method(…)`, `/invoke bud://…`, `@bud …`. The hub reads them again. */

import { isObject, type JsonObject, valueAt } from "./json";

export type Line =
  | { kind: "message" }
  /** Without `args`, somebody has still to fill them in. */
  | { kind: "call"; server: string; method: string; args?: JsonObject }
  | { kind: "invoke"; bud: string; text: string }
  /** `at` is the offset of the first character that cannot be followed. */
  | { kind: "wrong"; at: number; problem: string };

const wrong = (at: number, problem: string): Line => ({ kind: "wrong", at, problem });

export function readLine(text: string): Line {
  const start = text.length - text.trimStart().length;
  const command = /^\/(call|invoke)(?=\s|$)/.exec(text.slice(start));
  if (command?.[1] === "call") return readCall(text, start + command[0].length);
  if (command) return readInvoke(text, start + command[0].length);
  const bud = /^@(?:"([^"]+)"|([\p{L}\p{N}]\S*))\s*([\s\S]*)$/u.exec(text.slice(start));
  if (bud) return { kind: "invoke", bud: `@${bud[1] ?? bud[2]}`, text: (bud[3] ?? "").trim() };
  return { kind: "message" };
}

function readInvoke(text: string, from: number): Line {
  const [, space = "", bud = "", said = ""] = /^(\s*)(\S*)\s*([\s\S]*)$/.exec(text.slice(from)) ?? [];
  if (!/^bud:\/\/\S/.test(bud)) return wrong(from + space.length, "write `bud://<workspace>/<name>` here");
  return { kind: "invoke", bud, text: said.trim() };
}

/** A slug has no dot, so the first dot separates; any other name is quoted. */
const TARGET = /\s*(?:"((?:[^"\\]|\\.)*)"|([^\s."(]+))\.([^\s(]+)\s*/y;

function readCall(text: string, from: number): Line {
  TARGET.lastIndex = from;
  const target = TARGET.exec(text);
  if (!target) return wrong(afterSpace(text, from), "write `<server>.<method>(…)` here");
  const [, quoted, slug = "", method = ""] = target;
  const server = quoted === undefined ? slug : unquoted(quoted);
  const open = TARGET.lastIndex;
  if (text[open] !== "(") return wrong(open, "expected `(`");
  const close = text.trimEnd().length - 1;
  if (close <= open || text[close] !== ")") return wrong(text.trimEnd().length, "expected `)` at the end");
  const inner = text.slice(open + 1, close).trim();
  if (inner === "…") return { kind: "call", server, method };
  const args = readArgs(text, open + 1, close);
  return "kind" in args ? args : { kind: "call", server, method, args: args.value };
}

const unquoted = (inner: string) => {
  try {
    return String(JSON.parse(`"${inner}"`));
  } catch {
    return inner;
  }
};

const afterSpace = (text: string, from: number) => from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0);

/** `name: <JSON value>` pairs, one JSON object, or nothing. */
function readArgs(
  text: string,
  from: number,
  to: number,
): { value: JsonObject } | Extract<Line, { at: number }> {
  const bad = (at: number, problem: string) => ({ kind: "wrong" as const, at, problem });
  const inner = text.slice(0, to);
  let at = afterSpace(inner, from);
  if (at >= to) return { value: {} };
  if (inner[at] === "{") {
    const read = jsonAt(inner, at);
    if ("wrong" in read) return bad(read.wrong, "this is not JSON");
    const rest = afterSpace(inner, read.end);
    if (rest < to) return bad(rest, "expected `)` here");
    return isObject(read.value) ? { value: read.value } : bad(at, "expected an object");
  }
  const pairs: [string, JsonObject[string]][] = [];
  for (;;) {
    const name = /^(?:"([^"]+)"|([^\s:,"]+))\s*:/.exec(inner.slice(at));
    if (!name) return bad(at, "expected `name: value`");
    const start = afterSpace(inner, at + name[0].length);
    const read = jsonAt(inner, start);
    if ("wrong" in read) return bad(read.wrong, "this is not a JSON value; texts go between quotes");
    pairs.push([name[1] ?? name[2] ?? "", read.value]);
    at = afterSpace(inner, read.end);
    if (at >= to) return { value: Object.fromEntries(pairs) };
    if (inner[at] !== ",") return bad(at, "expected `,` or `)`");
    at = afterSpace(inner, at + 1);
  }
}

function jsonAt(text: string, from: number): { value: JsonObject[string]; end: number } | { wrong: number } {
  const read = valueAt(text, from);
  return "wrong" in read ? read : { ...read, value: JSON.parse(text.slice(from, read.end)) };
}

/** A line that calls a tool with these arguments. */
export function callLine(server: string, method: string, args: string): string {
  const word = /^[A-Za-z0-9-]{1,24}$/.test(server) ? server : JSON.stringify(server);
  return `/call ${word}.${method}(${args.trim() === "{}" ? "" : args})`;
}

/** `@Compare`, or with quotes where the name would not be one word. */
export const budWord = (name: string) => (/^[\p{L}\p{N}][^\s"]*$/u.test(name) ? `@${name}` : `@"${name}"`);
