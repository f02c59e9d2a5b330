/** The arguments a tool was last run with in this tab, so that running it again starts where it was. */

const entry = (tool: string) => `args ${tool}`;
const MOST = 100_000;

export function keepArgs(tool: string, text: string): void {
  try {
    if (text.length <= MOST) sessionStorage.setItem(entry(tool), text);
  } catch {
    // A browser that keeps nothing starts with an empty form.
  }
}

export function keptArgs(tool: string): string | undefined {
  try {
    return sessionStorage.getItem(entry(tool)) ?? undefined;
  } catch {
    return undefined;
  }
}
