/** Servers the person has signed in to. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { instancesQuery } from "@/api/queries";
import type { Instance, Problem } from "@/api/types";
import { Foreign } from "@/parts/foreign";
import { HealthAction } from "@/parts/health-action";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { StatusLine } from "@/parts/status-dot";

export function Accounts() {
  const instances = useQuery(instancesQuery);
  const mine = instances.data?.filter((it) => it.auth_type === "oauth");
  return (
    <Card id="accounts" title="Connected accounts">
      {instances.isPending && <SkeletonRows rows={2} />}
      {mine?.length === 0 && <p className="p-4 text-muted">No server of yours wants a sign-in.</p>}
      <ul>
        {mine?.map((it) => (
          <Account key={it.id} instance={it} />
        ))}
      </ul>
    </Card>
  );
}

function Account({ instance }: { instance: Instance }) {
  const [problem, setProblem] = useState<Problem>();
  return (
    <li className="border-b px-4 py-2.5 last:border-b-0">
      <div className="flex flex-wrap items-center gap-3">
        <Link
          to="/mcp/$id"
          params={{ id: instance.slug }}
          search={{ tab: "settings" }}
          className="min-w-0 flex-1 font-medium hover:underline"
        >
          <Foreign text={instance.name} plain />
        </Link>
        <StatusLine health={instance.health} />
        <HealthAction instance={instance} onProblem={setProblem} />
      </div>
      {problem && <ProblemView problem={problem} className="mt-2" />}
    </li>
  );
}
