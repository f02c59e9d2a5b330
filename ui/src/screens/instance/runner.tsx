/** Runs one tool: arguments as a form or as JSON, progress, questions, result. */

import { Braces, Play, SquarePen } from "lucide-react";
import { type KeyboardEvent, useId, useMemo, useState } from "react";
import { ALL } from "@/api/mcp";
import type { Tool, WholeInstance } from "@/api/types";
import { useCommand } from "@/app/commands";
import { hasEnded } from "@/lib/call-state";
import { curlCall, toolgroveCall } from "@/lib/command";
import { argsOf, draftOf, draftProblems, freshDraft, sentText, switched, textOf } from "@/lib/draft";
import { encodeArgs } from "@/lib/link-args";
import { paramHeaders } from "@/lib/mcp-request";
import { rootField } from "@/lib/schema";
import type { Problem } from "@/lib/validate";
import { CopyButton } from "@/parts/copy-button";
import { Announcer, Progress } from "@/parts/progress";
import { Questions } from "@/parts/questions";
import { SchemaForm } from "@/parts/schema-form/schema-form";
import { Button } from "@/ui/button";
import { Textarea } from "@/ui/input";
import { keepArgs, keptArgs } from "./kept-args";
import { Result } from "./result";
import { ToolHead } from "./tool-head";
import { useCall } from "./use-call";

type Props = { instance: WholeInstance; tool: Tool; args: string | undefined };

export function Runner({ instance, tool, args }: Props) {
  const field = useMemo(() => rootField(tool.input_schema), [tool.input_schema]);
  const [draft, setDraft] = useState(() => {
    const given = args ?? keptArgs(tool.public_name);
    return given === undefined ? freshDraft(field) : draftOf(given);
  });
  const [shown, setShown] = useState<Problem[]>([]);
  const [cannotSwitch, setCannotSwitch] = useState<string>();
  const { run, start, cancel, answer } = useCall(ALL);
  const form = useId();
  const isBusy = run.state.phase === "running" || run.state.phase === "needs-input";

  const change = (next: typeof draft) => {
    setDraft(next);
    setCannotSwitch(undefined);
    // What was wrong is looked at again with every change, what was not yet said stays unsaid.
    if (shown.length > 0) setShown(draftProblems(next, tool.input_schema));
  };
  const toggle = () => {
    const next = switched(draft);
    if ("problem" in next) setCannotSwitch(next.problem);
    else change(next);
  };
  const submit = () => {
    const problems = draftProblems(draft, tool.input_schema);
    setShown(problems);
    if (problems.length > 0 || isBusy) return;
    const text = sentText(draft);
    keepArgs(tool.public_name, text);
    start({
      method: "tools/call",
      name: tool.public_name,
      params: { name: JSON.stringify(tool.public_name), arguments: text },
      paramHeaders: paramHeaders(tool.input_schema, argsOf(draft)),
    });
  };
  useCommand("toggle-json", toggle);
  useCommand("again", submit, hasEnded(run.state));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape" && isBusy) cancel();
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: shortcuts of everything inside
    <div onKeyDown={onKeyDown} className="grid min-h-0 gap-0 @4xl:h-full @4xl:grid-cols-2">
      <div className="thin-scroll min-w-0 space-y-4 p-4 @4xl:overflow-y-auto">
        <ToolHead instance={instance} tool={tool} />
        <form
          id={form}
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
          className="space-y-4"
        >
          <div className="flex items-center gap-2">
            <h3 className="flex-1 font-semibold">Arguments</h3>
            <Button size="sm" variant="ghost" onClick={toggle} aria-keyshortcuts="e">
              {draft.mode === "form" ? <Braces /> : <SquarePen />}
              {draft.mode === "form" ? "JSON" : "Form"}
            </Button>
          </div>
          {cannotSwitch && <p className="text-warn">{cannotSwitch}</p>}
          {draft.mode === "form" ? (
            <>
              <SchemaForm
                field={field}
                value={draft.value}
                onChange={(value) => change({ ...draft, value: (value ?? {}) as typeof draft.value })}
                problems={shown}
                onUnfinished={(pointer, problem) => {
                  const { [pointer]: _, ...rest } = draft.unfinished;
                  setDraft((before) =>
                    before.mode === "form"
                      ? { ...before, unfinished: problem ? { ...rest, [pointer]: problem } : rest }
                      : before,
                  );
                }}
              />
              {field.kind === "group" &&
                field.properties.length === 0 &&
                Object.keys(draft.value).length === 0 && (
                  <p className="text-muted">This tool takes no arguments.</p>
                )}
            </>
          ) : (
            <JsonEditor
              text={draft.text}
              problems={shown}
              onChange={(text) => change({ mode: "json", text })}
            />
          )}
        </form>
        <div className="flex flex-wrap items-center gap-2">
          <Button
            type="submit"
            form={form}
            variant="primary"
            disabled={isBusy || !tool.enabled}
            aria-keyshortcuts="Control+Enter Meta+Enter"
          >
            <Play />
            Run
          </Button>
          <CopyButton
            text={() => toolgroveCall(tool.public_name, sentText(draft), tool.input_schema)}
            label="Copy as a toolgrove command"
          >
            toolgrove call
          </CopyButton>
          <CopyButton
            text={() => curlCall(location.origin, tool.public_name, sentText(draft))}
            label="Copy as curl"
          >
            curl
          </CopyButton>
          <CopyButton
            text={() => linkTo(instance.slug, tool.name, textOf(draft))}
            label="Copy a link that fills in these arguments"
          >
            Link
          </CopyButton>
        </div>
      </div>
      <div className="thin-scroll min-w-0 space-y-3 border-t p-4 @4xl:overflow-y-auto @4xl:border-t-0 @4xl:border-l">
        <Announcer state={run.state} tool={tool.name} />
        {run.state.phase === "drafting" && <p className="text-muted">The result appears here.</p>}
        {run.state.phase === "running" && <Progress state={run.state} onCancel={cancel} />}
        {run.state.phase === "needs-input" && run.questions && (
          <>
            <Questions key={JSON.stringify(run.questions)} questions={run.questions} onAnswer={answer} />
            <Button size="sm" onClick={cancel}>
              Cancel the call
            </Button>
          </>
        )}
        <Result run={run} instanceId={instance.id} onAgain={submit} />
      </div>
    </div>
  );
}

function linkTo(slug: string, tool: string, text: string): string {
  const query = new URLSearchParams({ tool, args: encodeArgs(text) });
  return `${location.origin}/ui/mcp/${slug}?${query}`;
}

function JsonEditor({
  text,
  problems,
  onChange,
}: {
  text: string;
  problems: Problem[];
  onChange: (text: string) => void;
}) {
  const id = useId();
  return (
    <div className="space-y-1">
      <Textarea
        aria-label="Arguments as JSON"
        aria-describedby={problems.length > 0 ? id : undefined}
        aria-invalid={problems.length > 0 || undefined}
        rows={Math.min(Math.max(text.split("\n").length + 1, 8), 24)}
        spellCheck={false}
        value={text}
        onChange={(event) => onChange(event.target.value)}
        className="font-mono text-sm leading-5"
      />
      <ul id={id}>
        {problems.map((it) => (
          <li key={`${it.pointer} ${it.text}`} className="text-bad">
            {it.pointer && <code>{it.pointer}</code>} {it.text}
          </li>
        ))}
      </ul>
    </div>
  );
}
