/** Inserting a tool: into the composer or the plan that is there, else into a new chat. */

export type Inserted = { server: string; method: string; serverId: string };

type Taker = (inserted: Inserted) => void;

let taker: Taker | undefined;

/** What is on screen takes what is inserted. Gives back how to let go. */
export function mountTaker(take: Taker): () => void {
  taker = take;
  return () => {
    if (taker === take) taker = undefined;
  };
}

/** False when nothing here takes it. */
export function insertMethod(inserted: Inserted): boolean {
  taker?.(inserted);
  return taker !== undefined;
}
