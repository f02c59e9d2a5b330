/** Prompts: fill one in and read what it says. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { asProblem } from "@/api/http";
import { oneOf } from "@/api/mcp";
import type { WholeInstance } from "@/api/types";
import { hasEnded } from "@/lib/call-state";
import { cn } from "@/lib/class";
import { partOf } from "@/lib/content";
import { type Json, member } from "@/lib/json";
import { ContentView } from "@/parts/content-view";
import { Empty } from "@/parts/empty";
import { Foreign } from "@/parts/foreign";
import { FormField } from "@/parts/form-field";
import { ProblemView } from "@/parts/problem";
import { Progress } from "@/parts/progress";
import { Questions } from "@/parts/questions";
import { SkeletonRows } from "@/parts/skeleton";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Input } from "@/ui/input";
import { type Prompt, promptsQuery } from "./offer";
import { Split } from "./split";
import { useCall } from "./use-call";

const route = getRouteApi("/mcp/$id");

export function PromptsTab({
  instance,
  selected,
}: {
  instance: WholeInstance;
  selected: string | undefined;
}) {
  const prompts = useQuery(promptsQuery(instance.id, instance.slug));
  const navigate = route.useNavigate();
  if (prompts.isPending) return <SkeletonRows rows={4} />;
  if (prompts.isError) return <ProblemView problem={asProblem(prompts.error)} className="m-4" />;
  if (prompts.data.length === 0) return <Empty sentence="This server offers no prompts" />;
  const chosen = prompts.data.find((it) => it.name === selected);
  const choose = (name?: string) =>
    void navigate({ search: { tab: "prompts", ...(name ? { prompt: name } : {}) } });
  return (
    <Split
      isChosen={chosen !== undefined}
      onBack={() => choose()}
      back="All prompts"
      list={
        <ul>
          {prompts.data.map((it) => (
            <li key={it.name} className="border-b">
              <button
                type="button"
                data-item
                aria-current={it.name === selected ? "true" : undefined}
                onClick={() => choose(it.name)}
                className={cn(
                  "block w-full px-3 py-2 text-left",
                  it.name === selected ? "bg-accent-soft" : "hover:bg-hover",
                )}
              >
                <Foreign text={it.name} plain className="block font-mono text-sm" />
                <Foreign text={it.description} plain className="block truncate text-muted text-sm" />
              </button>
            </li>
          ))}
        </ul>
      }
      detail={
        chosen ? (
          <PromptRunner key={chosen.name} instance={instance} prompt={chosen} />
        ) : (
          <Empty sentence="Choose a prompt to read it." />
        )
      }
    />
  );
}

function PromptRunner({ instance, prompt }: { instance: WholeInstance; prompt: Prompt }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const { run, start, cancel, answer } = useCall(oneOf(instance.slug));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const given = Object.fromEntries(Object.entries(values).filter(([, it]) => it !== ""));
    start({
      method: "prompts/get",
      name: prompt.name,
      params: { name: JSON.stringify(prompt.name), arguments: JSON.stringify(given) },
    });
  };
  const messages = hasEnded(run.state) && Array.isArray(run.result?.messages) ? run.result.messages : [];
  return (
    <div className="max-w-3xl space-y-4 p-4">
      <header className="space-y-1">
        <h2 className="font-mono font-semibold text-lg">
          <Foreign text={prompt.name} plain />
        </h2>
        <Foreign text={prompt.description} block className="text-muted" />
      </header>
      <form onSubmit={submit} className="space-y-3">
        {prompt.arguments.map((it) => (
          <FormField key={it.name} label={it.name} optional={!it.required} about={it.description}>
            {(props) => (
              <Input
                {...props}
                required={it.required}
                value={values[it.name] ?? ""}
                onChange={(event) => setValues({ ...values, [it.name]: event.target.value })}
              />
            )}
          </FormField>
        ))}
        <Button type="submit" variant="primary" disabled={run.state.phase === "running"}>
          Get prompt
        </Button>
      </form>
      {run.state.phase === "running" && <Progress state={run.state} onCancel={cancel} />}
      {run.state.phase === "needs-input" && run.questions && (
        <Questions questions={run.questions} onAnswer={answer} />
      )}
      {run.problem && <ProblemView problem={run.problem} />}
      <ol className="space-y-3">
        {messages.map((message, index) => (
          <li key={index} className="rounded-md border bg-surface">
            <p className="border-b px-3 py-1.5">
              <Badge>{String(member(message, "role") ?? "message")}</Badge>
            </p>
            <div className="p-3">
              <ContentView part={partOf((member(message, "content") ?? null) as Json)} />
            </div>
          </li>
        ))}
      </ol>
    </div>
  );
}
