/** One call: where its time went, what came of it, and again. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { ArrowLeft, Download, Play } from "lucide-react";
import { asProblem } from "@/api/http";
import { callQuery, instanceQuery, instancesQuery } from "@/api/queries";
import type { CallDetail, Withheld } from "@/api/types";
import { NotFound } from "@/app/fallback";
import { useNow } from "@/app/now";
import { callerWords, endTone, endWord } from "@/lib/calls";
import { cn } from "@/lib/class";
import { bytes, clock, duration } from "@/lib/format";
import { CopyButton } from "@/parts/copy-button";
import { Foreign } from "@/parts/foreign";
import { Page } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Tabs, TabsContent, TabsList, TabsTrigger } from "@/ui/tabs";
import { CallTree } from "./call-tree";
import { Waterfall } from "./waterfall";

const route = getRouteApi("/activity/$call");

export function CallScreen() {
  const { call: id } = route.useParams();
  const { q } = route.useSearch();
  const detail = useQuery(callQuery(id));
  const back = (
    <Button asChild variant="ghost" size="sm">
      <Link to="/activity" search={q ? { q } : {}}>
        <ArrowLeft />
        All calls
      </Link>
    </Button>
  );
  if (detail.isError && asProblem(detail.error).status === 404) return <NotFound />;
  return (
    <Page title="Call" actions={back} {...(detail.data ? { about: <About call={detail.data} /> } : {})}>
      {detail.isPending && <SkeletonRows rows={6} />}
      {detail.isError && (
        <ProblemView problem={asProblem(detail.error)}>
          <Button size="sm" onClick={() => detail.refetch()}>
            Try again
          </Button>
        </ProblemView>
      )}
      {detail.data && <Body call={detail.data} />}
    </Page>
  );
}

/** The call in one sentence. */
function About({ call }: { call: CallDetail }) {
  const now = useNow();
  const tone = endTone(call.outcome);
  return (
    <>
      <Foreign text={callerWords(call)} plain className="text-text" /> called{" "}
      <code className="text-text">{<Foreign text={call.tool} plain />}</code> at {clock(call.started_at, now)}
      : <span className={cn(tone === "bad" ? "text-bad" : "text-text")}>{endWord(call.outcome)}</span>
      {call.outcome !== null && <> after {duration(call.ms)}</>}
    </>
  );
}

function Body({ call }: { call: CallDetail }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const tab = search.tab ?? "arguments";
  return (
    <div className="space-y-5">
      <div className="flex flex-wrap items-center gap-2">
        <RunAgain call={call} />
        <Button onClick={() => save(call)}>
          <Download />
          Export
        </Button>
        <span className="flex flex-wrap items-center gap-1.5">
          {call.error_code && <Badge tone="bad">{call.error_code}</Badge>}
          <Badge>{call.method}</Badge>
          <Badge>{call.door}</Badge>
          {call.tab && (
            <Badge>
              <Foreign text={call.tab.domain} plain />, tab {call.tab.id}
            </Badge>
          )}
          <Badge>{bytes(call.bytes)}</Badge>
          {call.depth > 0 && <Badge>depth {call.depth}</Badge>}
        </span>
        <span className="flex min-w-0 items-center font-mono text-muted text-sm">
          <span className="truncate">{call.id}</span>
          <CopyButton text={call.id} label="Copy the call id" />
        </span>
      </div>
      <Waterfall call={call} />
      <Tabs
        value={tab}
        onValueChange={(next) => void navigate({ search: { ...search, tab: next }, replace: true })}
      >
        <TabsList aria-label="Call">
          <TabsTrigger value="arguments">Arguments</TabsTrigger>
          <TabsTrigger value="result">Result</TabsTrigger>
          <TabsTrigger value="events">Events</TabsTrigger>
          <TabsTrigger value="graph">Graph</TabsTrigger>
        </TabsList>
        <TabsContent value="arguments" className="pt-3">
          <NotKept withheld={call.arguments} />
        </TabsContent>
        <TabsContent value="result" className="pt-3">
          <NotKept withheld={call.result} />
        </TabsContent>
        <TabsContent value="events" className="pt-3">
          <Events call={call} />
        </TabsContent>
        <TabsContent value="graph" className="pt-3">
          <CallTree call={call} />
        </TabsContent>
      </Tabs>
    </div>
  );
}

function NotKept({ withheld }: { withheld: Withheld }) {
  return (
    <p className="flex items-center gap-2">
      <span aria-hidden>•••</span>
      <span className="text-muted">Not shown: {withheld.reason}</span>
    </p>
  );
}

function Events({ call }: { call: CallDetail }) {
  if (call.ticks.length === 0)
    return <p className="text-muted">The server let nothing be heard before its answer.</p>;
  return (
    <ol className="space-y-1">
      {call.ticks.map((it, index) => (
        <li key={index} className="flex gap-4">
          <span className="w-20 text-right text-muted tabular-nums">{duration(it.at_ms)}</span>
          <span>
            {it.progress === null
              ? "Asked a question"
              : `Progress ${it.progress}${it.total === null ? "" : ` of ${it.total}`}`}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** Opens the tool with the arguments it was last run with here. */
function RunAgain({ call }: { call: CallDetail }) {
  const { data: instances } = useQuery(instancesQuery);
  const instance = instances?.find((it) => it.id === call.instance_id);
  const whole = useQuery({
    ...instanceQuery(instance?.slug ?? ""),
    enabled: instance !== undefined && call.method === "tools/call",
  });
  const tool = whole.data?.tool_list.find(
    (it) => it.public_name === call.tool || call.tool.endsWith(`__${it.name}`),
  );
  if (!instance || !tool) return null;
  return (
    <Button asChild variant="primary">
      <Link to="/mcp/$id" params={{ id: instance.slug }} search={{ tool: tool.name }}>
        <Play />
        Run again
      </Link>
    </Button>
  );
}

function save(call: CallDetail): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(call, null, 2)], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `call-${call.id}.json`;
  link.click();
  URL.revokeObjectURL(url);
}
