/** What a bud called while it answered, inside its card. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { callQuery } from "@/api/queries";
import type { CallRecord } from "@/api/types";
import { endWord } from "@/lib/calls";
import { duration } from "@/lib/format";
import { Foreign } from "@/parts/foreign";
import { Badge } from "@/ui/badge";

export function Nested({ callId }: { callId: string }) {
  const { data } = useQuery(callQuery(callId));
  if (!data || data.nested.length === 0) return null;
  return (
    <div className="space-y-1">
      <p className="text-muted text-sm">What it called</p>
      <Calls of={callId} nested={data.nested} />
    </div>
  );
}

function Calls({ of, nested }: { of: string; nested: CallRecord[] }) {
  const own = nested.filter((it) => it.parent_id === of);
  if (own.length === 0) return null;
  return (
    <ul className="space-y-1">
      {own.map((it) => (
        <li key={it.id} className="rounded-md border px-3 py-1.5">
          <Link
            to="/activity/$call"
            params={{ call: it.id }}
            className="flex flex-wrap items-center gap-x-2 rounded-sm hover:underline"
          >
            <Foreign text={it.tool} plain className="min-w-0 flex-1 truncate font-mono text-sm" />
            {it.error_code && <Badge className="font-mono">{it.error_code}</Badge>}
            <span className="text-muted text-sm tabular-nums">
              {endWord(it.outcome)}, {duration(it.ms)}
            </span>
          </Link>
          <Calls of={it.id} nested={nested} />
        </li>
      ))}
    </ul>
  );
}
