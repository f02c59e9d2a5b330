/** Bundles that are installed, each with its servers and what they are among their twins. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { asProblem } from "@/api/http";
import type { Bundle, BundleServer } from "@/api/types.gen";
import { Confirm } from "@/parts/confirm";
import { Empty } from "@/parts/empty";
import { Foreign } from "@/parts/foreign";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { Dot } from "@/parts/status-dot";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { bundlesQuery, useUninstall } from "./api";

export function InstalledBundles({ onUpdate }: { onUpdate: (id: string) => void }) {
  const { data, error } = useQuery(bundlesQuery);
  return (
    <Card title="Installed">
      {error && <ProblemView problem={asProblem(error)} className="m-4" />}
      {data?.length === 0 && <Empty sentence="No bundles yet. Search the registry, or paste a place." />}
      {data && data.length > 0 && (
        <ul className="divide-y">
          {data.map((it) => (
            <BundleRow key={it.id} bundle={it} onUpdate={onUpdate} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function BundleRow({ bundle, onUpdate }: { bundle: Bundle; onUpdate: (id: string) => void }) {
  const [asks, setAsks] = useState(false);
  const uninstall = useUninstall(bundle.id);
  return (
    <li className="flex flex-wrap items-start gap-3 px-4 py-3" aria-label={bundle.id}>
      <div className="min-w-0 flex-1 basis-64">
        <h3 className="font-medium">
          <Foreign text={bundle.name} plain /> <Badge>{bundle.version}</Badge>
        </h3>
        <p className="break-all text-muted text-sm">{bundle.file ?? "No file; the hub alone runs it."}</p>
        <ul className="mt-1 space-y-0.5">
          {bundle.servers.map((it) => (
            <ServerLine key={it.id} server={it} />
          ))}
        </ul>
      </div>
      <Button aria-label={`Update ${bundle.id}`} onClick={() => onUpdate(bundle.id)}>
        Update
      </Button>
      <Button variant="danger" aria-label={`Remove ${bundle.id}`} onClick={() => setAsks(true)}>
        Remove
      </Button>
      <Confirm
        question={`Remove bundle "${bundle.id}"?`}
        effect="Its servers leave the file and the hub. What else stands in the file stays as it is."
        verb="Remove"
        open={asks}
        onOpenChange={setAsks}
        busy={uninstall.isPending}
        problem={uninstall.error ? asProblem(uninstall.error) : undefined}
        onConfirm={() => uninstall.mutate(undefined, { onSuccess: () => setAsks(false) })}
      />
    </li>
  );
}

function ServerLine({ server }: { server: BundleServer }) {
  return (
    <li className="flex flex-wrap items-center gap-1.5">
      {server.health && <Dot health={server.health} />}
      {server.slug ? (
        <Link to="/mcp/$id" params={{ id: server.slug }} className="text-accent underline">
          {server.server}
        </Link>
      ) : (
        server.server
      )}
      {server.state === "duplicate" ? (
        <span className="text-muted">Duplicate of {server.duplicate_of}</span>
      ) : (
        <span className="text-muted">{server.health?.summary}</span>
      )}
    </li>
  );
}
