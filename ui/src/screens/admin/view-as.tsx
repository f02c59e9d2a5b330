/** The catalogue as somebody else sees it, with the reason for what they do not see. */

import { useQuery } from "@tanstack/react-query";
import { asProblem } from "@/api/http";
import { peopleQuery, seenByQuery } from "@/api/queries";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { Rail } from "@/parts/rail";
import { SkeletonRows } from "@/parts/skeleton";
import { Select } from "@/ui/input";

export function ViewAs({
  as,
  onChange,
}: {
  as: string | undefined;
  onChange: (as: string | undefined) => void;
}) {
  const { data: people } = useQuery(peopleQuery);
  const person = people?.find((it) => it.id === as);
  return (
    <>
      <Select
        aria-label="View as"
        value={as ?? ""}
        onChange={(event) => onChange(event.target.value || undefined)}
      >
        <option value="">View as…</option>
        {people?.map((it) => (
          <option key={it.id} value={it.id}>
            {it.name}
          </option>
        ))}
      </Select>
      {as !== undefined && (
        <Rail title={`As ${person?.name ?? "somebody else"}`} onClose={() => onChange(undefined)}>
          <Seen personId={as} />
        </Rail>
      )}
    </>
  );
}

function Seen({ personId }: { personId: string }) {
  const seen = useQuery(seenByQuery(personId));
  if (seen.isPending) return <SkeletonRows rows={6} />;
  if (seen.isError) return <ProblemView problem={asProblem(seen.error)} className="m-4" />;
  return (
    <>
      <p className="border-b bg-info-soft px-4 py-2">You look on. Nothing can be done from here.</p>
      <ul>
        {seen.data.map((it) => (
          <li key={`${it.server} ${it.tool}`} className="border-b px-4 py-2">
            <Foreign
              text={it.public_name ?? it.server}
              plain
              className={it.reason ? "font-mono text-muted text-sm line-through" : "font-mono text-sm"}
            />
            {it.reason && <p className="text-muted">hidden: {it.reason}</p>}
          </li>
        ))}
      </ul>
      {seen.data.length === 0 && <p className="p-4 text-muted">They see no tools.</p>}
    </>
  );
}
