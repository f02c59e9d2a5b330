/** Where the person is signed in. */

import { useQuery } from "@tanstack/react-query";
import { asProblem } from "@/api/http";
import { useEndBrowser } from "@/api/mutations";
import { browsersQuery } from "@/api/queries";
import { useNow } from "@/app/now";
import { ago } from "@/lib/format";
import { Foreign } from "@/parts/foreign";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";

export function Browsers() {
  const browsers = useQuery(browsersQuery);
  const end = useEndBrowser();
  const now = useNow();
  return (
    <Card title="Signed in">
      {browsers.isPending && <SkeletonRows rows={2} />}
      {browsers.isError && <ProblemView problem={asProblem(browsers.error)} className="m-4" />}
      <ul>
        {browsers.data?.map((it) => (
          <li
            key={it.id}
            className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-2.5 last:border-b-0"
          >
            <div className="min-w-0 flex-1 basis-48">
              <Foreign text={it.agent || "A browser"} plain className="block truncate" />
              <span className="text-muted">Seen {ago(it.last_seen_at, now)}</span>
            </div>
            {it.current ? (
              <Badge tone="accent">this one</Badge>
            ) : (
              <Button size="sm" disabled={end.isPending} onClick={() => end.mutate(it.id)}>
                Sign out
              </Button>
            )}
          </li>
        ))}
      </ul>
      {end.error && <ProblemView problem={asProblem(end.error)} className="m-4" />}
    </Card>
  );
}
