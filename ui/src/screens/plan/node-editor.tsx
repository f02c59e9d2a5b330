/** One node: its name, what it is called with, what it waits for, and what came of it. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { instanceQuery, registryQuery } from "@/api/queries";
import type { PlanGraph, PlanNode } from "@/api/types.gen";
import { type Draft, draftOf, draftProblems, switched } from "@/lib/draft";
import { homeOf } from "@/lib/home-of";
import { isObject, type JsonObject, parseJson, setAt } from "@/lib/json";
import { edgesOf, isId, references } from "@/lib/plan-graph";
import type { NodeRun } from "@/lib/plan-run";
import { rootField } from "@/lib/schema";
import type { Problem } from "@/lib/validate";
import { TextView } from "@/parts/content-view";
import { Foreign } from "@/parts/foreign";
import { FormField } from "@/parts/form-field";
import { ProblemView } from "@/parts/problem";
import { SchemaForm } from "@/parts/schema-form/schema-form";
import { Button } from "@/ui/button";
import { Checkbox, Input, Select, Textarea } from "@/ui/input";
import { StateMark } from "./node-state";

type Props = {
  node: PlanNode;
  graph: PlanGraph;
  run: NodeRun | undefined;
  onArgs: (args: JsonObject) => void;
  onRename: (id: string) => void;
  onWait: (on: string) => void;
  onRemove: () => void;
};

export function NodeEditor({ node, graph, run, onArgs, onRename, onWait, onRemove }: Props) {
  const { data: entries } = useQuery(registryQuery);
  const home = homeOf(entries, node.tool);
  const instance = useQuery({ ...instanceQuery(home.server ?? ""), enabled: home.server !== undefined });
  const tool = instance.data?.tool_list.find((it) => it.public_name === node.tool || it.name === home.method);
  const [draft, setDraft] = useState<Draft>(() => draftOf(JSON.stringify(node.args, null, 2)));
  const change = (next: Draft) => {
    setDraft((before) =>
      next.mode === "form" && before.mode === "form" ? { ...next, unfinished: before.unfinished } : next,
    );
    const value = next.mode === "form" ? next.value : parsed(next.text);
    if (value) onArgs(value);
  };
  const unfinished = (pointer: string, problem: string | undefined) =>
    setDraft((before) => {
      if (before.mode !== "form") return before;
      const { [pointer]: _, ...rest } = before.unfinished;
      return { ...before, unfinished: problem ? { ...rest, [pointer]: problem } : rest };
    });
  const wire = (argument: string, reference: string) => {
    const next = setAt(node.args, [argument], `{{${reference}}}`);
    if (isObject(next)) change({ mode: "form", value: next, unfinished: {} });
  };
  const schema = tool?.input_schema ?? { type: "object" };
  return (
    <div className="space-y-5 p-4">
      <header className="space-y-2">
        <Name key={node.id} id={node.id} taken={graph.nodes.map((it) => it.id)} onRename={onRename} />
        <Foreign text={node.tool} plain className="block font-mono text-muted text-sm" />
        {tool?.description && <Foreign text={tool.description} block className="line-clamp-4 text-muted" />}
        {home.entry === undefined && entries && (
          <p className="text-warn">Nothing you may call is named that.</p>
        )}
      </header>
      {run && <Outcome run={run} />}
      <Arguments draft={draft} schema={schema} onChange={change} onUnfinished={unfinished} />
      <Wire node={node} graph={graph} schema={schema} onWire={wire} />
      <Waits node={node} graph={graph} onWait={onWait} />
      <Button variant="danger" size="sm" onClick={onRemove}>
        Remove node
      </Button>
    </div>
  );
}

function parsed(text: string): JsonObject | undefined {
  const read = parseJson(text.trim() === "" ? "{}" : text);
  return read.ok && isObject(read.value) ? read.value : undefined;
}

function Name({ id, taken, onRename }: { id: string; taken: string[]; onRename: (id: string) => void }) {
  const [text, setText] = useState(id);
  const problem =
    text === id
      ? undefined
      : !isId(text)
        ? "No dots, braces or spaces at its ends"
        : taken.includes(text)
          ? "Another node is called that"
          : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!problem && text !== id) onRename(text);
  };
  return (
    <form onSubmit={submit} className="flex items-end gap-2">
      <div className="min-w-0 flex-1">
        <FormField label="Name" problem={problem} about="References follow it.">
          {(props) => (
            <Input
              {...props}
              value={text}
              onChange={(event) => setText(event.target.value)}
              className="font-mono"
            />
          )}
        </FormField>
      </div>
      {text !== id && (
        <Button type="submit" className="mb-6" disabled={problem !== undefined}>
          Rename
        </Button>
      )}
    </form>
  );
}

/** What another node will give has no type yet. */
function checked(draft: Draft, schema: unknown): Problem[] {
  const found = draftProblems(draft, schema);
  if (draft.mode === "json") return found;
  return found.filter(({ pointer }) => {
    const key = pointer.split("/")[1] ?? "";
    return references(draft.value[key.replaceAll("~1", "/").replaceAll("~0", "~")]).length === 0;
  });
}

type ArgumentsProps = {
  draft: Draft;
  schema: unknown;
  onChange: (draft: Draft) => void;
  onUnfinished: (pointer: string, problem: string | undefined) => void;
};

