/** Who changed what, the latest first. */

import { useQuery } from "@tanstack/react-query";
import { asProblem } from "@/api/http";
import { adminLogQuery } from "@/api/queries";
import { useNow } from "@/app/now";
import { clock } from "@/lib/format";
import { Empty } from "@/parts/empty";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";

export function ChangeLog() {
  const log = useQuery(adminLogQuery);
  const now = useNow();
  if (log.isPending) return <SkeletonRows rows={5} />;
  if (log.isError) return <ProblemView problem={asProblem(log.error)} />;
  if (log.data.length === 0) return <Empty sentence="Nothing was changed yet." />;
  return (
    <div className="@container overflow-hidden rounded-lg border bg-surface">
      <table className="w-full table-fixed border-collapse text-left">
        <caption className="sr-only">Recent changes</caption>
        <thead className="border-b bg-sunken text-muted text-sm">
          <tr>
            <th className="w-24 py-2 pl-4 font-medium @xl:w-44">When</th>
            <th className="hidden w-40 py-2 font-medium @xl:table-cell">Who</th>
            <th className="w-36 py-2 font-medium">What</th>
            <th className="py-2 pr-4 font-medium">About</th>
          </tr>
        </thead>
        <tbody>
          {log.data.map((it) => (
            <tr key={it.id} className="border-b last:border-b-0">
              <td className="py-1.5 pr-3 pl-4 text-muted tabular-nums">{clock(it.at, now)}</td>
              <td className="hidden truncate py-1.5 pr-3 @xl:table-cell">
                <Foreign text={it.person ?? "somebody who is gone"} plain />
              </td>
              <td className="truncate py-1.5 pr-3 font-mono text-sm">{it.action}</td>
              <td className="truncate py-1.5 pr-4">
                <Foreign text={it.subject} plain />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
