/** Numbers, sizes and times as people read them. */

const number = new Intl.NumberFormat("en");

export const count = (value: number) => number.format(value);

/** `1 tool`, `12 tools`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** `0.4 ms`, `38 ms`, `4.1 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 0.95) return `${Math.max(ms, 0).toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** `812 B`, `1.2 kB`, `3.4 MB`. */
export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  if (value < 999_950) return `${(value / 1000).toFixed(1)} kB`;
  return `${(value / 1_000_000).toFixed(1)} MB`;
}

/** `now`, `3 min ago`, `2 d ago`. */
export function ago(then: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - then) / 1000));
  return seconds < 5 ? "now" : `${span(seconds)} ago`;
}

/** An age in seconds, as `just now` or `3 min old`. */
export function age(seconds: number): string {
  return seconds < 5 ? "just now" : `${span(seconds)} old`;
}

function span(seconds: number): string {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

const clockToday = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const clockOther = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** The clock time, with the date when it is another day. */
export function clock(at: number, now: number): string {
  const sameDay = new Date(at).toDateString() === new Date(now).toDateString();
  return (sameDay ? clockToday : clockOther).format(at);
}

/** Roughly what a text costs a model: four characters are about one token. */
export const tokens = (text: string) => Math.ceil(text.length / 4);
