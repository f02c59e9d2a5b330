/** A plan: tools as nodes, what one gives another as edges, and how a run of it goes. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Play, Trash2 } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { asProblem } from "@/api/http";
import type { Plan, PlanGraph } from "@/api/types.gen";
import { moveFocus, useCommand } from "@/app/commands";
import { type Inserted, mountTaker } from "@/app/insert";
import { useWide } from "@/app/wide";
import {
  freshId,
  MOST_NODES,
  problemsOf,
  renamedNode,
  toggledEdge,
  withNode,
  withoutNode,
} from "@/lib/plan-graph";
import { summary } from "@/lib/plan-run";
import { Confirm } from "@/parts/confirm";
import { Empty } from "@/parts/empty";
import { ProblemView, Sentence } from "@/parts/problem";
import { Rail } from "@/parts/rail";
import { SkeletonRows } from "@/parts/skeleton";
import { useTitle } from "@/parts/use-title";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Input, Select } from "@/ui/input";
import {
  planQuery,
  plansQuery,
  runPlan,
  runQuery,
  stopPlan,
  toolName,
  useRemovePlan,
  useSavePlan,
} from "./api";
import { NodeEditor } from "./node-editor";
import { NodeList } from "./node-list";

const Graph = lazy(() => import("./graph"));

const NEW = "new";
const NOTHING: PlanGraph = { nodes: [], edges: [] };

export function PlanScreen() {
  const { id } = useParams({ from: "/plans/$id" });
  const plan = useQuery({ ...planQuery(id), enabled: id !== NEW });
  if (id === NEW) return <Editor key={NEW} plan={undefined} />;
  if (plan.data) return <Editor key={plan.data.id} plan={plan.data} />;
  return (
    <div className="p-4">
      <h1 className="sr-only">Plan</h1>
      {plan.isPending && <SkeletonRows rows={5} />}
      {plan.isError && (
        <ProblemView problem={asProblem(plan.error)}>
          <Button size="sm" onClick={() => plan.refetch()}>
            Try again
          </Button>
        </ProblemView>
      )}
    </div>
  );
}

function Editor({ plan }: { plan: Plan | undefined }) {
  const client = useQueryClient();
  const navigate = useNavigate({ from: "/plans/$id" });
  const { node: selected } = useSearch({ from: "/plans/$id" });
  const [name, setName] = useState(plan?.name ?? "");
  const [graph, setGraph] = useState(plan?.graph ?? NOTHING);
  const save = useSavePlan(plan?.id);
  const { data: watched } = useQuery(runQuery(plan?.id ?? NEW));
  const run = watched?.run;
  const isRunning = run?.state === "running";
  const isChanged = !plan || name !== plan.name || JSON.stringify(graph) !== JSON.stringify(plan.graph);
  const problems = problemsOf(graph);
  const wrong = new Set(problems.flatMap((it) => it.nodes));
  const node = graph.nodes.find((it) => it.id === selected);
  useTitle(name || "Plan");

  const select = (id: string | undefined) => void navigate({ search: { node: id }, replace: true });
  const add = async (inserted: Inserted, at?: [number, number]) => {
    const tool = await toolName(client, inserted);
    setGraph((before) => {
      if (before.nodes.length >= MOST_NODES) return before;
      const id = freshId(before, inserted.method);
      return { ...before, nodes: [...before.nodes, { id, tool, args: {}, ...(at ? { at } : {}) }] };
    });
  };
  const latest = useRef(add);
  latest.current = add;
  useEffect(() => mountTaker((inserted) => void latest.current(inserted)), []);

  const canSave = problems.length === 0 && name.trim() !== "" && !save.isPending;
  const keep = async (): Promise<string | undefined> => {
    if (plan && !isChanged) return plan.id;
    try {
      const saved = await save.mutateAsync({ name: name.trim(), graph });
      setName(saved.name);
      // As the hub keeps it, unless somebody went on meanwhile.
      setGraph((now) => (now === graph ? saved.graph : now));
      if (!plan) void navigate({ params: { id: saved.id }, search: { node: selected }, replace: true });
      return saved.id;
    } catch {
      // Shown below, where it was asked for.
      return undefined;
    }
  };
  const start = async () => {
    if (!canSave || isRunning) return;
    const id = await keep();
    if (id !== undefined) await runPlan(client, id);
  };
  useCommand("again", () => void start());

  const remove = (id: string) => {
    setGraph((before) => withoutNode(before, id));
    if (id === selected) select(undefined);
  };
  const shared = { graph, run, wrong, selected, onSelect: select };
  const list = <NodeList {...shared} onRemove={remove} />;
  return (
    <div className="flex h-full min-h-0">
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="flex flex-wrap items-center gap-2 border-b px-4 py-2">
          <h1 className="sr-only">{name || "New plan"}</h1>
          <Input
            aria-label="Name of the plan"
            placeholder="Name"
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.target.value)}
            className="w-auto! min-w-0 flex-1 basis-28 font-medium"
          />
          <PlanPicker current={plan?.id ?? NEW} />
          <Button disabled={!canSave || !isChanged} onClick={() => void keep()}>
            Save
          </Button>
          {isRunning ? (
            <Button onClick={() => stopPlan(plan?.id ?? NEW)}>Stop</Button>
          ) : (
            <Button
              variant="primary"
              disabled={!canSave || graph.nodes.length === 0}
              onClick={() => void start()}
              aria-keyshortcuts="r"
            >
              <Play />
              Run
            </Button>
          )}
          {plan && <RemovePlan plan={plan} />}
        </header>
        <div className="space-y-2 empty:hidden [&>*]:mx-4 [&>*]:mt-2">
          {name.trim() === "" && graph.nodes.length > 0 && (
            <p className="text-muted">A plan needs a name before it can be saved or run.</p>
          )}
          {problems.map((it) => (
            <p key={it.text} role="alert" className="flex flex-wrap items-center gap-2 text-bad">
              <span>
                <Sentence text={it.text} />
              </span>
              <Badge className="font-mono">{it.code}</Badge>
            </p>
          ))}
          {save.error && <ProblemView problem={asProblem(save.error)} />}
          {watched?.problem && <ProblemView problem={watched.problem} />}
          {run && (
            <p role="status" className="text-muted">
              {run.state === "running" && "Running: "}
              {run.state === "lost" && "Connection lost, so the run has ended: "}
              {run.state === "stopped" && "Stopped: "}
              {run.state === "done" && "Ran to its end: "}
              {summary(run)}
            </p>
          )}
        </div>
        <Board list={list} isEmpty={graph.nodes.length === 0}>
          <Graph
            {...shared}
            onMove={(id, at) => setGraph((before) => withNode(before, id, (it) => ({ ...it, at })))}
            onWire={(from, to) => setGraph((before) => toggledEdge(before, from, to))}
            onDrop={(inserted, at) => void add(inserted, at)}
          />
        </Board>
      </div>
      {node && (
        <Rail title={node.id} onClose={() => select(undefined)}>
          <NodeEditor
            key={node.id}
            node={node}
            graph={graph}
            run={run?.nodes[node.id]}
            onArgs={(args) => setGraph((before) => withNode(before, node.id, (it) => ({ ...it, args })))}
            onRename={(next) => {
              setGraph((before) => renamedNode(before, node.id, next));
              select(next);
            }}
            onWait={(on) => setGraph((before) => toggledEdge(before, on, node.id))}
            onRemove={() => remove(node.id)}
          />
        </Rail>
      )}
    </div>
  );
}

/** The picture where there is room, else the list; the other is one press away. */
function Board({
  list,
  isEmpty,
  children,
}: {
  list: React.ReactNode;
  isEmpty: boolean;
  children: React.ReactNode;
}) {
  const isWide = useWide();
  const [chosen, setChosen] = useState<"graph" | "list">();
  const shown = chosen ?? (isWide ? "graph" : "list");
  const box = useRef<HTMLDivElement>(null);
  useCommand("next", () => moveFocus(box.current, 1));
  useCommand("previous", () => moveFocus(box.current, -1));
  return (
    <div ref={box} className="relative mt-2 flex min-h-0 flex-1 flex-col border-t">
      <fieldset className="absolute right-3 bottom-3 z-10 flex rounded-md border bg-sunken p-0.5 shadow-sm">
        <legend className="sr-only">Shown as</legend>
        {(["graph", "list"] as const).map((it) => (
          <label
            key={it}
            className="cursor-pointer rounded-sm px-2.5 py-1 text-muted has-checked:bg-surface has-checked:font-medium has-checked:text-text has-checked:shadow-sm has-focus-visible:outline-2 has-focus-visible:outline-focus"
          >
            <input
              type="radio"
              name="shown"
              className="sr-only"
              checked={shown === it}
              onChange={() => setChosen(it)}
            />
            {it === "graph" ? "Graph" : "List"}
          </label>
        ))}
      </fieldset>
      {isEmpty && (
        <div className="pointer-events-none absolute inset-x-0 top-0">
          <Empty sentence="Drag a tool here, or press Enter on one in the registry" />
        </div>
      )}
      <div className="thin-scroll min-h-0 flex-1 overflow-auto">
        {shown === "list" ? list : <Suspense fallback={list}>{children}</Suspense>}
      </div>
    </div>
  );
}

