/** Beside a chat: what was called in it, as steps with their times and as a graph that becomes a plan. */

import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";
import { asProblem } from "@/api/http";
import type { Thread } from "@/lib/chat-thread";
import { bareName } from "@/lib/chat-thread";
import { cn } from "@/lib/class";
import { duration } from "@/lib/format";
import { planOf } from "@/lib/plan-of-chat";
import { Empty } from "@/parts/empty";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { Rail } from "@/parts/rail";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";
import { Tabs, TabsContent, TabsList, TabsTrigger } from "@/ui/tabs";
import { useSavePlan } from "../plan/api";

const Graph = lazy(() => import("../plan/graph"));

export function ChatRail({ thread, onClose }: { thread: Thread; onClose: () => void }) {
  const [tab, setTab] = useState("steps");
  const isEmpty = !thread.messages.some((it) => it.role === "tool");
  return (
    <Rail title="Calls of this chat" onClose={onClose}>
      {isEmpty ? (
        <Empty sentence="Nothing was called yet" />
      ) : (
        <Tabs value={tab} onValueChange={setTab} className="h-full">
          <TabsList aria-label="Calls" className="px-2">
            <TabsTrigger value="steps">Steps</TabsTrigger>
            <TabsTrigger value="graph">Graph</TabsTrigger>
          </TabsList>
          <TabsContent value="steps">
            <Steps thread={thread} />
          </TabsContent>
          <TabsContent value="graph" className="flex flex-1 flex-col">
            <AsPlan thread={thread} />
          </TabsContent>
        </Tabs>
      )}
    </Rail>
  );
}

/** A bar as long as the call took, beside the longest. */
function Steps({ thread }: { thread: Thread }) {
  const calls = thread.messages.filter((it) => it.role === "tool");
  const longest = Math.max(1, ...calls.map((it) => it.content.ms ?? 0));
  return (
    <ol className="divide-y">
      {calls.map(({ id, content }) => (
        <li key={id}>
          <a href={`#m-${id}`} className="block space-y-1 px-4 py-2 hover:bg-hover">
            <span className="flex items-center gap-2">
              <Foreign
                text={bareName(content.tool ?? "", content.server)}
                plain
                className="min-w-0 flex-1 truncate font-mono text-sm"
              />
              <span className="text-muted text-sm tabular-nums">
                {content.ms === undefined ? (content.state ?? "") : duration(content.ms)}
              </span>
            </span>
            <span aria-hidden className="block h-1.5 rounded-full bg-line">
              <span
                className={cn("block h-full rounded-full", content.state === "failed" ? "bg-bad" : "bg-info")}
                style={{ width: `${Math.max(2, ((content.ms ?? 0) / longest) * 100)}%` }}
              />
            </span>
          </a>
        </li>
      ))}
    </ol>
  );
}

const nothing = () => {};
const NO_NODES: ReadonlySet<string> = new Set();

function AsPlan({ thread }: { thread: Thread }) {
  const navigate = useNavigate();
  const save = useSavePlan(undefined);
  const { graph, run } = useMemo(() => planOf(thread.messages), [thread.messages]);
  const keep = () =>
    save.mutate(
      { name: (thread.chat?.title || "Plan").slice(0, 100), graph },
      { onSuccess: (plan) => void navigate({ to: "/plans/$id", params: { id: plan.id } }) },
    );
  return (
    <>
      <div className="space-y-2 p-3">
        <Button size="sm" variant="primary" disabled={save.isPending} onClick={keep}>
          Save as a plan
        </Button>
        {save.error && <ProblemView problem={asProblem(save.error)} />}
      </div>
      <div className="min-h-72 flex-1">
        <Suspense fallback={<SkeletonRows rows={3} />}>
          <Graph
            graph={graph}
            run={run}
            wrong={NO_NODES}
            selected={undefined}
            onSelect={nothing}
            onMove={nothing}
            onWire={nothing}
            onDrop={nothing}
          />
        </Suspense>
      </div>
    </>
  );
}
