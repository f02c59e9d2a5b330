/** What a server offers right now, each list with its own error. */

import { useQuery } from "@tanstack/react-query";
import { RefreshCw } from "lucide-react";
import { asProblem } from "@/api/http";
import { previewQuery } from "@/api/queries";
import type { Preview, PreviewList } from "@/api/types";
import { cn } from "@/lib/class";
import { count, plural } from "@/lib/format";
import { Foreign } from "@/parts/foreign";
import { JsonView } from "@/parts/json-view";
import { ProblemView } from "@/parts/problem";
import { ScrollBox } from "@/parts/scroll-box";
import { SkeletonRows } from "@/parts/skeleton";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";

export function ServerPreview({ serverId }: { serverId: string }) {
  const preview = useQuery(previewQuery(serverId));
  return (
    <section aria-label="Preview">
      <div className="flex items-center gap-2 px-4 pt-3">
        <h3 className="flex-1 font-semibold">Preview</h3>
        <Button
          variant="ghost"
          size="icon-sm"
          aria-label="Look again"
          disabled={preview.isFetching}
          onClick={() => preview.refetch()}
        >
          <RefreshCw className={cn(preview.isFetching && "animate-spin")} />
        </Button>
      </div>
      {preview.isPending && <SkeletonRows rows={3} />}
      {preview.isError && (
        <div className="p-4 pt-2">
          <ProblemView problem={asProblem(preview.error)} />
          <p className="mt-2 text-muted">The entry is saved all the same.</p>
        </div>
      )}
      {preview.data && <PreviewView preview={preview.data} />}
    </section>
  );
}

export function PreviewView({ preview }: { preview: Preview }) {
  const names = new Map(preview.names.map((it) => [it.tool, it]));
  return (
    <div className="space-y-3 p-4 pt-2">
      {preview.error && <ProblemView problem={preview.error} />}
      <p className="flex flex-wrap items-center gap-1.5">
        {preview.era && (
          <Badge>
            {preview.era.era} · {preview.era.version}
          </Badge>
        )}
        <Badge>{plural(preview.tools.items.length, "tool")}</Badge>
        <Badge>{plural(preview.prompts.items.length, "prompt")}</Badge>
        <Badge>{plural(preview.resources.items.length, "resource")}</Badge>
        {preview.tokens > 0 && <Badge>about {count(preview.tokens)} tokens</Badge>}
      </p>
      {preview.warnings.map((it) => (
        <p key={it} className="text-warn">
          <Foreign text={it} />
        </p>
      ))}
      <List title="Tools" list={preview.tools} open nameOf={(name) => names.get(name)} />
      <List title="Prompts" list={preview.prompts} />
      <List title="Resources" list={preview.resources} />
      <details>
        <summary className="font-medium">Capabilities</summary>
        <JsonView value={preview.capabilities} className="mt-2" />
      </details>
    </div>
  );
}

type ListProps = {
  title: string;
  list: PreviewList;
  open?: boolean;
  nameOf?: (name: string) => { public_name: string; collides?: boolean } | undefined;
};

function List({ title, list, open, nameOf }: ListProps) {
  if (list.error) {
    return (
      <div className="space-y-1">
        <p className="font-medium">{title}</p>
        <ProblemView problem={list.error} />
      </div>
    );
  }
  if (list.items.length === 0) return null;
  return (
    <details open={open}>
      <summary className="font-medium">
        {title} <span className="text-muted">{list.items.length}</span>
      </summary>
      <ScrollBox label={title} className="mt-1 max-h-72">
        <ul className="space-y-1.5">
          {list.items.map((it, index) => {
            const name = typeof it.name === "string" ? it.name : "(without a name)";
            const known = nameOf?.(name);
            return (
              <li key={`${index} ${name}`}>
                <p className="font-mono text-sm">
                  <Foreign text={known?.public_name ?? name} plain />
                  {known?.collides && (
                    <Badge tone="warn" className="ml-2">
                      collides
                    </Badge>
                  )}
                </p>
                {typeof it.description === "string" && (
                  <Foreign text={it.description} plain className="block truncate text-muted text-sm" />
                )}
              </li>
            );
          })}
        </ul>
      </ScrollBox>
    </details>
  );
}
