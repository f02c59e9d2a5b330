/** What a transport is called on the page. */

const WORDS: Record<string, string> = {
  streamable_http: "HTTP",
  sse: "SSE, deprecated",
  stdio: "Process",
  unix: "Socket",
  pipe: "Pipe",
  bud: "Bud",
  tab: "Tab",
  wasm: "Module",
  builtin: "Built-in",
};

export const kindWord = (transport: string) => WORDS[transport] ?? transport;

/** A command line that begins with the program, not with where it lies. */
export const withoutFolders = (command: string) => command.replace(/^\S*\/(?=\S)/, "");
