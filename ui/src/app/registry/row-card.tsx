/** What a row says when one stays on it: signature, description, age. */

import { useQuery } from "@tanstack/react-query";
import { metaQuery } from "@/api/queries";
import { age, plural } from "@/lib/format";
import type { Row } from "@/lib/registry-rows";
import { statusWords } from "@/lib/status";
import { Foreign } from "@/parts/foreign";

export function RowCard({ row }: { row: Extract<Row, { kind: "server" | "method" }> }) {
  const { entry } = row;
  const { data: meta } = useQuery({ ...metaQuery(entry.id), enabled: false });
  const known = meta?.age_s === null || meta === undefined ? "" : `List is ${age(meta.age_s)}`;
  return (
    <div className="space-y-1.5">
      {row.kind === "method" ? (
        <>
          <p className="font-mono text-sm">
            <Foreign text={row.method.signature} plain />
          </p>
          {row.method.description && (
            <Foreign text={row.method.description} plain block className="line-clamp-6 text-muted" />
          )}
        </>
      ) : (
        <>
          <p className="font-medium">
            <Foreign text={entry.name} plain />
          </p>
          {entry.description && (
            <Foreign text={entry.description} plain block className="line-clamp-6 text-muted" />
          )}
          {entry.instance ? (
            <p>{statusWords(entry.instance.status)}</p>
          ) : (
            <p>{plural(entry.tools, "tool")} · not in use yet</p>
          )}
        </>
      )}
      {entry.reason && <p className="text-warn">{entry.reason}</p>}
      {known && <p className="text-muted text-sm">{known}</p>}
    </div>
  );
}
