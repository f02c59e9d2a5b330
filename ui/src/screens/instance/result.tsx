/** What came of a call: readable, structured, raw. */

import { useId, useState } from "react";
import { useConnect } from "@/api/mutations";
import { hasEnded } from "@/lib/call-state";
import { partsOf } from "@/lib/content";
import { bytes, count, duration, tokens } from "@/lib/format";
import type { Json } from "@/lib/json";
import { ContentView } from "@/parts/content-view";
import { CopyButton } from "@/parts/copy-button";
import { JsonView } from "@/parts/json-view";
import { ProblemView } from "@/parts/problem";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Tabs, TabsContent, TabsList, TabsTrigger } from "@/ui/tabs";
import type { Run } from "./use-call";

type Props = { run: Run; instanceId: string; onAgain: () => void };

export function Result({ run, instanceId, onAgain }: Props) {
  const { state, result, problem } = run;
  if (!hasEnded(state)) return null;
  const took = (state.endedAt ?? 0) - (state.startedAt ?? 0);
  return (
    <section aria-label="Result" className="space-y-3">
      <Head run={run} took={took} />
      {problem && (
        <ProblemView problem={problem}>
          {problem.code === "instance.needs-reauth" && <Reconnect instanceId={instanceId} />}
          <Button size="sm" onClick={onAgain}>
            Try again
          </Button>
        </ProblemView>
      )}
      {result && <ResultTabs result={result} />}
    </section>
  );
}

function Reconnect({ instanceId }: { instanceId: string }) {
  const connect = useConnect(instanceId);
  return (
    <Button size="sm" variant="primary" disabled={connect.isPending} onClick={() => connect.mutate()}>
      Reconnect
    </Button>
  );
}

const WORDS = { done: "Done", failed: "Failed", denied: "Denied", cancelled: "Cancelled" };

function Head({ run, took }: { run: Run; took: number }) {
  const { phase } = run.state;
  const raw = run.result ? JSON.stringify(run.result) : "";
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <Badge tone={phase === "done" ? "accent" : phase === "failed" ? "bad" : "plain"}>
        {run.result?.isError === true ? "The tool failed" : WORDS[phase as keyof typeof WORDS]}
      </Badge>
      <span className="text-muted tabular-nums">{duration(took)}</span>
      {raw && (
        <span className="text-muted tabular-nums">
          {bytes(new TextEncoder().encode(raw).length)} · about {count(tokens(raw))} tokens
        </span>
      )}
    </p>
  );
}

function ResultTabs({ result }: { result: { [key: string]: Json } }) {
  const [tab, setTab] = useState("readable");
  const id = useId();
  const parts = partsOf(result.content);
  const structured = result.structuredContent;
  const shown = tab === "structured" && structured === undefined ? "readable" : tab;
  return (
    <Tabs value={shown} onValueChange={setTab}>
      <div className="flex items-center border-b">
        <TabsList aria-label="Result" className="flex-1 border-b-0!">
          <TabsTrigger value="readable">Readable</TabsTrigger>
          {structured !== undefined && <TabsTrigger value="structured">Structured</TabsTrigger>}
          <TabsTrigger value="raw">Raw</TabsTrigger>
        </TabsList>
        <CopyButton text={() => copied(shown, result)} label="Copy the result" />
      </div>
      <TabsContent value="readable" className="space-y-3 pt-3">
        {isUntrusted(result) ? (
          <fieldset className="space-y-3 rounded-md border border-warn px-3 pb-3">
            <legend className="px-1 text-sm text-warn">Written by others: not to be trusted</legend>
            {parts.map((part, index) => (
              <ContentView key={`${id} ${index}`} part={part} />
            ))}
          </fieldset>
        ) : (
          parts.map((part, index) => <ContentView key={`${id} ${index}`} part={part} />)
        )}
        {parts.length === 0 && structured !== undefined && <JsonView value={structured} />}
        {parts.length === 0 && structured === undefined && <p className="text-muted">Nothing in it</p>}
      </TabsContent>
      {structured !== undefined && (
        <TabsContent value="structured" className="pt-3">
          <JsonView value={structured} />
        </TabsContent>
      )}
      <TabsContent value="raw" className="pt-3">
        <JsonView value={result} />
      </TabsContent>
    </Tabs>
  );
}

/** Whether its page says that what it gives back was written by others. */
function isUntrusted({ _meta }: { [key: string]: Json }): boolean {
  return Object(_meta)["dev.toolgrove/untrusted"] === true;
}

function copied(tab: string, result: { [key: string]: Json }): string {
  if (tab === "structured") return JSON.stringify(result.structuredContent, null, 2);
  const texts = partsOf(result.content).flatMap((it) => (it.kind === "text" ? [it.text] : []));
  return tab === "readable" && texts.length > 0 ? texts.join("\n") : JSON.stringify(result, null, 2);
}
