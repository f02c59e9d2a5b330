/** What only the person can do: sign in, review, restart. */

import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Instance, Problem } from "@/api/types";
import { Foreign } from "@/parts/foreign";
import { HealthAction } from "@/parts/health-action";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { StatusLine } from "@/parts/status-dot";

export function NeedsYou({ instances }: { instances: Instance[] }) {
  const waiting = instances.filter((it) => it.health.level === "warn" || it.health.level === "bad");
  if (waiting.length === 0) return null;
  return (
    <Card title="Needs you">
      <ul>
        {waiting.map((it) => (
          <WaitingRow key={it.id} instance={it} />
        ))}
      </ul>
    </Card>
  );
}

function WaitingRow({ instance }: { instance: Instance }) {
  const [problem, setProblem] = useState<Problem>();
  return (
    <li className="border-b px-4 py-2.5 last:border-b-0">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Link to="/mcp/$id" params={{ id: instance.slug }} className="min-w-0 font-medium hover:underline">
          <Foreign text={instance.name} plain />
        </Link>
        <StatusLine health={instance.health} className="min-w-0 flex-1 basis-40" />
        <HealthAction instance={instance} onProblem={setProblem} />
      </div>
      {problem && <ProblemView problem={problem} className="mt-2" />}
    </li>
  );
}