function Arguments({ draft, schema, onChange, onUnfinished }: ArgumentsProps) {
  const [refused, setRefused] = useState<string>();
  const field = rootField(schema);
  const problems = checked(draft, schema);
  const toggle = () => {
    const next = switched(draft);
    if ("problem" in next) setRefused(next.problem);
    else {
      setRefused(undefined);
      onChange(next);
    }
  };
  return (
    <section aria-label="Arguments" className="space-y-3">
      <div className="flex items-center">
        <h3 className="flex-1 font-semibold">Arguments</h3>
        <Button size="sm" variant="ghost" onClick={toggle}>
          {draft.mode === "form" ? "JSON" : "Form"}
        </Button>
      </div>
      {refused && <p className="text-warn">{refused}</p>}
      {draft.mode === "form" ? (
        <SchemaForm
          field={field}
          value={draft.value}
          onChange={(value) => onChange({ ...draft, value: isObject(value) ? value : {} })}
          problems={problems}
          onUnfinished={onUnfinished}
        />
      ) : (
        <>
          <Textarea
            aria-label="Arguments as JSON"
            rows={8}
            spellCheck={false}
            value={draft.text}
            onChange={(event) => onChange({ mode: "json", text: event.target.value })}
            className="font-mono text-sm leading-5"
          />
          {problems.map((it) => (
            <p key={`${it.pointer} ${it.text}`} className="text-warn">
              {it.pointer && <code>{it.pointer}</code>} {it.text}
            </p>
          ))}
        </>
      )}
    </section>
  );
}

type WireProps = {
  node: PlanNode;
  graph: PlanGraph;
  schema: unknown;
  onWire: (argument: string, reference: string) => void;
};

/** Puts what another node gives into an argument. */
function Wire({ node, graph, schema, onWire }: WireProps) {
  const others = graph.nodes.filter((it) => it.id !== node.id).map((it) => it.id);
  const field = rootField(schema);
  const properties = field.kind === "group" ? field.properties.map((it) => it.key) : [];
  const names = [...new Set([...properties, ...Object.keys(node.args)])];
  const [argument, setArgument] = useState(names[0] ?? "");
  const [from, setFrom] = useState(others[0] ?? "");
  const [path, setPath] = useState("");
  if (others.length === 0 || names.length === 0) return null;
  const chosen = {
    argument: argument || (names[0] ?? ""),
    from: others.includes(from) ? from : (others[0] ?? ""),
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const tail = path.trim().replace(/^\.+/, "");
    onWire(chosen.argument, tail === "" ? chosen.from : `${chosen.from}.${tail}`);
  };
  return (
    <form onSubmit={submit} aria-label="Use a result" className="space-y-3">
      <h3 className="font-semibold">Use a result</h3>
      <div className="grid gap-3 sm:grid-cols-2">
        <FormField label="Argument">
          {(props) => (
            <Select
              {...props}
              value={chosen.argument}
              onChange={(event) => setArgument(event.target.value)}
              className="w-full"
            >
              {names.map((it) => (
                <option key={it}>{it}</option>
              ))}
            </Select>
          )}
        </FormField>
        <FormField label="Node">
          {(props) => (
            <Select
              {...props}
              value={chosen.from}
              onChange={(event) => setFrom(event.target.value)}
              className="w-full"
            >
              {others.map((it) => (
                <option key={it}>{it}</option>
              ))}
            </Select>
          )}
        </FormField>
      </div>
      <FormField label="Path" optional about="Into its structured result, as items.0.id; empty: its text.">
        {(props) => (
          <Input
            {...props}
            value={path}
            onChange={(event) => setPath(event.target.value)}
            className="font-mono"
          />
        )}
      </FormField>
      <Button type="submit" size="sm">
        Wire
      </Button>
    </form>
  );
}

function Waits({ node, graph, onWait }: { node: PlanNode; graph: PlanGraph; onWait: (on: string) => void }) {
  const edges = edgesOf(graph).filter((it) => it.to === node.id);
  const others = graph.nodes.filter((it) => it.id !== node.id);
  if (others.length === 0) return null;
  return (
    <fieldset>
      <legend className="mb-1 font-semibold">Runs after</legend>
      {others.map(({ id }) => {
        const edge = edges.find((it) => it.from === id);
        return (
          <Checkbox key={id} checked={edge !== undefined} disabled={edge?.data} onChange={() => onWait(id)}>
            <Foreign text={id} plain />
            {edge?.data && <span className="text-muted text-sm">its result is used</span>}
          </Checkbox>
        );
      })}
    </fieldset>
  );
}

function Outcome({ run }: { run: NodeRun }) {
  return (
    <section aria-label="Result" className="space-y-2 rounded-lg border p-3">
      <p className="flex items-center gap-3">
        <StateMark state={run.state} />
        {run.note && <Foreign text={run.note} plain className="min-w-0 truncate text-muted" />}
        {run.callId && (
          <Button asChild size="sm" variant="ghost" className="ml-auto">
            <Link to="/activity/$call" params={{ call: run.callId }}>
              Steps of this call
            </Link>
          </Button>
        )}
      </p>
      {run.problem && <ProblemView problem={run.problem} />}
      {run.text !== "" && run.text !== run.problem?.detail && <TextView text={run.text} />}
      {run.state === "skipped" && <p className="text-muted">What it waits for did not come.</p>}
    </section>
  );
}
