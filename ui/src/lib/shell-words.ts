/** Command lines: read as a shell would read them, and written so that a shell reads them back. */

/** Splits a command line into words. Quotes and backslashes count; nothing is expanded or run. */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < line.length; at++) {
    const character = line[at] as string;
    if (quote) {
      if (character === quote) quote = "";
      else if (character === "\\" && quote === '"' && '"\\$`\n'.includes(line[at + 1] ?? " "))
        word += line[++at] ?? "";
      else word += character;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= "";
    } else if (character === "\\" && at + 1 < line.length) {
      const next = line[++at] as string;
      if (next !== "\n") word = (word ?? "") + next;
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quote) return undefined;
  if (word !== undefined) words.push(word);
  return words;
}

/** One word as it must be typed. */
export function quoteWord(word: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word)) return word;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

export const joinWords = (words: readonly string[]) => words.map(quoteWord).join(" ");
