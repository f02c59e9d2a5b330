/** An edit of a few named texts: what differs from where it began, and what others did meanwhile. */

export type Texts = Record<string, string>;

/** Only what was changed, to be sent. */
export function changes<T extends Texts>(base: T, edited: T): Partial<T> {
  const changed: Partial<T> = {};
  for (const key of Object.keys(edited) as (keyof T)[])
    if (edited[key] !== base[key]) changed[key] = edited[key];
  return changed;
}

/** What somebody else has changed since the edit began. */
export function theirs<T extends Texts>(base: T, now: T): (keyof T)[] {
  return (Object.keys(base) as (keyof T)[]).filter((key) => base[key] !== now[key]);
}

/** The edit on top of what others did: their change stands where the edit changed nothing. */
export function rebased<T extends Texts>(base: T, edited: T, now: T): T {
  return { ...now, ...changes(base, edited) };
}

/** Reads an edited JSON text back. Keys that are not known are an error, because they would be lost. */
export function fromJson<T extends Texts>(text: string, base: T): T | { problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: "this is not valid JSON" };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { problem: "expected a JSON object" };
  const unknown = Object.keys(value).filter((key) => !(key in base));
  if (unknown.length > 0) return { problem: `not known here: ${unknown.join(", ")}` };
  const wrong = Object.entries(value).find(([, it]) => typeof it !== "string");
  if (wrong) return { problem: `${wrong[0]} must be text` };
  return { ...base, ...(value as Partial<T>) };
}
