/** JSON as values, as paths and as text that a person is in the middle of typing. */

export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };
export type Path = readonly (string | number)[];

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member of an object that was sent by a stranger: `__proto__` and the like are no members. */
export function member(value: unknown, key: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

export function at(value: Json | undefined, path: Path): Json | undefined {
  let here: Json | undefined = value;
  for (const step of path) {
    if (Array.isArray(here) && typeof step === "number") here = here[step];
    else here = member(here, String(step));
  }
  return here;
}

/** A copy with one place changed; `undefined` takes the place out. Everything else stays as it was, order included. */
export function setAt(value: Json | undefined, path: Path, next: Json | undefined): Json | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return next;
  if (typeof step === "number") {
    const list = Array.isArray(value) ? value : [];
    const inner = setAt(list[step], rest, next);
    return inner === undefined ? list.filter((_, index) => index !== step) : list.toSpliced(step, 1, inner);
  }
  const object = isObject(value) ? value : {};
  const inner = setAt(Object.hasOwn(object, step) ? object[step] : undefined, rest, next);
  const entries = Object.entries(object).filter(([key]) => key !== step || inner !== undefined);
  const known = entries.findIndex(([key]) => key === step);
  if (inner !== undefined) {
    if (known < 0) entries.push([step, inner]);
    else entries[known] = [step, inner];
  }
  return Object.fromEntries(entries);
}

export function pointer(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

export type Parsed = { ok: true; value: Json } | { ok: false; problem: string; line: number; column: number };

/** Parses a text and says where it stops being JSON. The text itself is never touched. */
export function parseJson(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch (error) {
    const { line, column, problem } = firstProblem(text, error);
    return { ok: false, problem, line, column };
  }
}

function firstProblem(text: string, error: unknown) {
  const offset = problemOffset(text);
  const before = text.slice(0, offset).split("\n");
  const line = before.length;
  const column = (before.at(-1)?.length ?? 0) + 1;
  const rest = text.slice(offset).trimStart();
  if (text.trim() === "") return { line: 1, column: 1, problem: "nothing here yet" };
  if (rest === "") return { line, column, problem: "the text ends too early" };
  const token = /^[^\s,:[\]{}]{1,20}|^./.exec(rest)?.[0] ?? "";
  const problem = error instanceof SyntaxError ? `did not expect \`${token}\`` : String(error);
  return { line, column, problem };
}

/** Engines word their errors differently and some give no position, so the first wrong place is found here. */
function problemOffset(text: string): number {
  const scanner = new Scanner(text);
  scanner.value(0);
  scanner.space();
  return scanner.failed ?? scanner.offset;
}

/** Where the JSON value that begins at an offset ends, or where it stops being one. */
export function valueAt(text: string, from: number): { end: number } | { wrong: number } {
  const scanner = new Scanner(text);
  scanner.offset = from;
  return scanner.value(0) ? { end: scanner.offset } : { wrong: scanner.failed ?? scanner.offset };
}

const NUMBER = /-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"/y;

class Scanner {
  offset = 0;
  failed: number | undefined;
  constructor(readonly text: string) {}

  space() {
    while (" \t\n\r".includes(this.text[this.offset] ?? "x")) this.offset++;
  }

  /** False once something is wrong; `failed` then says where. */
  value(depth: number): boolean {
    this.space();
    const first = this.text[this.offset];
    if (first === "{" && depth < 500) return this.items("}", depth, true);
    if (first === "[" && depth < 500) return this.items("]", depth, false);
    return this.token(first === '"' ? STRING : first && /[-\d]/.test(first) ? NUMBER : WORD);
  }

  private items(close: string, depth: number, keyed: boolean): boolean {
    this.offset++;
    this.space();
    if (this.text[this.offset] === close) return this.skip();
    for (;;) {
      this.space();
      if (keyed && !(this.token(STRING) && this.expect(":"))) return false;
      if (!this.value(depth + 1)) return false;
      this.space();
      if (this.text[this.offset] === close) return this.skip();
      if (!this.expect(",")) return false;
    }
  }

  private token(pattern: RegExp): boolean {
    pattern.lastIndex = this.offset;
    const match = pattern.exec(this.text);
    if (!match) return this.fail();
    this.offset += match[0].length;
    return true;
  }

  private expect(character: string): boolean {
    this.space();
    return this.text[this.offset] === character ? this.skip() : this.fail();
  }

  private skip(): boolean {
    this.offset++;
    return true;
  }

  private fail(): boolean {
    this.failed ??= this.offset;
    return false;
  }
}

/** Whether a text holds a number that JavaScript cannot hold exactly; such a text is sent as it is typed. */
export function hasInexactNumber(text: string): boolean {
  const outside = text.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const isInexact = (it: string) => {
    const value = Number(it);
    return Number.isInteger(value) && !Number.isSafeInteger(value);
  };
  return (outside.match(/-?\d[\d.eE+-]*/g) ?? []).some(isInexact);
}

export type Token = { kind: "key" | "string" | "number" | "word" | "plain"; text: string };

/** Cuts JSON text into coloured pieces. Works on any text; what is not JSON stays plain. */
export function tokens(text: string): Token[] {
  const pattern = /("(?:[^"\\\n]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g;
  const found: Token[] = [];
  let last = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > last) found.push({ kind: "plain", text: text.slice(last, match.index) });
    const [whole, quoted, colon, digits] = match;
    if (quoted !== undefined) {
      found.push({ kind: colon === undefined ? "string" : "key", text: quoted });
      if (colon !== undefined) found.push({ kind: "plain", text: colon });
    } else found.push({ kind: digits === undefined ? "word" : "number", text: whole });
    last = match.index + whole.length;
  }
  if (last < text.length) found.push({ kind: "plain", text: text.slice(last) });
  return found;
}
