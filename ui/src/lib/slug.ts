/** Slugs, as the hub checks them. */

export function slugProblem(slug: string): string | undefined {
  if (slug === "") return "slug is required";
  if (slug.length > 24) return "slug must be at most 24 characters";
  return /^[A-Za-z0-9-]+$/.test(slug) ? undefined : "slug may hold only letters, digits and hyphens";
}

const RESERVED = ["builtin", "tabs"];

/** The wanted slug, or it with the first number that is free. */
export function freeSlug(wanted: string, taken: string[]): string {
  const used = new Set([...taken, ...RESERVED].map((it) => it.toLowerCase()));
  for (let number = 1; ; number++) {
    const end = number === 1 ? "" : `-${number}`;
    const slug = wanted.slice(0, 24 - end.length) + end;
    if (!used.has(slug.toLowerCase())) return slug;
  }
}
