/** The plan as a picture: nodes that are dragged, edges that are drawn from what stands in their arguments. */

import { useEffect, useRef, useState } from "react";
import type { PlanGraph } from "@/api/types.gen";
import type { Inserted } from "@/app/insert";
import { cn } from "@/lib/class";
import { edgesOf, NODE, placesOf } from "@/lib/plan-graph";
import type { Run } from "@/lib/plan-run";
import { Foreign } from "@/parts/foreign";
import { ScrollBox } from "@/parts/scroll-box";
import { StateMark, stateWord } from "./node-state";

type Place = [number, number];

export type GraphProps = {
  graph: PlanGraph;
  run: Run | undefined;
  wrong: ReadonlySet<string>;
  selected: string | undefined;
  onSelect: (id: string) => void;
  onMove: (id: string, at: Place) => void;
  onWire: (from: string, to: string) => void;
  onDrop: (inserted: Inserted, at: Place) => void;
};

/** How far a press of an arrow moves a node. */
const STEP = 16;
const FRAME = {
  idle: "border-line-strong/60",
  running: "border-info",
  done: "border-ok",
  failed: "border-bad",
};

/** What the pointer holds: a node, or the loose end of an edge. */
type Held =
  | { kind: "node"; id: string; from: Place; at: Place; moved: boolean }
  | { kind: "wire"; id: string; at: Place };

export default function Graph(props: GraphProps) {
  const { graph, run, wrong, selected, onSelect, onMove, onWire, onDrop } = props;
  const board = useRef<HTMLDivElement>(null);
  /** The press that ends a move opens nothing. */
  const wasMoved = useRef(false);
  const [held, setHeld] = useState<Held>();
  const places = placesOf(graph);
  if (held?.kind === "node" && held.moved) places.set(held.id, held.at);
  const edges = edgesOf(graph).filter((it) => places.has(it.from) && places.has(it.to));
  useBoardDrop(board, onDrop);

  const pointOf = (event: { clientX: number; clientY: number }): Place => {
    const box = board.current?.getBoundingClientRect();
    return [event.clientX - (box?.left ?? 0), event.clientY - (box?.top ?? 0)];
  };
  const nodeAt = ([x, y]: Place) =>
    [...places].findLast(
      ([, [left, top]]) => x >= left && x <= left + NODE.width && y >= top && y <= top + NODE.height,
    )?.[0];
  const onPointerMove = (event: React.PointerEvent) => {
    if (!held) return;
    const point = pointOf(event);
    if (held.kind === "wire") setHeld({ ...held, at: point });
    else {
      const [left, top] = [Math.max(0, point[0] - held.from[0]), Math.max(0, point[1] - held.from[1])];
      const [x, y] = held.at;
      const moved = held.moved || Math.hypot(left - x, top - y) > 4;
      // From here on the pointer may leave the board without letting go.
      if (moved && !held.moved) board.current?.setPointerCapture(event.pointerId);
      setHeld({ ...held, moved, at: moved ? [left, top] : held.at });
    }
  };
  const onPointerUp = (event: React.PointerEvent) => {
    wasMoved.current = held?.kind === "node" && held.moved;
    if (held?.kind === "node" && held.moved) onMove(held.id, held.at.map(Math.round) as Place);
    if (held?.kind === "wire") {
      const target = nodeAt(pointOf(event));
      if (target !== undefined && target !== held.id) onWire(held.id, target);
    }
    setHeld(undefined);
  };

  const size = [...places.values()].reduce(
    ([width, height], [x, y]) => [
      Math.max(width, x + NODE.width + 120),
      Math.max(height, y + NODE.height + 80),
    ],
    [0, 0],
  );
  const loose = held?.kind === "wire" ? places.get(held.id) : undefined;
  return (
    <ScrollBox label="Graph of the plan" className="h-full bg-sunken">
      <div
        ref={board}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={() => setHeld(undefined)}
        className="relative min-h-full min-w-full"
        style={{ width: size[0], height: size[1] }}
      >
        <svg aria-hidden="true" className="pointer-events-none absolute inset-0 size-full overflow-visible">
          {edges.map((it) => (
            <path
              key={`${it.from} ${it.to}`}
              d={curve(places.get(it.from) ?? [0, 0], leftOf(places.get(it.to) ?? [0, 0]))}
              fill="none"
              strokeWidth="1.5"
              strokeDasharray={it.data ? undefined : "4 4"}
              className={it.data ? "stroke-accent" : "stroke-line-strong"}
            />
          ))}
          {loose && held && (
            <path d={curve(loose, held.at)} fill="none" strokeWidth="1.5" className="stroke-focus" />
          )}
        </svg>
        {graph.nodes.map((node) => {
          const at = places.get(node.id) ?? [0, 0];
          const state = run?.nodes[node.id]?.state;
          const waits = edges.filter((it) => it.to === node.id).map((it) => it.from);
          return (
            <div
              key={node.id}
              className={cn(
                "absolute top-0 left-0 rounded-lg border bg-surface shadow-sm",
                wrong.has(node.id) ? "border-bad border-dashed" : FRAME[frameOf(state)],
                selected === node.id && "outline-2 outline-focus",
              )}
              style={{
                width: NODE.width,
                height: NODE.height,
                transform: `translate(${at[0]}px, ${at[1]}px)`,
              }}
            >
              <button
                type="button"
                aria-label={[
                  node.id,
                  ...(state ? [stateWord(state)] : []),
                  ...(waits.length > 0 ? [`after ${waits.join(", ")}`] : []),
                ].join(", ")}
                aria-pressed={selected === node.id}
                aria-keyshortcuts="ArrowUp ArrowDown ArrowLeft ArrowRight"
                onClick={() => !wasMoved.current && onSelect(node.id)}
                onPointerDown={(event) => {
                  wasMoved.current = false;
                  const [x, y] = pointOf(event);
                  setHeld({ kind: "node", id: node.id, from: [x - at[0], y - at[1]], at, moved: false });
                }}
                onKeyDown={(event) => {
                  wasMoved.current = false;
                  const step = stepOf(event.key);
                  if (!step || event.metaKey || event.ctrlKey || event.altKey) return;
                  event.preventDefault();
                  onMove(node.id, [Math.max(0, at[0] + step[0]), Math.max(0, at[1] + step[1])]);
                }}
                className="flex size-full cursor-grab touch-none flex-col justify-center gap-0.5 rounded-lg px-3 text-left active:cursor-grabbing"
              >
                <span className="flex w-full items-center gap-2">
                  <Foreign text={node.id} plain className="min-w-0 flex-1 truncate font-medium" />
                  {state && <StateMark state={state} />}
                </span>
                <Foreign text={node.tool} plain className="w-full truncate font-mono text-muted text-sm" />
                {run?.nodes[node.id]?.note && (
                  <Foreign
                    text={run.nodes[node.id]?.note ?? ""}
                    plain
                    className="w-full truncate text-muted text-sm"
                  />
                )}
              </button>
              <span
                aria-hidden
                title="Drag to what waits for it"
                onPointerDown={(event) => {
                  event.preventDefault();
                  setHeld({ kind: "wire", id: node.id, at: pointOf(event) });
                }}
                className="-right-3 absolute top-1/2 grid size-6 -translate-y-1/2 cursor-crosshair touch-none place-items-center"
              >
                <span className="size-3 rounded-full border-2 border-line-strong bg-surface hover:border-accent" />
              </span>
            </div>
          );
        })}
      </div>
    </ScrollBox>
  );
}

