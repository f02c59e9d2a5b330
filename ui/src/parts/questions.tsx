/** What a server asks in the middle of a call, answered where it was asked. */

import { ExternalLink } from "lucide-react";
import { type FormEvent, useState } from "react";
import { isObject, type Json, type JsonObject } from "@/lib/json";
import type { Answers, Question } from "@/lib/mcp-request";
import { rootField } from "@/lib/schema";
import { initial } from "@/lib/schema-value";
import { safeLink } from "@/lib/untrusted";
import { type Problem, problems } from "@/lib/validate";
import { Foreign } from "@/parts/foreign";
import { SchemaForm } from "@/parts/schema-form/schema-form";
import { Button } from "@/ui/button";

type Props = { questions: Question[]; onAnswer: (answers: Answers) => void };

export function Questions({ questions, onAnswer }: Props) {
  const [values, setValues] = useState<Record<string, Json | undefined>>(() =>
    Object.fromEntries(questions.map((it) => [it.key, fresh(it)])),
  );
  const [unfinished, setUnfinished] = useState<Record<string, string>>({});
  const [wrong, setWrong] = useState<Record<string, Problem[]>>({});
  const all = (action: "decline" | "cancel") =>
    onAnswer(Object.fromEntries(questions.map((it) => [it.key, { action }])));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = Object.fromEntries(
      questions.map((it) => [it.key, it.kind === "form" ? problems(it.schema, values[it.key] ?? {}) : []]),
    );
    setWrong(found);
    if (Object.values(found).some((it) => it.length > 0) || Object.keys(unfinished).length > 0) return;
    onAnswer(Object.fromEntries(questions.map((it) => [it.key, accepted(it, values[it.key])])));
  };
  return (
    <form onSubmit={submit} className="space-y-4 rounded-md border border-info/40 bg-info-soft p-3">
      {questions.map((it) => (
        <div key={it.key} className="space-y-3">
          <QuestionText question={it} />
          {it.kind === "form" && (
            <SchemaForm
              field={rootField(it.schema)}
              value={values[it.key]}
              onChange={(value) => setValues((before) => ({ ...before, [it.key]: value }))}
              problems={[
                ...(wrong[it.key] ?? []),
                ...Object.entries(unfinished).map(([pointer, text]) => ({ pointer, text })),
              ]}
              onUnfinished={(pointer, problem) =>
                setUnfinished(({ [pointer]: _, ...rest }) =>
                  problem === undefined ? rest : { ...rest, [pointer]: problem },
                )
              }
            />
          )}
        </div>
      ))}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" variant="primary" size="sm">
          {questions.some((it) => it.kind === "url") ? "I have done that" : "Answer"}
        </Button>
        <Button size="sm" onClick={() => all("decline")}>
          Decline
        </Button>
      </div>
    </form>
  );
}

function QuestionText({ question }: { question: Question }) {
  if (question.kind === "other")
    return <p>The server asks for something this page cannot give: {question.method}</p>;
  const link = question.kind === "url" ? safeLink(question.url) : undefined;
  return (
    <div className="space-y-2">
      <Foreign text={question.message} plain block className="font-medium" />
      {question.kind === "url" && (
        <p className="flex flex-wrap items-center gap-2">
          {link ? (
            <Button asChild size="sm">
              <a href={link.href} target="_blank" rel="noopener noreferrer">
                <ExternalLink aria-hidden />
                Open {link.host}
              </a>
            </Button>
          ) : (
            <span className="text-warn">Not opened, because it is no web address</span>
          )}
          <Foreign text={question.url} plain className="font-mono text-muted text-sm" />
        </p>
      )}
    </div>
  );
}

function fresh(question: Question): Json | undefined {
  return question.kind === "form" ? initial(rootField(question.schema), true) : undefined;
}

function accepted(question: Question, value: Json | undefined): JsonObject {
  if (question.kind === "other") return { action: "cancel" };
  if (question.kind === "url") return { action: "accept" };
  return { action: "accept", content: isObject(value) ? value : {} };
}
