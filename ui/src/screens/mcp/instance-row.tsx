/** One instance: how it is, what to do, and its tools when opened. */

import { Link } from "@tanstack/react-router";
import { ChevronRight, Ellipsis, RefreshCw, ScrollText, SquarePen, Trash2 } from "lucide-react";
import { useState } from "react";
import { asProblem } from "@/api/http";
import { useRefresh, useRemoveInstance, useTurn } from "@/api/mutations";
import type { Instance, Problem, Server, ServerCalls } from "@/api/types";
import { copy } from "@/app/clipboard";
import { useNow } from "@/app/now";
import { cn } from "@/lib/class";
import { ago } from "@/lib/format";
import { kindWord, withoutFolders } from "@/lib/kind";
import { Confirm } from "@/parts/confirm";
import { Foreign } from "@/parts/foreign";
import { HealthAction } from "@/parts/health-action";
import { ProblemView } from "@/parts/problem";
import { ServerIcon } from "@/parts/server-icon";
import { Sparkline } from "@/parts/sparkline";
import { StatusLine } from "@/parts/status-dot";
import { Button } from "@/ui/button";
import { Menu, MenuContent, MenuItem, MenuSeparator, MenuTrigger } from "@/ui/menu";
import { Switch } from "@/ui/switch";
import { RowTools } from "./row-tools";

/** Columns that are always there. A cell over more of them would make new ones where the page is narrow. */
const NARROW = 3;

type Props = { instance: Instance; server: Server | undefined; stats: ServerCalls | undefined };

export function InstanceRow({ instance, server, stats }: Props) {
  const [isOpen, setOpen] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const now = useNow();
  const endpoint = server?.endpoint ?? "";
  const place = instance.transport === "stdio" ? withoutFolders(endpoint) : endpoint;
  const turn = useTurn(instance);
  const isOn = instance.health.state !== "disabled";
  const enabled = turn.isPending ? turn.variables : isOn;
  const setEnabled = (wanted: boolean) =>
    turn.mutate(wanted, {
      onError: (error) => setProblem(asProblem(error)),
      onSuccess: () => setProblem(undefined),
    });
  return (
    <tbody className="border-b last:border-b-0">
      <tr className={cn("group hover:bg-sunken", !enabled && "text-muted")}>
        <td className="pl-1.5 align-top @2xl:align-middle">
          <Button
            variant="ghost"
            size="icon-sm"
            className="mt-2 @2xl:mt-0"
            aria-label={`Tools of ${instance.name}`}
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            <ChevronRight className={cn("transition-transform duration-150", isOpen && "rotate-90")} />
          </Button>
        </td>
        <td className="py-2 pr-3">
          <div className="flex gap-2.5">
            <ServerIcon
              name={instance.name}
              kind={instance.kind}
              transport={instance.transport}
              icon={`/api/mcp/icon/${instance.server_id}`}
              className="@max-lg:hidden"
            />
            <div className="min-w-0 flex-1">
              <Link
                to="/mcp/$id"
                params={{ id: instance.slug }}
                data-item
                className="block rounded-sm font-medium hover:underline"
              >
                <Foreign text={instance.name} plain />
              </Link>
              <p className="truncate font-mono text-muted text-sm" title={endpoint}>
                {instance.slug}
                {place && <Foreign text={` · ${place}`} plain className="@max-lg:hidden" />}
              </p>
              <div className="@2xl:hidden">
                <StatusLine health={instance.health} />
              </div>
            </div>
          </div>
        </td>
        <td className="hidden py-2 pr-3 @2xl:table-cell">
          <StatusLine health={instance.health} />
        </td>
        <td className="hidden py-2 pr-3 text-muted @3xl:table-cell">{kindWord(instance.transport)}</td>
        <td className="hidden py-2 pr-3 text-muted @4xl:table-cell">
          {instance.last_call ? ago(instance.last_call.at_ms, now) : "–"}
        </td>
        <td className="hidden py-2 pr-3 @4xl:table-cell">
          {stats && stats.calls > 0 && <Sparkline slots={stats.slots} label={instance.slug} />}
        </td>
        <td className="py-2 pr-2 align-top @2xl:align-middle">
          <div className="flex flex-wrap items-center justify-end gap-x-1 gap-y-1.5">
            {instance.health.action?.kind !== "turn_on" && (
              <span className="hidden @2xl:contents">
                <HealthAction instance={instance} onProblem={setProblem} />
              </span>
            )}
            <Switch checked={enabled} onCheckedChange={setEnabled} aria-label={`${instance.name} is on`} />
            <RowMenu instance={instance} onProblem={setProblem} />
          </div>
        </td>
      </tr>
      {instance.health.action && instance.health.action.kind !== "turn_on" && (
        <tr className="@2xl:hidden">
          <td />
          <td colSpan={2} className="pb-2">
            <HealthAction instance={instance} onProblem={setProblem} />
          </td>
        </tr>
      )}
      {problem && (
        <tr>
          <td colSpan={NARROW} className="p-0">
            <div className="w-[100cqw] px-3 pb-3">
              <ProblemView problem={problem} />
            </div>
          </td>
        </tr>
      )}
      {isOpen && (
        <tr>
          <td colSpan={NARROW} className="p-0">
            <div className="w-[100cqw] border-t bg-sunken">
              <RowTools instance={instance} />
            </div>
          </td>
        </tr>
      )}
    </tbody>
  );
}

function RowMenu({
  instance,
  onProblem,
}: {
  instance: Instance;
  onProblem: (problem: Problem | undefined) => void;
}) {
  const [isAsking, setAsking] = useState(false);
  const refresh = useRefresh(instance.id);
  const remove = useRemoveInstance(instance);
  return (
    <>
      <Menu>
        <MenuTrigger asChild>
          <Button variant="ghost" size="icon-sm" aria-label={`More for ${instance.name}`}>
            {refresh.isPending ? <RefreshCw className="animate-spin" /> : <Ellipsis />}
          </Button>
        </MenuTrigger>
        <MenuContent>
          <MenuItem
            onSelect={() =>
              refresh.mutate(undefined, {
                onError: (error) => onProblem(asProblem(error)),
                onSuccess: () => onProblem(undefined),
              })
            }
          >
            <RefreshCw />
            Refresh tools
          </MenuItem>
          {instance.transport === "stdio" && (
            <MenuItem asChild>
              <Link to="/mcp/$id" params={{ id: instance.slug }} search={{ tab: "log" }}>
                <ScrollText />
                Log
              </Link>
            </MenuItem>
          )}
          {instance.transport === "bud" && (
            <MenuItem asChild>
              <Link to="/mcp" search={{ bud: instance.server_id }}>
                <SquarePen />
                Edit bud
              </Link>
            </MenuItem>
          )}
          <MenuItem onSelect={() => void copy(instance.slug)}>Copy slug</MenuItem>
          {instance.transport !== "builtin" && instance.transport !== "tab" && (
            <>
              <MenuSeparator />
              <MenuItem onSelect={() => setAsking(true)} className="text-bad">
                <Trash2 className="text-bad!" />
                Remove
              </MenuItem>
            </>
          )}
        </MenuContent>
      </Menu>
      <Confirm
        open={isAsking}
        onOpenChange={setAsking}
        question={`Remove server "${instance.name}"?`}
        effect="Its tools leave every list, and its credentials are deleted."
        verb="Remove"
        busy={remove.isPending}
        problem={remove.error ? asProblem(remove.error) : undefined}
        onConfirm={() => remove.mutate(undefined, { onSuccess: () => setAsking(false) })}
      />
    </>
  );
}
