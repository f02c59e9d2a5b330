/** The catalogue as somebody else sees it, with the reason for what they do not see. */

import { useQuery } from "@tanstack/react-query";
import { asProblem } from "@/api/http";
import { peopleQuery, seenByQuery, tokensOfQuery } from "@/api/queries";
import { ROLES } from "@/lib/roles";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { Rail } from "@/parts/rail";
import { SkeletonRows } from "@/parts/skeleton";
import { Select } from "@/ui/input";

type Props = {
  /** `role:<role>`, a person, or `<person>/<token>`. */
  as: string | undefined;
  onChange: (as: string | undefined) => void;
};

export function ViewAs({ as, onChange }: Props) {
  const { data: people } = useQuery(peopleQuery);
  const [who = "", tokenId] = (as ?? "").split("/");
  const person = people?.find((it) => it.id === who);
  const role = ROLES.find((it) => `role:${it.id}` === who);
  const title = role ? `somebody new: ${role.name.toLowerCase()}` : (person?.name ?? "somebody else");
  return (
    <>
      <Select
        aria-label="View as"
        value={who}
        onChange={(event) => onChange(event.target.value || undefined)}
      >
        <option value="">View as…</option>
        <optgroup label="A person">
          {people?.map((it) => (
            <option key={it.id} value={it.id}>
              {it.name}
            </option>
          ))}
        </optgroup>
        <optgroup label="Somebody new, in the role">
          {ROLES.map((it) => (
            <option key={it.id} value={`role:${it.id}`}>
              {it.name}
            </option>
          ))}
        </optgroup>
      </Select>
      {as !== undefined && (
        <Rail title={`As ${title}`} onClose={() => onChange(undefined)}>
          <p className="border-b bg-info-soft px-4 py-2">You look on. Nothing can be done from here.</p>
          {person && (
            <TokenSelect
              personId={who}
              tokenId={tokenId}
              onChange={(it) => onChange(it ? `${who}/${it}` : who)}
            />
          )}
          <Seen who={as} />
        </Rail>
      )}
    </>
  );
}

/** A token of theirs, which may be for less than they have. */
function TokenSelect({
  personId,
  tokenId,
  onChange,
}: {
  personId: string;
  tokenId: string | undefined;
  onChange: (tokenId: string) => void;
}) {
  const { data: tokens } = useQuery(tokensOfQuery(personId));
  if (!tokens || tokens.length === 0) return null;
  return (
    <div className="border-b px-4 py-2">
      <Select
        aria-label="With the token"
        value={tokenId ?? ""}
        onChange={(event) => onChange(event.target.value)}
      >
        <option value="">In person</option>
        {tokens.map((it) => (
          <option key={it.id} value={it.id}>
            Token {it.name}
          </option>
        ))}
      </Select>
    </div>
  );
}

function Seen({ who }: { who: string }) {
  const seen = useQuery(seenByQuery(who));
  if (seen.isPending) return <SkeletonRows rows={6} />;
  if (seen.isError) return <ProblemView problem={asProblem(seen.error)} className="m-4" />;
  return (
    <>
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
