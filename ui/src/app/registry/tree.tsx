/** The rows of the sidebar as a tree: one of them has the focus, arrows move it, only what is seen is drawn. */

import { useRouter } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from "react";
import { insertMethod } from "@/app/insert";
import { callSnippet } from "@/lib/call-snippet";
import { moveIn, type Row } from "@/lib/registry-rows";
import { TreeRow } from "./row";

const ROW = 28;
/** As many rows are simply drawn. */
const FEW = 200;

type Props = {
  rows: Row[];
  onToggle: (key: string) => void;
  onGo: (() => void) | undefined;
  ref: RefObject<HTMLDivElement | null>;
};

export function RegistryTree({ rows, onToggle, onGo, ref }: Props) {
  const router = useRouter();
  const [active, setActive] = useState<string>();
  /** The row that a key has just gone to. */
  const moved = useRef<string>(undefined);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => ref.current,
    estimateSize: () => ROW,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 12,
  });
  const isFew = rows.length <= FEW;
  const drawn = isFew
    ? rows.map(({ key }, index) => ({ key, index, start: index * ROW }))
    : virtual.getVirtualItems();
  const found = rows.findIndex((it) => it.key === active);
  const activeAt = Math.max(found, 0);

  useEffect(() => {
    // What was drawn before the key was pressed has nothing to say about where it goes.
    if (moved.current === undefined || moved.current !== rows[activeAt]?.key) return;
    moved.current = undefined;
    ref.current?.querySelector<HTMLElement>(`[data-index="${activeAt}"]`)?.focus();
  });

  const openPage = (row: Row) => {
    if (row.kind !== "server" && row.kind !== "method") return;
    onGo?.();
    const id = row.entry.instance?.slug;
    if (!id) void router.navigate({ to: "/mcp", search: { scope: "available", select: row.entry.id } });
    else
      void router.navigate({
        to: "/mcp/$id",
        params: { id },
        search: row.kind === "method" ? { tool: row.method.name } : {},
      });
  };
  const insert = (row: Row) => {
    if (row.kind !== "method" || row.entry.reason !== null) return;
    onGo?.();
    const server = row.entry.instance?.slug ?? row.entry.name;
    const method = row.method.name;
    if (insertMethod({ server, method, serverId: row.entry.id })) return;
    void router.navigate({ to: "/chat", search: { prompt: callSnippet(server, method).text } });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    const row = rows[activeAt];
    const move = moveIn(rows, activeAt, event.key, event.shiftKey);
    if (!move || !row) return;
    event.preventDefault();
    if (move === "toggle") onToggle(row.key);
    else if (move === "activate") insert(row);
    else if (move === "open-page") openPage(row);
    else {
      setActive(rows[move.to]?.key);
      virtual.scrollToIndex(move.to);
      moved.current = rows[move.to]?.key;
    }
  };

  return (
    <div ref={ref} className="thin-scroll min-h-0 flex-1 overflow-y-auto pb-4">
      <div
        role="tree"
        aria-label="Registry"
        tabIndex={-1}
        onKeyDown={onKeyDown}
        style={{ height: rows.length * ROW, position: "relative" }}
      >
        {drawn.map((item) => {
          const row = rows[item.index];
          if (!row) return null;
          return (
            <TreeRow
              key={item.key}
              row={row}
              index={item.index}
              top={item.start}
              focusable={item.index === activeAt}
              onFocus={() => setActive(row.key)}
              onToggle={() => onToggle(row.key)}
              onInsert={() => insert(row)}
              onOpenPage={() => openPage(row)}
            />
          );
        })}
      </div>
    </div>
  );
}
