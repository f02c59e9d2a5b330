/** Where the time of a call went: spans on one scale, nested calls below their parent. */

export type Span = { name: string; start_ms: number; ms: number };
export type Tick = { at_ms: number; text: string };
export type Nested = {
  id: string;
  tool: string;
  start_ms: number;
  ms: number;
  outcome: string;
  depth: number;
};

export type Bar = {
  key: string;
  label: string;
  detail: string;
  /** Shares of the whole, 0 to 1. */
  left: number;
  width: number;
  ms: number;
  depth: number;
  kind: "span" | "call";
  ticks: { left: number; text: string }[];
};

const WORDS: Record<string, string> = {
  policy: "Permission",
  queue: "Waited its turn",
  link: "Opened the link",
  server: "Server worked",
};

/** Bars in order of their start. Everything lies within 0 and 1, whatever the clocks said. */
export function bars(total: number, spans: Span[], ticks: Tick[], nested: Nested[]): Bar[] {
  const end = Math.max(
    total,
    ...spans.map((it) => it.start_ms + it.ms),
    ...nested.map((it) => it.start_ms + it.ms),
    0.001,
  );
  const share = (ms: number) => Math.min(Math.max(ms / end, 0), 1);
  const place = (start: number, ms: number) => ({
    left: share(start),
    width: Math.max(share(start + ms) - share(start), 0),
  });
  const spanBars = spans.map((it, index) => ({
    key: `span ${index}`,
    label: WORDS[it.name] ?? it.name,
    detail: it.name,
    ms: it.ms,
    ...place(it.start_ms, it.ms),
    depth: 0,
    kind: "span" as const,
    ticks: it.name === "server" ? ticks.map((tick) => ({ left: share(tick.at_ms), text: tick.text })) : [],
  }));
  const callBars = nested.map((it) => ({
    key: it.id,
    label: it.tool,
    detail: it.outcome,
    ms: it.ms,
    ...place(it.start_ms, it.ms),
    depth: it.depth,
    kind: "call" as const,
    ticks: [],
  }));
  return [...spanBars, ...callBars].sort((a, b) => a.left - b.left || a.depth - b.depth);
}
