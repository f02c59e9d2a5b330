/** Programs that the person let in by signing in. */

import { useQuery } from "@tanstack/react-query";
import { asProblem } from "@/api/http";
import { useDisconnectClient } from "@/api/mutations";
import { clientsQuery } from "@/api/queries";
import { useNow } from "@/app/now";
import { ago } from "@/lib/format";
import { Foreign } from "@/parts/foreign";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";

export function ConnectedClients() {
  const clients = useQuery(clientsQuery);
  const end = useDisconnectClient();
  const now = useNow();
  return (
    <Card id="clients" title="Connected clients">
      {clients.isPending && <SkeletonRows rows={2} />}
      {clients.isError && <ProblemView problem={asProblem(clients.error)} className="m-4" />}
      {clients.data?.length === 0 && (
        <p className="p-4 text-muted">No client has signed in with your name yet.</p>
      )}
      <ul>
        {clients.data?.map((it) => (
          <li
            key={it.id}
            className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-2.5 last:border-b-0"
          >
            <div className="min-w-0 flex-1 basis-48">
              <Foreign text={it.name} plain className="block truncate font-medium" />
              <span className="text-muted">
                <Foreign text={it.place} plain /> ·{" "}
                {it.grants === null ? "every instance" : it.grants.map((grant) => grant.slug).join(", ")} ·{" "}
                {it.last_used_at === null ? "never used" : `used ${ago(it.last_used_at, now)}`}
              </span>
            </div>
            <Button size="sm" disabled={end.isPending} onClick={() => end.mutate(it.id)}>
              Disconnect
            </Button>
          </li>
        ))}
      </ul>
      {end.error && <ProblemView problem={asProblem(end.error)} className="m-4" />}
    </Card>
  );
}
