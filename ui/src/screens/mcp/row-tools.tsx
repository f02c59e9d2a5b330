/** The tools of one instance, each with its switch. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { asProblem } from "@/api/http";
import { useSwitchTool } from "@/api/mutations";
import { instanceQuery } from "@/api/queries";
import type { Instance, Tool } from "@/api/types";
import { cn } from "@/lib/class";
import { age } from "@/lib/format";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Switch } from "@/ui/switch";

const ROW = 36;

export function RowTools({ instance }: { instance: Instance }) {
  const whole = useQuery(instanceQuery(instance.id));
  const scroll = useRef<HTMLDivElement>(null);
  const tools = whole.data?.tool_list ?? [];
  const virtual = useVirtualizer({
    count: tools.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  if (whole.isPending) return <SkeletonRows rows={3} />;
  if (whole.isError) return <ProblemView problem={asProblem(whole.error)} className="m-3" />;
  return (
    <div className="px-3 py-2 sm:pl-11">
      <p className="pb-1 text-muted text-sm">
        {tools.length === 0
          ? "This server offers no tools"
          : instance.age_s === null
            ? ""
            : `List is ${age(instance.age_s)}`}
      </p>
      {instance.problems.map((it) => (
        <p key={it} className="pb-1 text-sm text-warn">
          <Foreign text={it} />
        </p>
      ))}
      <div ref={scroll} className="thin-scroll max-h-80 overflow-y-auto">
        <ul style={{ height: virtual.getTotalSize() }} className="relative">
          {virtual.getVirtualItems().map((item) => {
            const tool = tools[item.index];
            return tool && <ToolRow key={tool.name} tool={tool} instance={instance} top={item.start} />;
          })}
        </ul>
      </div>
    </div>
  );
}

function ToolRow({ tool, instance, top }: { tool: Tool; instance: Instance; top: number }) {
  const change = useSwitchTool(instance.id);
  const enabled = change.isPending ? (change.variables.enabled ?? tool.enabled) : tool.enabled;
  return (
    <li
      className="absolute inset-x-0 flex items-center gap-3"
      style={{ height: ROW, transform: `translateY(${top}px)` }}
    >
      <Switch
        checked={enabled}
        onCheckedChange={(wanted) => change.mutate({ tool: tool.name, enabled: wanted })}
        aria-label={`${tool.name} is on`}
      />
      <Link
        to="/mcp/$id"
        params={{ id: instance.slug }}
        search={{ tool: tool.name }}
        className={cn("shrink-0 font-mono text-sm hover:underline", !enabled && "text-muted line-through")}
      >
        <Foreign text={tool.name} plain />
      </Link>
      <Foreign text={tool.description} plain className="min-w-0 flex-1 truncate text-muted max-sm:hidden" />
      {change.error && <span className="text-bad text-sm">{asProblem(change.error).detail}</span>}
    </li>
  );
}
