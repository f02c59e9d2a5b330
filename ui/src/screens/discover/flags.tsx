/** What a person who reads a description may not see, or may read as something it is not. */

import type { Flag } from "@/api/types.gen";

export function Flags({ flags }: { flags: Flag[] }) {
  if (flags.length === 0) return null;
  return (
    <ul className="mt-1 space-y-1">
      {flags.map((it) => (
        <li key={`${it.kind} ${it.at}`} className="break-words rounded-sm bg-warn-soft px-2 py-1 text-sm">
          {it.kind === "hidden" ? "Hidden characters" : "Speaks to a model"}: <code>{it.excerpt}</code>
        </li>
      ))}
    </ul>
  );
}
