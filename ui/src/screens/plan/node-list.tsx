/** The plan as a list: the same nodes for those who do not see or drag a picture. */

import { Trash2 } from "lucide-react";
import type { PlanGraph } from "@/api/types.gen";
import { cn } from "@/lib/class";
import { edgesOf } from "@/lib/plan-graph";
import type { Run } from "@/lib/plan-run";
import { Foreign } from "@/parts/foreign";
import { Button } from "@/ui/button";
import { StateMark } from "./node-state";

type Props = {
  graph: PlanGraph;
  run: Run | undefined;
  wrong: ReadonlySet<string>;
  selected: string | undefined;
  onSelect: (id: string) => void;
  onRemove: (id: string) => void;
};

export function NodeList({ graph, run, wrong, selected, onSelect, onRemove }: Props) {
  const edges = edgesOf(graph);
  return (
    <ol aria-label="Nodes of the plan" className="mx-auto w-full max-w-3xl space-y-2 p-4">
      {graph.nodes.map((node) => {
        const state = run?.nodes[node.id]?.state;
        const waits = edges.filter((it) => it.to === node.id).map((it) => it.from);
        return (
          <li
            key={node.id}
            className={cn(
              "flex items-center gap-2 rounded-lg border bg-surface pr-2",
              wrong.has(node.id) && "border-bad border-dashed",
            )}
          >
            <button
              type="button"
              data-item
              aria-pressed={selected === node.id}
              onClick={() => onSelect(node.id)}
              className="flex min-h-11 min-w-0 flex-1 flex-wrap items-center gap-x-3 rounded-lg px-3 py-1.5 text-left hover:bg-hover"
            >
              <Foreign text={node.id} plain className="font-medium" />
              <Foreign text={node.tool} plain className="min-w-0 font-mono text-muted text-sm" />
              {waits.length > 0 && (
                <span className="text-muted text-sm">
                  after <Foreign text={waits.join(", ")} plain />
                </span>
              )}
              {state && (
                <span className="ml-auto">
                  <StateMark state={state} />
                </span>
              )}
            </button>
            <Button
              variant="ghost"
              size="icon-sm"
              aria-label={`Remove ${node.id}`}
              onClick={() => onRemove(node.id)}
            >
              <Trash2 />
            </Button>
          </li>
        );
      })}
    </ol>
  );
}
