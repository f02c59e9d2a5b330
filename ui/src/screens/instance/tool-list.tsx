/** The tools of an instance: find one, see what it says of itself, allow or block it. */

import { useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Search } from "lucide-react";
import { type MouseEvent, useDeferredValue, useRef, useState } from "react";
import { useSwitchTool } from "@/api/mutations";
import type { Permission, Tool, WholeInstance } from "@/api/types";
import { moveFocus, useCommand } from "@/app/commands";
import { cn } from "@/lib/class";
import { count, plural, tokens } from "@/lib/format";
import { Foreign } from "@/parts/foreign";
import { Hints } from "@/parts/hints";
import { Sentence } from "@/parts/problem";
import { Badge } from "@/ui/badge";
import { Input } from "@/ui/input";
import { PermissionSelect } from "./permission-select";

const ROW = 56;

export function ToolList({ instance, selected }: { instance: WholeInstance; selected: string | undefined }) {
  const [search, setSearch] = useState("");
  const wanted = useDeferredValue(search.toLowerCase());
  const scroll = useRef<HTMLDivElement>(null);
  const box = useRef<HTMLInputElement>(null);
  const all = instance.tool_list;
  const shown =
    wanted === ""
      ? all
      : all.filter(
          (it) => it.name.toLowerCase().includes(wanted) || it.description.toLowerCase().includes(wanted),
        );
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW,
    overscan: 5,
  });
  useCommand("search", () => box.current?.focus());
  useCommand("next", () => moveFocus(scroll.current, 1));
  useCommand("previous", () => moveFocus(scroll.current, -1));
  // Rows come and go by the hundred while one scrolls, so their links are plain, and one ear is for all of them.
  const navigate = useNavigate();
  const follow = (event: MouseEvent) => {
    const link = (event.target as Element).closest<HTMLElement>("a[data-tool]");
    const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (!link?.dataset.tool || !isPlain) return;
    event.preventDefault();
    void navigate({ to: "/mcp/$id", params: { id: instance.slug }, search: { tool: link.dataset.tool } });
  };
  const change = useSwitchTool(instance.id);
  const wantedOf = (tool: Tool) =>
    change.isPending && change.variables.tool === tool.name
      ? (change.variables.permission ?? tool.permission)
      : tool.permission;
  const cost = all.reduce(
    (sum, it) => sum + tokens(it.description) + tokens(JSON.stringify(it.input_schema)),
    0,
  );
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="space-y-1.5 border-b p-2">
        <div className="relative">
          <Search aria-hidden className="pointer-events-none absolute top-2 left-2 size-4 text-muted" />
          <Input
            ref={box}
            type="search"
            aria-label="Find a tool"
            placeholder="Find a tool"
            className="pl-8"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        </div>
        <p className="px-1 text-muted text-sm">
          {plural(shown.length, "tool")} · about {count(cost)} tokens
        </p>
      </div>
      {instance.problems.length > 0 && (
        <ul className="border-b bg-warn-soft px-3 py-2 text-sm text-warn">
          {instance.problems.map((it) => (
            <li key={it}>
              <Sentence text={it} />
            </li>
          ))}
        </ul>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: Enter on a link is a click */}
      <div
        ref={scroll}
        data-list="tools"
        onClick={follow}
        className="thin-scroll min-h-0 flex-1 overflow-y-auto"
      >
        <ul style={{ height: virtual.getTotalSize() }} className="relative">
          {virtual.getVirtualItems().map((item) => {
            const tool = shown[item.index];
            return (
              tool && (
                <ToolRow
                  key={tool.name}
                  slug={instance.slug}
                  tool={tool}
                  top={item.start}
                  selected={tool.name === selected}
                  permission={wantedOf(tool)}
                  onPermission={(permission) => change.mutate({ tool: tool.name, permission })}
                />
              )
            );
          })}
        </ul>
        {shown.length === 0 && <p className="p-4 text-center text-muted">No tool is like that.</p>}
      </div>
    </div>
  );
}

type RowProps = {
  slug: string;
  tool: Tool;
  top: number;
  selected: boolean;
  permission: Permission;
  onPermission: (wanted: Permission) => void;
};

function ToolRow({ slug, tool, top, selected, permission, onPermission }: RowProps) {
  return (
    <li
      style={{ height: ROW, transform: `translateY(${top}px)` }}
      className={cn(
        "absolute inset-x-0 flex items-center gap-2 border-b pr-2",
        selected ? "bg-accent-soft" : "hover:bg-hover",
      )}
    >
      <a
        data-item
        data-tool={tool.name}
        href={`/ui/mcp/${slug}?tool=${encodeURIComponent(tool.name)}`}
        aria-current={selected ? "true" : undefined}
        className="flex h-full min-w-0 flex-1 flex-col justify-center pl-3 focus-visible:outline-offset-[-2px]"
      >
        <span className="flex min-w-0 items-center gap-1.5">
          <Foreign
            text={tool.name}
            plain
            className={cn("truncate font-mono text-sm", !tool.enabled && "text-muted line-through")}
          />
          <Hints annotations={tool.annotations} />
          {tool.changed && <Badge tone="warn">changed</Badge>}
          {!tool.enabled && <span className="text-muted text-xs">off</span>}
        </span>
        <Foreign text={tool.description} plain className="truncate text-muted text-sm" />
      </a>
      <PermissionSelect small tool={tool.name} value={permission} onChange={onPermission} />
    </li>
  );
}
