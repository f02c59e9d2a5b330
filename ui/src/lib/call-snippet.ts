/** The text that dragging, Enter and the menu all insert. */

export type Snippet = { text: string; select: [number, number] };

/** `/call github.search_code(…)`. The `…` is selected, so typing replaces it. */
export function callSnippet(server: string, method: string): Snippet {
  const head = `/call ${serverWord(server)}.${method}(`;
  return { text: `${head}…)`, select: [head.length, head.length + 1] };
}

/** A slug stands as it is; any other name is quoted, so that the first dot outside quotes separates. */
function serverWord(server: string): string {
  return /^[A-Za-z0-9-]{1,24}$/.test(server) ? server : JSON.stringify(server);
}
