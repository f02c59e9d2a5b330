/** What a transport is called on the page. */

import type { Transport } from "@/api/types";

const WORDS: Record<Transport, string> = {
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

export const kindWord = (transport: Transport) => WORDS[transport] ?? transport;
