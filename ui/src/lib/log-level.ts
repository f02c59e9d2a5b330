/** How urgent a line of a log is, as far as it says so itself. */

export const LEVELS = ["error", "warning", "info", "debug"] as const;
export type LogLevel = (typeof LEVELS)[number];

const WORDS: [LogLevel, RegExp][] = [
  ["error", /\b(error|fatal|panic(ked)?|critical|exception|traceback|emerg(ency)?|alert)\b/i],
  ["warning", /\bwarn(ing)?\b/i],
  ["debug", /\b(debug|trace|verbose)\b/i],
];

/** A word near the start decides; a line without one is information. */
export function levelOf(line: string): LogLevel {
  const start = line.slice(0, 80);
  return WORDS.find(([, pattern]) => pattern.test(start))?.[0] ?? "info";
}
