/** The filter line of Activity: `tool:github* end:failed >500ms by:me -door:cli`. */

export type Key = "tool" | "server" | "end" | "by" | "client" | "door" | "code" | "call";
export type Term =
  | { key: Key; pattern: string; not: boolean }
  | { key: "ms"; than: "more" | "less"; ms: number; not: boolean }
  | { key: "text"; pattern: string; not: boolean };
export type FilterProblem = { at: number; length: number; text: string };
export type Filter = { terms: Term[]; problems: FilterProblem[] };

export const KEYS: readonly Key[] = ["tool", "server", "end", "by", "client", "door", "code", "call"];

/** Words for the end of a call, and the outcomes they stand for. */
export const ENDS: Record<string, readonly string[]> = {
  done: ["done"],
  failed: ["failed", "tool_error"],
  error: ["tool_error"],
  cancelled: ["cancelled"],
  asked: ["input_required"],
};

const TERM = /(-?)(?:([a-z]+):)?("(?:[^"\\]|\\.)*"?|\S+)/g;

export function parseFilter(line: string): Filter {
  const filter: Filter = { terms: [], problems: [] };
  for (const match of line.matchAll(TERM)) {
    const [whole, minus, key, raw = ""] = match;
    const problem = (text: string) => filter.problems.push({ at: match.index, length: whole.length, text });
    const not = minus === "-";
    const value = raw.startsWith('"') ? raw.replace(/^"|"$/g, "").replaceAll('\\"', '"') : raw;
    if (key === undefined) {
      const ms = timeTerm(value);
      filter.terms.push(ms ? { ...ms, not } : { key: "text", pattern: value, not });
    } else if (!isKey(key)) problem(`\`${key}:\` is not known; use ${KEYS.join(", ")}`);
    else if (key === "end" && !(value in ENDS))
      problem(`\`${value}\` is no end; use ${Object.keys(ENDS).join(", ")}`);
    else filter.terms.push({ key, pattern: value, not });
  }
  return filter;
}

const isKey = (word: string): word is Key => (KEYS as readonly string[]).includes(word);

function timeTerm(word: string): { key: "ms"; than: "more" | "less"; ms: number } | undefined {
  const match = /^([<>])(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(word);
  if (!match) return undefined;
  const unit = { ms: 1, s: 1000, m: 60_000 }[match[3] ?? "ms"] ?? 1;
  return { key: "ms", than: match[1] === ">" ? "more" : "less", ms: Number(match[2]) * unit };
}

/** What a call can be filtered by, in the words of the page. */
export type Filtered = Partial<Record<Exclude<Key, "end" | "by">, string>> & {
  tool: string;
  outcome: string;
  ms: number;
  by: readonly string[];
};

/** Whether a call passes. Terms of one key are alternatives, different keys must all hold. */
export function matcher(filter: Filter): (call: Filtered) => boolean {
  const groups = new Map<string, Term[]>();
  for (const term of filter.terms) {
    const group = `${term.not} ${term.key} ${term.key === "ms" ? term.than : ""}`;
    groups.set(group, [...(groups.get(group) ?? []), term]);
  }
  const tests = [...groups.values()].map((terms) => {
    const holds = terms.map(test);
    if (terms[0]?.not) return (call: Filtered) => !holds.some((it) => it(call));
    // Bare words narrow each other; so do bounds.
    const narrows = terms[0]?.key === "text" || terms[0]?.key === "ms";
    return (call: Filtered) => (narrows ? holds.every((it) => it(call)) : holds.some((it) => it(call)));
  });
  return (call) => tests.every((it) => it(call));
}

function test(term: Term): (call: Filtered) => boolean {
  if (term.key === "ms") return (call) => (term.than === "more" ? call.ms > term.ms : call.ms < term.ms);
  if (term.key === "end") return (call) => ENDS[term.pattern]?.includes(call.outcome) ?? false;
  const is = glob(term.key === "text" ? `*${term.pattern}*` : term.pattern);
  if (term.key === "text")
    return (call) => [call.tool, call.server, call.client, call.code].some((it) => is(it ?? ""));
  if (term.key === "by") return (call) => call.by.some(is);
  if (term.key === "tool") return (call) => is(call.tool) || is(call.tool.replace(/^mcp__?/, ""));
  const key = term.key;
  return (call) => is(call[key] ?? "");
}

/** `*` stands for anything; letter case does not count. */
export function glob(pattern: string): (text: string) => boolean {
  const parts = pattern.toLowerCase().split(/\*+/);
  return (text) => {
    const low = text.toLowerCase();
    const first = parts[0] ?? "";
    const last = parts.at(-1) ?? "";
    if (parts.length === 1) return low === first;
    if (!low.startsWith(first) || !low.endsWith(last) || low.length < first.length + last.length)
      return false;
    let from = first.length;
    const end = low.length - last.length;
    for (const part of parts.slice(1, -1)) {
      const at = low.indexOf(part, from);
      if (at < 0 || at + part.length > end) return false;
      from = at + part.length;
    }
    return true;
  };
}

/** The line with a term put in, in place of others of its key. */
export function withTerm(line: string, key: Key, value: string): string {
  const rest = line.replace(new RegExp(`(^|\\s)${key}:(?:"[^"]*"?|\\S+)`, "g"), "").trim();
  const quoted = /[\s"]/.test(value) ? JSON.stringify(value) : value;
  return `${rest} ${key}:${quoted}`.trim();
}
