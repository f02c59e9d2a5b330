/** Tools that are not what was approved: what changed, and a decision. */

import { useQuery } from "@tanstack/react-query";
import { asProblem } from "@/api/http";
import type { ChangedTool } from "@/api/types.gen";
import { DiffView } from "@/parts/diff-view";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { pinsQuery, useDecide } from "./api";
import { Flags } from "./flags";

export function Changes() {
  const { data } = useQuery(pinsQuery);
  const open = data?.filter((it) => !it.rejected) ?? [];
  if (open.length === 0) return null;
  return (
    <Card title="Changed since they were approved">
      <ul className="divide-y">
        {open.map((it) => (
          <Change key={`${it.instance} ${it.tool} ${it.digest}`} changed={it} />
        ))}
      </ul>
    </Card>
  );
}

const WORDS = { changed: "changed", renamed: "has another name", new: "is new" };

function Change({ changed }: { changed: ChangedTool }) {
  const decide = useDecide(changed);
  return (
    <li className="space-y-2 px-4 py-3" aria-label={changed.public_name}>
      <p className="flex flex-wrap items-center gap-1.5">
        <code className="break-all font-medium">{changed.public_name}</code> {WORDS[changed.is]}
        {changed.renamed_from && <span className="text-muted">was {changed.renamed_from}</span>}
        <Badge>{changed.held ? "calls are refused" : "in use"}</Badge>
      </p>
      {changed.diff.map((it) => (
        <div key={it.pointer}>
          <p className="text-muted text-sm">{it.pointer}</p>
          <DiffView
            lines={[
              ...(it.before === null ? [] : [{ kind: "gone" as const, text: it.before }]),
              ...(it.after === null ? [] : [{ kind: "new" as const, text: it.after }]),
            ]}
          />
          <Flags flags={it.flags} />
        </div>
      ))}
      {decide.error && <ProblemView problem={asProblem(decide.error)} />}
      <div className="flex flex-wrap gap-2">
        <Button variant="primary" disabled={decide.isPending} onClick={() => decide.mutate("approve")}>
          Approve
        </Button>
        <Button variant="danger" disabled={decide.isPending} onClick={() => decide.mutate("reject")}>
          Reject
        </Button>
      </div>
    </li>
  );
}
