/** Which call made which: the call, what it came from, and what it called. */

import { Link } from "@tanstack/react-router";
import type { CallDetail, CallRecord } from "@/api/types";
import { endWord } from "@/lib/calls";
import { duration } from "@/lib/format";
import { Foreign } from "@/parts/foreign";

export function CallTree({ call }: { call: CallDetail }) {
  const childrenOf = (id: string) => call.nested.filter((it) => it.parent_id === id);
  return (
    <div className="space-y-2">
      {call.parent_id && (
        <p>
          Called by{" "}
          <Link
            to="/activity/$call"
            params={{ call: call.parent_id }}
            className="font-mono text-accent text-sm hover:underline"
          >
            {call.parent_id}
          </Link>
        </p>
      )}
      <ul>
        <Branch call={call} childrenOf={childrenOf} isHere />
      </ul>
      {call.nested.length === 0 && <p className="text-muted">It made no calls of its own.</p>}
    </div>
  );
}

function Branch({
  call,
  childrenOf,
  isHere,
}: {
  call: CallRecord;
  childrenOf: (id: string) => CallRecord[];
  isHere?: boolean;
}) {
  const children = childrenOf(call.id);
  return (
    <li>
      <p className="flex flex-wrap items-baseline gap-x-3">
        {isHere ? (
          <span className="font-medium font-mono text-sm">
            <Foreign text={call.tool} plain />
          </span>
        ) : (
          <Link
            to="/activity/$call"
            params={{ call: call.id }}
            className="font-mono text-accent text-sm hover:underline"
          >
            <Foreign text={call.tool} plain />
          </Link>
        )}
        <span className="text-muted text-sm">
          {endWord(call.outcome)}, {duration(call.ms)}
        </span>
      </p>
      {children.length > 0 && (
        <ul className="ml-2 border-l pl-4">
          {children.map((it) => (
            <Branch key={it.id} call={it} childrenOf={childrenOf} />
          ))}
        </ul>
      )}
    </li>
  );
}
