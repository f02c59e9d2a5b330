/** Inserting a tool: into the composer that is there, else onto the clipboard. */

import { callSnippet, type Snippet } from "@/lib/call-snippet";
import { copy } from "./clipboard";
import { toast } from "./toast";

type Composer = (snippet: Snippet) => void;

let composer: Composer | undefined;

/** A composer that is on screen takes what is inserted. Gives back how to let go. */
export function mountComposer(take: Composer): () => void {
  composer = take;
  return () => {
    if (composer === take) composer = undefined;
  };
}

export async function insertMethod(server: string, method: string): Promise<void> {
  const snippet = callSnippet(server, method);
  if (composer) return composer(snippet);
  const done = await copy(snippet.text);
  await toast(done ? `Copied ${snippet.text}` : "This browser does not allow copying");
}
