/** Servers that can be used: one instance each, or several. */

import type { UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "@/api/http";
import type { Instance, Server } from "@/api/types";
import { cn } from "@/lib/class";
import { kindWord } from "@/lib/kind";
import { availableServers } from "@/lib/scope";
import { Empty } from "@/parts/empty";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { ServerIcon } from "@/parts/server-icon";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";
import { UseDialog } from "./use-dialog";

type Props = {
  servers: UseQueryResult<Server[]>;
  instances: Instance[];
  search: string;
  select: string | undefined;
};

export function Available({ servers, instances, search, select }: Props) {
  const [chosen, setChosen] = useState<Server>();
  if (servers.isPending) return <SkeletonRows rows={5} />;
  if (servers.isError) return <ProblemView problem={asProblem(servers.error)} className="m-3" />;
  const shown = availableServers(servers.data, instances, search);
  return (
    <>
      {shown.length === 0 && (
        <Empty sentence="Every server you may use is in use, or none is shared with you." />
      )}
      <ul>
        {shown.map((it) => (
          <li
            key={it.id}
            className={cn(
              "flex flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-2.5 last:border-b-0",
              it.id === select && "bg-accent-soft",
            )}
          >
            <ServerIcon
              name={it.name}
              kind="external"
              transport={it.transport}
              icon={`/api/mcp/icon/${it.id}`}
            />
            <div className="min-w-0 flex-1 basis-44">
              <p className="font-medium">
                <Foreign text={it.name} plain />
              </p>
              <p className="truncate text-muted">
                <Foreign text={it.description || it.endpoint} plain />
              </p>
            </div>
            <span className="text-muted">{kindWord(it.transport)}</span>
            <Button data-item size="sm" onClick={() => setChosen(it)}>
              Use
            </Button>
          </li>
        ))}
      </ul>
      {chosen && <UseDialog server={chosen} instances={instances} onClose={() => setChosen(undefined)} />}
    </>
  );
}