function PlanPicker({ current }: { current: string }) {
  const navigate = useNavigate();
  const { data } = useQuery(plansQuery);
  if (!data || data.length === 0) return null;
  return (
    <Select
      aria-label="Plan"
      value={current}
      onChange={(event) => void navigate({ to: "/plans/$id", params: { id: event.target.value } })}
      className="max-w-40"
    >
      <option value={NEW}>New plan</option>
      {data.map((it) => (
        <option key={it.id} value={it.id}>
          {it.name}
        </option>
      ))}
    </Select>
  );
}

function RemovePlan({ plan }: { plan: Plan }) {
  const navigate = useNavigate();
  const [isAsking, setAsking] = useState(false);
  const remove = useRemovePlan(plan.id);
  return (
    <>
      <Button variant="ghost" size="icon" aria-label="Remove the plan" onClick={() => setAsking(true)}>
        <Trash2 />
      </Button>
      <Confirm
        open={isAsking}
        onOpenChange={setAsking}
        question={`Remove plan "${plan.name}"?`}
        verb="Remove"
        busy={remove.isPending}
        problem={remove.error ? asProblem(remove.error) : undefined}
        onConfirm={() =>
          remove.mutate(undefined, {
            onSuccess: () => void navigate({ to: "/plans/$id", params: { id: NEW } }),
          })
        }
      />
    </>
  );
}
