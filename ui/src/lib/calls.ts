/** Calls as Activity shows them. */

import type { CallsWanted } from "@/api/queries";
import type { CallRecord, Outcome } from "@/api/types";
import { ENDS, type Filter, type Filtered } from "./activity-filter";

const WORDS: Record<Outcome, string> = {
  done: "done",
  tool_error: "tool failed",
  failed: "failed",
  cancelled: "cancelled",
  input_required: "asked",
};

export const endWord = (outcome: Outcome | null) => (outcome === null ? "running" : WORDS[outcome]);

const DOORS: Record<string, string> = {
  mcp: "A client",
  legacy: "A client",
  sse: "A client",
  stdio: "A client's process",
  api: "The API",
  cli: "The command line",
  xml: "A model's text",
  chat: "A chat",
  plan: "A plan",
  bud: "A bud",
};

/** Who called, in words: the client's own name where it gave one. */
export const callerWords = (call: CallRecord) => call.client || (DOORS[call.door] ?? call.door);

export type Tone = "ok" | "bad" | "muted" | "info";

export function endTone(outcome: Outcome | null): Tone {
  if (outcome === null || outcome === "input_required") return "info";
  return outcome === "done" ? "ok" : outcome === "cancelled" ? "muted" : "bad";
}

/** A call in the words a filter line knows. */
export function filtered(
  call: CallRecord,
  slugOf: (id: string | null) => string,
  me: readonly string[],
): Filtered {
  return {
    tool: call.tool,
    server: slugOf(call.instance_id),
    outcome: call.outcome ?? "running",
    ms: call.ms,
    by: me,
    client: call.client ?? "",
    door: call.door,
    code: call.error_code ?? "",
    call: call.id,
  };
}

/** What of a filter the hub can do itself. It may give more than is asked for, never less. */
export function wantedOf(filter: Filter, from: number | undefined, to: number | undefined): CallsWanted {
  const wanted: CallsWanted = {};
  const only = (key: string) => {
    const found = filter.terms.filter((it) => it.key === key && !it.not);
    return found.length === 1 && found[0]?.key !== "ms" ? found[0]?.pattern : undefined;
  };
  const tool = only("tool");
  if (tool !== undefined) wanted.tool = tool.startsWith("mcp") || tool.startsWith("*") ? tool : `*${tool}`;
  const server = only("server");
  if (server !== undefined && /^[A-Za-z0-9-]+$/.test(server)) wanted.instance = server;
  const door = only("door");
  if (door !== undefined && !door.includes("*")) wanted.door = door;
  const ends = filter.terms.flatMap((it) => (it.key === "end" && !it.not ? (ENDS[it.pattern] ?? []) : []));
  if (ends.length > 0) wanted.outcome = [...new Set(ends)].join(",");
  const bounds = filter.terms.flatMap((it) =>
    it.key === "ms" && it.than === "more" && !it.not ? [it.ms] : [],
  );
  if (bounds.length > 0) wanted.min_ms = String(Math.max(...bounds));
  if (from !== undefined) wanted.since = String(from);
  if (to !== undefined) wanted.until = String(to);
  return wanted;
}

/** Calls of both lists, each once, newest first. What was heard live is newer than what was read. */
export function merged(live: readonly CallRecord[], read: readonly CallRecord[]): CallRecord[] {
  if (live.length === 0) return [...read];
  const seen = new Set(live.map((it) => it.id));
  const all = [...live, ...read.filter((it) => !seen.has(it.id))];
  return all.sort((a, b) => b.started_at - a.started_at || (a.id < b.id ? 1 : -1));
}
