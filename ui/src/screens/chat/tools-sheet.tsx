/** The tools of this chat, and what they cost in every turn. */

import { useQueries, useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { asProblem } from "@/api/http";
import { metaQuery, registryQuery } from "@/api/queries";
import type { Meta, Problem } from "@/api/types";
import type { McpConfig, Overrides } from "@/api/types.gen";
import { type ServerRow, serverRows, toggledServer, toggledTool, totalOf } from "@/lib/chat-tools";
import { cn } from "@/lib/class";
import { count, plural } from "@/lib/format";
import { Empty } from "@/parts/empty";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { ServerIcon } from "@/parts/server-icon";
import { SkeletonRows } from "@/parts/skeleton";
import { ToolIcon } from "@/parts/tool-icon";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Dialog, DialogBody, DialogContent } from "@/ui/dialog";
import { Switch } from "@/ui/switch";

type Props = {
  bud: McpConfig | undefined;
  overrides: Overrides;
  problem: Problem | undefined;
  onChange: (overrides: Overrides) => void;
  onClose: () => void;
};

/** Servers of a chat, with their methods as far as they are here. */
export function useServerRows(
  bud: McpConfig | undefined,
  overrides: Overrides,
  open: readonly string[] = [],
) {
  const registry = useQuery(registryQuery);
  const entries = registry.data ?? [];
  const used = serverRows(entries, () => undefined, bud, overrides)
    .filter((it) => it.by || open.includes(it.entry.id))
    .map((it) => it.entry.id);
  const metas = useQueries({
    queries: used.map((id) => metaQuery(id)),
    combine: (all) => ({
      known: new Map(used.map((id, at): [string, Meta | undefined] => [id, all[at]?.data])),
      failed: used.filter((_, at) => all[at]?.isError),
    }),
  });
  const rows = serverRows(entries, (id) => metas.known.get(id), bud, overrides);
  return { registry, rows, failed: metas.failed, total: totalOf(rows) };
}

export function ToolsSheet({ bud, overrides, problem, onChange, onClose }: Props) {
  const [open, setOpen] = useState<string[]>([]);
  const { registry, rows, failed, total } = useServerRows(bud, overrides, open);
  return (
    <Dialog open onOpenChange={(next) => !next && onClose()}>
      <DialogContent
        side="right"
        title="Tools of this chat"
        description={`${plural(total.tools, "tool")}, about ${count(total.tokens)} tokens in every turn`}
      >
        <DialogBody className="space-y-3">
          {problem && <ProblemView problem={problem} />}
          {failed.length > 0 && (
            <p className="text-warn">
              {failed.length} of {plural(rows.length, "server")} unavailable
            </p>
          )}
          {registry.isPending && <SkeletonRows rows={5} />}
          {registry.isError && (
            <ProblemView problem={asProblem(registry.error)}>
              <Button size="sm" onClick={() => registry.refetch()}>
                Try again
              </Button>
            </ProblemView>
          )}
          {registry.data && rows.length === 0 && <Empty sentence="No tools yet" />}
          <ul className="divide-y rounded-lg border">
            {rows.map((row) => (
              <ServerItem
                key={row.entry.id}
                row={row}
                isOpen={open.includes(row.entry.id)}
                hasFailed={failed.includes(row.entry.id)}
                onOpen={(wanted) =>
                  setOpen((before) =>
                    wanted ? [...before, row.entry.id] : before.filter((it) => it !== row.entry.id),
                  )
                }
                onServer={(wanted) => onChange(toggledServer(overrides, row, wanted))}
                onTool={(tool, wanted) => onChange(toggledTool(overrides, row, tool, wanted))}
              />
            ))}
          </ul>
        </DialogBody>
      </DialogContent>
    </Dialog>
  );
}

type ItemProps = {
  row: ServerRow;
  isOpen: boolean;
  hasFailed: boolean;
  onOpen: (wanted: boolean) => void;
  onServer: (wanted: boolean) => void;
  onTool: (tool: string, wanted: boolean) => void;
};

function ServerItem({ row, isOpen, hasFailed, onOpen, onServer, onTool }: ItemProps) {
  const { entry, by, tools } = row;
  const cost = tools?.filter((it) => it.on).reduce((sum, it) => sum + it.tokens, 0);
  return (
    <li>
      <div className="flex items-center gap-2 py-1.5 pr-3 pl-1">
        <Button
          variant="ghost"
          size="icon-sm"
          aria-label={`Tools of ${entry.name}`}
          aria-expanded={isOpen}
          onClick={() => onOpen(!isOpen)}
        >
          <ChevronRight className={cn("transition-transform duration-150", isOpen && "rotate-90")} />
        </Button>
        <ServerIcon icon={entry.icon} name={entry.name} kind={entry.kind} transport={entry.transport} />
        <Foreign text={entry.name} plain className="min-w-0 flex-1 truncate" />
        {by === "bud" && <Badge>of the bud</Badge>}
        <span className="text-muted text-sm tabular-nums">
          {by && cost !== undefined ? `${count(cost)} tokens` : plural(entry.tools, "tool")}
        </span>
        <Switch
          checked={by !== undefined}
          disabled={by === "bud"}
          onCheckedChange={onServer}
          aria-label={`${entry.name} is in this chat`}
        />
      </div>
      {isOpen && (
        <ul className="border-t bg-sunken py-1">
          {tools?.map((it) => (
            <li key={it.name} className="flex items-center gap-2 py-1 pr-3 pl-10">
              <ToolIcon kind={entry.kind} />
              <span className="min-w-0 flex-1">
                <Foreign text={it.name} plain className="font-mono text-sm" />
                {it.description && (
                  <Foreign text={it.description} plain className="line-clamp-2 text-muted text-sm" />
                )}
              </span>
              <span className="text-muted text-sm tabular-nums">{count(it.tokens)}</span>
              <Switch
                checked={it.on && by !== undefined}
                disabled={by === undefined}
                onCheckedChange={(wanted) => onTool(it.name, wanted)}
                aria-label={`${it.name} is in this chat`}
              />
            </li>
          ))}
          {!tools && <li className="py-1 pl-10 text-muted">{hasFailed ? "Not available" : "Loading…"}</li>}
          {tools?.length === 0 && <li className="py-1 pl-10 text-muted">No tools</li>}
        </ul>
      )}
    </li>
  );
}
