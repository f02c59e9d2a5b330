/** A few words in the corner, for what changed nothing that can be seen: a copy, an insert. */

/** The library comes with the first toast. */
export async function toast(text: string): Promise<void> {
  const { show } = await import("./toaster");
  show(text);
}
