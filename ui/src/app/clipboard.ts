/** Copying, with the same answer everywhere. */

/** False when the browser does not allow it; then the text is still there to be selected. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
