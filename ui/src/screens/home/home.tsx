/** Home: connect one client, see that it works. */

import { useQuery } from "@tanstack/react-query";
import { asProblem } from "@/api/http";
import { instancesQuery, statusQuery } from "@/api/queries";
import { steps as stepsOf } from "@/lib/checklist";
import { CopyButton } from "@/parts/copy-button";
import { Card, Page } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";
import { Checklist } from "./checklist";
import { Clients } from "./clients";
import { NeedsYou } from "./needs-you";

export function Home() {
  const status = useQuery(statusQuery);
  const instances = useQuery(instancesQuery);
  const endpoint = status.data?.endpoint ?? `${location.origin}/mcp`;
  const problem = status.error ?? instances.error;
  const steps = status.data && stepsOf(status.data.checklist);
  const isBeginning = steps?.some((it) => !it.done) ?? false;
  return (
    <Page title="Home" about="Connect a client to this endpoint, and it has every tool you have.">
      <div className="space-y-5">
        <div className="flex flex-wrap items-center gap-x-3 rounded-lg border bg-surface px-4 py-2.5">
          <span className="font-semibold">Endpoint</span>
          <span className="flex min-w-0 items-center gap-1">
            <code className="min-w-0 break-all text-lg">{endpoint}</code>
            <CopyButton text={endpoint} label="Copy the endpoint" />
          </span>
        </div>
        {problem && (
          <ProblemView problem={asProblem(problem)}>
            <Button size="sm" onClick={() => Promise.all([status.refetch(), instances.refetch()])}>
              Try again
            </Button>
          </ProblemView>
        )}
        {isBeginning && steps && <Checklist steps={steps} />}
        <Clients endpoint={endpoint} by={status.data && status.data.mode !== "solo" ? "oauth" : "key"} />
        {instances.isPending ? (
          <Card title="Needs you">
            <SkeletonRows rows={2} />
          </Card>
        ) : (
          instances.data && <NeedsYou instances={instances.data} />
        )}
      </div>
    </Page>
  );
}
