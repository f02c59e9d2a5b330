/** One row of the sidebar. Methods can be dragged, inserted with Enter, or taken from the menu. */

import { useQueryClient } from "@tanstack/react-query";
import { ChevronRight, Ellipsis, TriangleAlert } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { metaQuery } from "@/api/queries";
import type { RegistryInstance } from "@/api/types";
import { copy } from "@/app/clipboard";
import { callSnippet } from "@/lib/call-snippet";
import { cn } from "@/lib/class";
import type { Row } from "@/lib/registry-rows";
import { statusWords } from "@/lib/status";
import { Foreign } from "@/parts/foreign";
import { ServerIcon } from "@/parts/server-icon";
import { ToolIcon } from "@/parts/tool-icon";
import { HoverCard, HoverCardContent, HoverCardTrigger } from "@/ui/hover-card";
import { Menu, MenuContent, MenuItem, MenuTrigger } from "@/ui/menu";
import { RowCard } from "./row-card";

const PREFETCH_MS = 80;
const CARD_MS = 300;
const INDENT = { 1: "pl-2", 2: "pl-3", 3: "pl-9" };

type Props = {
  row: Row;
  index: number;
  top: number;
  focusable: boolean;
  onFocus: () => void;
  onToggle: () => void;
  onInsert: () => void;
  onOpenPage: () => void;
};

export function TreeRow({ row, index, top, focusable, onFocus, onToggle, onInsert, onOpenPage }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const client = useQueryClient();
  useDrag(element, row);
  useEffect(() => () => clearTimeout(timer.current), []);

  const prefetch = () => {
    if (row.kind === "server") void client.prefetchQuery(metaQuery(row.entry.id));
  };
  const isBranch = row.kind === "group" || row.kind === "server";
  const isBlocked = row.kind !== "group" && row.kind !== "note" && row.entry.reason !== null;
  const body = (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree around it has the keys
    <div
      ref={element}
      role="treeitem"
      data-index={index}
      aria-level={row.level}
      aria-expanded={isBranch ? row.open : undefined}
      aria-disabled={isBlocked || undefined}
      aria-selected={false}
      tabIndex={focusable ? 0 : -1}
      onFocus={() => {
        onFocus();
        prefetch();
      }}
      onPointerEnter={() => {
        timer.current = setTimeout(prefetch, PREFETCH_MS);
      }}
      onPointerLeave={() => clearTimeout(timer.current)}
      onClick={isBranch ? onToggle : row.kind === "method" ? onInsert : undefined}
      style={{ transform: `translateY(${top}px)` }}
      className={cn(
        "group absolute inset-x-1 top-0 flex h-7 cursor-default select-none items-center gap-1.5 rounded-md pr-1 hover:bg-hover focus-visible:outline-offset-[-2px]",
        INDENT[row.level],
        isBlocked && "opacity-60",
      )}
    >
      <Body row={row} onInsert={onInsert} onOpenPage={onOpenPage} />
    </div>
  );
  if (row.kind !== "server" && row.kind !== "method") return body;
  return (
    <HoverCard openDelay={CARD_MS} closeDelay={60}>
      <HoverCardTrigger asChild>{body}</HoverCardTrigger>
      <HoverCardContent>
        <RowCard row={row} />
      </HoverCardContent>
    </HoverCard>
  );
}

function Body({
  row,
  onInsert,
  onOpenPage,
}: {
  row: Row;
  onInsert: () => void;
  onOpenPage: () => void;
}): ReactNode {
  if (row.kind === "note") return <span className="text-muted">{row.text}</span>;
  if (row.kind === "group") {
    return (
      <>
        <Chevron open={row.open} />
        <span className="font-medium text-muted text-sm">{row.label}</span>
        <span className="text-muted text-xs">{row.size}</span>
      </>
    );
  }
  const { entry } = row;
  if (row.kind === "method") {
    return (
      <>
        <ToolIcon kind={entry.kind} />
        <Foreign text={row.method.name} plain className="min-w-0 flex-1 truncate font-mono text-sm" />
        <RowMenu name={row.method.name} onInsert={onInsert} onOpenPage={onOpenPage} />
      </>
    );
  }
  const mark = markOf(entry.instance);
  return (
    <>
      <Chevron open={row.open} />
      <ServerIcon icon={entry.icon} name={entry.name} kind={entry.kind} transport={entry.transport} />
      <Foreign text={entry.name} plain className="min-w-0 flex-1 truncate" />
      {mark && (
        <TriangleAlert
          role="img"
          aria-label={mark}
          className={cn("size-3.5 shrink-0", entry.instance?.failure ? "text-bad" : "text-warn")}
        />
      )}
      <span className="pr-1.5 text-muted text-xs tabular-nums">{entry.tools}</span>
    </>
  );
}

/** What keeps a server from being used, in words. */
function markOf(used: RegistryInstance | null): string | undefined {
  if (used?.failure) return used.failure;
  return used && used.status !== "ready" ? statusWords(used.status) : undefined;
}

function Chevron({ open }: { open: boolean }) {
  return (
    <ChevronRight
      aria-hidden
      className={cn("size-3.5 shrink-0 text-muted transition-transform duration-150", open && "rotate-90")}
    />
  );
}

/** The same as dragging, for those who do not drag. */
function RowMenu({
  name,
  onInsert,
  onOpenPage,
}: {
  name: string;
  onInsert: () => void;
  onOpenPage: () => void;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <Menu open={isOpen} onOpenChange={setOpen} modal={false}>
      <MenuTrigger
        tabIndex={-1}
        aria-label={`Actions for ${name}`}
        onClick={(event) => event.stopPropagation()}
        className={cn(
          "grid size-6 place-items-center rounded-sm text-muted opacity-0 hover:bg-line hover:text-text group-hover:opacity-100 group-focus:opacity-100",
          isOpen && "opacity-100",
        )}
      >
        <Ellipsis className="size-4" />
      </MenuTrigger>
      <MenuContent onClick={(event) => event.stopPropagation()}>
        <MenuItem onSelect={onInsert}>Insert</MenuItem>
        <MenuItem onSelect={onOpenPage}>Open</MenuItem>
        <MenuItem onSelect={() => void copy(name)}>Copy name</MenuItem>
      </MenuContent>
    </Menu>
  );
}

/** A dragged method is its snippet, for any text box that takes it. */
function useDrag(element: React.RefObject<HTMLDivElement | null>, row: Row): void {
  const isDraggable = row.kind === "method" && row.entry.reason === null;
  const server = row.kind === "method" ? (row.entry.instance?.slug ?? row.entry.name) : "";
  const method = row.kind === "method" ? row.method.name : "";
  const id = row.kind === "method" ? row.entry.id : "";
  useEffect(() => {
    if (!isDraggable) return;
    let stop: (() => void) | undefined;
    let isGone = false;
    void loadDrag().then(({ draggable }) => {
      if (isGone || !element.current) return;
      stop = draggable({
        element: element.current,
        getInitialData: () => ({ type: "method", server, method, serverId: id }),
        getInitialDataForExternal: () => ({ "text/plain": callSnippet(server, method).text }),
      });
    });
    return () => {
      isGone = true;
      stop?.();
    };
  }, [element, isDraggable, server, method, id]);
}

/** Comes with the first method that is shown. */
const loadDrag = () => import("@atlaskit/pragmatic-drag-and-drop/element/adapter");
