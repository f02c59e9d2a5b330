/** What is typed to find servers: words for the registry, and operators that narrow what it finds. */

import type { Hit } from "@/api/types.gen";

const OPERATOR = /^(kind|publisher|needs):(.+)$/i;

export type Wanted = { words: string; operators: { key: string; value: string }[] };

export function readSearch(typed: string): Wanted {
  const parts = typed.split(/\s+/).filter(Boolean);
  const found = parts.map((it) => OPERATOR.exec(it));
  return {
    words: parts.filter((_, at) => !found[at]).join(" "),
    operators: found.flatMap((it) =>
      it ? [{ key: (it[1] ?? "").toLowerCase(), value: (it[2] ?? "").toLowerCase() }] : [],
    ),
  };
}

/** Several values of one operator widen it; another operator narrows. */
export function matches(hit: Hit, { operators }: Wanted): boolean {
  const keys = [...new Set(operators.map((it) => it.key))];
  return keys.every((key) => operators.some((it) => it.key === key && says(hit, key, it.value)));
}

function says(hit: Hit, key: string, value: string): boolean {
  switch (key) {
    case "kind":
      return hit.kinds.some((it) => it === value);
    case "publisher":
      return hit.publisher.toLowerCase().includes(value);
    default:
      return value === "nothing"
        ? hit.needs.length === 0
        : hit.needs.some((it) => it.toLowerCase().includes(value));
  }
}

/** The same search with an operator more, or without it if it was there. */
export function toggled(typed: string, operator: string): string {
  const parts = typed.split(/\s+/).filter(Boolean);
  const without = parts.filter((it) => it.toLowerCase() !== operator.toLowerCase());
  return (without.length < parts.length ? without : [...parts, operator]).join(" ");
}

/** What the hits can be narrowed to, the most frequent first. */
export function facets(hits: Hit[]): { operator: string; count: number }[] {
  const counts = new Map<string, number>();
  const add = (operator: string) => counts.set(operator, (counts.get(operator) ?? 0) + 1);
  for (const hit of hits) {
    for (const kind of hit.kinds) add(`kind:${kind}`);
    if (hit.publisher) add(`publisher:${hit.publisher}`);
    if (hit.needs.length === 0) add("needs:nothing");
  }
  return [...counts]
    .map(([operator, count]) => ({ operator, count }))
    .sort((a, b) => b.count - a.count || a.operator.localeCompare(b.operator))
    .slice(0, 8);
}