const frameOf = (state: string | undefined) =>
  state === "running" || state === "done" || state === "failed" ? state : "idle";

const leftOf = ([x, y]: Place): Place => [x, y + NODE.height / 2];

/** From the right side of a node to a point. */
function curve([x, y]: Place, [endX, endY]: Place): string {
  const [startX, startY] = [x + NODE.width, y + NODE.height / 2];
  const bend = Math.max(32, Math.abs(endX - startX) / 2);
  return `M${startX},${startY} C${startX + bend},${startY} ${endX - bend},${endY} ${endX},${endY}`;
}

function stepOf(key: string): Place | undefined {
  switch (key) {
    case "ArrowUp":
      return [0, -STEP];
    case "ArrowDown":
      return [0, STEP];
    case "ArrowLeft":
      return [-STEP, 0];
    case "ArrowRight":
      return [STEP, 0];
    default:
      return undefined;
  }
}

/** A method that is dropped becomes a node where it was dropped. */
function useBoardDrop(board: React.RefObject<HTMLDivElement | null>, onDrop: GraphProps["onDrop"]): void {
  const latest = useRef(onDrop);
  latest.current = onDrop;
  useEffect(() => {
    let stop: (() => void) | undefined;
    let isGone = false;
    void import("@atlaskit/pragmatic-drag-and-drop/element/adapter").then(({ dropTargetForElements }) => {
      const element = board.current;
      if (isGone || !element) return;
      stop = dropTargetForElements({
        element,
        canDrop: ({ source }) => source.data.type === "method",
        onDrop: ({ source: { data }, location }) => {
          const box = element.getBoundingClientRect();
          const { clientX, clientY } = location.current.input;
          const at: Place = [
            Math.max(0, Math.round(clientX - box.left - NODE.width / 2)),
            Math.max(0, Math.round(clientY - box.top - NODE.height / 2)),
          ];
          const { server, method, serverId } = data;
          latest.current({ server: String(server), method: String(method), serverId: String(serverId) }, at);
        },
      });
    });
    return () => {
      isGone = true;
      stop?.();
    };
  }, [board]);
}
