/** Two texts, line by line: what went, what came, what stayed. */

export type DiffLine = { kind: "same" | "gone" | "new"; text: string };

/** Beyond this, a diff helps nobody and the table would not fit. */
const LINES = 2000;

export function diffLines(before: string, after: string): DiffLine[] {
  const a = before.split("\n");
  const b = after.split("\n");
  if (a.length > LINES || b.length > LINES) {
    return [
      ...a.map((text) => ({ kind: "gone" as const, text })),
      ...b.map((text) => ({ kind: "new" as const, text })),
    ];
  }
  const common = table(a, b);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  const at = (row: number, column: number) => common[row]?.[column] ?? 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i] as string });
      i++;
      j++;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: "gone", text: a[i++] as string });
    } else lines.push({ kind: "new", text: b[j++] as string });
  }
  return lines;
}

/** Lengths of the longest common rest, from each pair of lines on. */
function table(a: string[], b: string[]): Uint16Array[] {
  const rows = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    const row = rows[i] as Uint16Array;
    const below = rows[i + 1] as Uint16Array;
    for (let j = b.length - 1; j >= 0; j--) {
      row[j] =
        a[i] === b[j] ? (below[j + 1] as number) + 1 : Math.max(below[j] as number, row[j + 1] as number);
    }
  }
  return rows;
}
