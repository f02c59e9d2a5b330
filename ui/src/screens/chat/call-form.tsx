/** Arguments for a line whose `…` is still there. */

import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { asProblem } from "@/api/http";
import { metaQuery, registryQuery } from "@/api/queries";
import type { Method } from "@/api/types";
import { draftProblems, freshDraft, sentText, switched } from "@/lib/draft";
import { isObject } from "@/lib/json";
import { rootField } from "@/lib/schema";
import { callLine, type Line } from "@/lib/slash";
import type { Problem } from "@/lib/validate";
import { Foreign } from "@/parts/foreign";
import { ProblemView } from "@/parts/problem";
import { SchemaForm } from "@/parts/schema-form/schema-form";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";
import { Dialog, DialogBody, DialogContent, DialogFooter } from "@/ui/dialog";
import { Textarea } from "@/ui/input";

type Call = Extract<Line, { kind: "call" }>;
type Props = { call: Call; onSend: (line: string) => void; onClose: () => void };

export function CallForm({ call, onSend, onClose }: Props) {
  const { data: entries } = useQuery(registryQuery);
  const entry = entries?.find(
    (it) =>
      it.name === call.server || [it.instance, ...it.instances].some((one) => one?.slug === call.server),
  );
  const meta = useQuery({ ...metaQuery(entry?.id ?? ""), enabled: entry !== undefined });
  const method = meta.data?.methods.find((it) => it.name === call.method);
  return (
    <Dialog open onOpenChange={(open) => !open && onClose()}>
      <DialogContent title={`${call.server}.${call.method}`} description="What it is called with">
        {method ? (
          <Form call={call} method={method} onSend={onSend} />
        ) : (
          <DialogBody>
            {entry === undefined || meta.data ? (
              <p>Nothing you may call is named that.</p>
            ) : meta.isError ? (
              <ProblemView problem={asProblem(meta.error)} />
            ) : (
              <SkeletonRows rows={3} />
            )}
          </DialogBody>
        )}
      </DialogContent>
    </Dialog>
  );
}

function Form({ call, method, onSend }: { call: Call; method: Method; onSend: (line: string) => void }) {
  const field = useMemo(() => rootField(method.inputSchema), [method.inputSchema]);
  const [draft, setDraft] = useState(() => freshDraft(field));
  const [shown, setShown] = useState<Problem[]>([]);
  const submit = () => {
    const problems = draftProblems(draft, method.inputSchema);
    setShown(problems);
    if (problems.length === 0) onSend(callLine(call.server, call.method, compact(sentText(draft))));
  };
  const toggle = () => {
    const next = switched(draft);
    if ("problem" in next) setShown([{ pointer: "", text: next.problem }]);
    else setDraft(next);
  };
  return (
    <form
      className="flex min-h-0 flex-1 flex-col"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) submit();
      }}
    >
      <DialogBody className="space-y-4">
        {method.description && <Foreign text={method.description} block className="text-muted" />}
        {draft.mode === "form" ? (
          <SchemaForm
            field={field}
            value={draft.value}
            onChange={(value) =>
              setDraft((before) =>
                before.mode === "form" ? { ...before, value: isObject(value) ? value : {} } : before,
              )
            }
            problems={shown}
            onUnfinished={(pointer, problem) =>
              setDraft((before) => {
                if (before.mode !== "form") return before;
                const { [pointer]: _, ...rest } = before.unfinished;
                return { ...before, unfinished: problem ? { ...rest, [pointer]: problem } : rest };
              })
            }
          />
        ) : (
          <>
            <Textarea
              aria-label="Arguments as JSON"
              rows={8}
              spellCheck={false}
              value={draft.text}
              onChange={(event) => setDraft({ mode: "json", text: event.target.value })}
              className="font-mono text-sm leading-5"
            />
            {shown.map((it) => (
              <p key={`${it.pointer} ${it.text}`} className="text-bad">
                {it.pointer} {it.text}
              </p>
            ))}
          </>
        )}
      </DialogBody>
      <DialogFooter>
        <Button variant="ghost" className="mr-auto" onClick={toggle}>
          {draft.mode === "form" ? "JSON" : "Form"}
        </Button>
        <Button type="submit" variant="primary">
          Call
        </Button>
      </DialogFooter>
    </form>
  );
}

/** On one line. Inside its texts JSON has no line breaks, so lines can be joined as they stand. */
function compact(text: string): string {
  return text
    .split("\n")
    .map((it) => it.trim())
    .join(" ");
}
