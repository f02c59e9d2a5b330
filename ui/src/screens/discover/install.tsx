/** What a bundle will run or reach and what it wants to know, before anything is written; then the install itself. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { asProblem } from "@/api/http";
import type { BundleDone, BundlePlan, Runs, Setting } from "@/api/types.gen";
import { Foreign } from "@/parts/foreign";
import { FormField } from "@/parts/form-field";
import { ProblemView, Sentence } from "@/parts/problem";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Input, Select } from "@/ui/input";
import { planQuery, useInstall, useUpdate } from "./api";
import { Flags } from "./flags";

export function InstallSheet({ source, isUpdate }: { source: string; isUpdate: boolean }) {
  const { data: plan, error, isPending, refetch } = useQuery(planQuery(source, isUpdate));
  if (isPending) return <p className="p-4 text-muted">Looking at the bundle…</p>;
  if (error) {
    return (
      <ProblemView problem={asProblem(error)} className="m-4">
        <Button onClick={() => refetch()}>Look again</Button>
      </ProblemView>
    );
  }
  return <PlanView plan={plan} isUpdate={isUpdate} />;
}

function PlanView({ plan, isUpdate }: { plan: BundlePlan; isUpdate: boolean }) {
  const [answers, setAnswers] = useState<Record<string, string>>({});
  const install = useInstall();
  const update = useUpdate(plan.id);
  const change = isUpdate ? update : install;
  const given = Object.fromEntries(Object.entries(answers).filter(([, value]) => value !== ""));
  const order = { source: plan.source, settings: given, digest: plan.digest };
  if (change.data) return <Installed done={change.data} />;
  return (
    <form
      className="space-y-4 p-4"
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate(order);
      }}
    >
      <header className="space-y-1">
        <h3 className="font-semibold">
          <Foreign text={plan.name} plain /> <Badge>{plan.version}</Badge>
          {plan.installed && <span className="ml-1 text-muted">in the place of {plan.installed}</span>}
        </h3>
        <p className="text-muted">
          <Foreign text={plan.description} />
        </p>
      </header>
      <section aria-label="What it does" className="space-y-2">
        {plan.servers.map((it) => (
          <RunsView key={it.name} runs={it} />
        ))}
        {plan.servers.length === 0 && <p>It brings no servers.</p>}
        {plan.removed.map((it) => (
          <p key={it}>
            Removes <code className="break-all">{it}</code>
          </p>
        ))}
        {plan.duplicates.map((it) => (
          <p key={it.serverName} className="break-words">
            <code>{it.serverName}</code> does the same as <code>{it.duplicateOf}</code> and stays off.
          </p>
        ))}
        <p className="break-words text-muted">
          {plan.file ? (
            <>
              Writes <code className="break-all">{plan.file}</code>
            </>
          ) : (
            "Writes no file; the hub alone runs it."
          )}
        </p>
      </section>
      {[...plan.warnings, ...plan.failed.map((it) => `\`${it.server}\` is left out: ${it.error}`)].map(
        (it) => (
          <p key={it} className="rounded-md bg-warn-soft px-3 py-2">
            <Sentence text={it} />
          </p>
        ),
      )}
      {plan.settings.map((it) => (
        <SettingField
          key={it.key}
          setting={it}
          value={answers[it.key] ?? ""}
          onChange={(value) => setAnswers({ ...answers, [it.key]: value })}
        />
      ))}
      {change.error && (
        <ProblemView problem={asProblem(change.error)}>
          <span className="text-muted">Nothing was installed.</span>
        </ProblemView>
      )}
      <Button type="submit" variant="primary" disabled={change.isPending}>
        {change.isPending ? "Working…" : isUpdate ? "Update" : "Install"}
      </Button>
    </form>
  );
}

function RunsView({ runs }: { runs: Runs }) {
  const values = [
    ...Object.entries(runs.definition.env ?? {}),
    ...Object.entries(runs.definition.headers ?? {}),
  ];
  return (
    <div className="rounded-md border p-3">
      <p className="font-medium">
        {runs.kind === "stdio" ? "Runs on the hub's machine" : "Reaches"}
        <span className="ml-1 font-normal text-muted">as {runs.server}</span>
      </p>
      <pre className="whitespace-pre-wrap break-all text-sm">
        <Foreign text={runs.endpoint} plain />
      </pre>
      {values.map(([key, value]) => (
        <p key={key} className="break-all text-muted text-sm">
          with {key} = <Foreign text={value} plain />
        </p>
      ))}
      <Flags flags={runs.flags} />
    </div>
  );
}

type FieldProps = { setting: Setting; value: string; onChange: (value: string) => void };

function SettingField({ setting, value, onChange }: FieldProps) {
  const choices = setting.kind === "boolean" ? ["true", "false"] : setting.choices;
  const usual = setting.default === null || setting.default === undefined ? "" : String(setting.default);
  return (
    <FormField label={setting.title} about={setting.description} optional={!setting.required}>
      {(props) =>
        choices.length > 0 ? (
          <Select {...props} value={value} onChange={(event) => onChange(event.target.value)}>
            <option value="">{usual || "—"}</option>
            {choices.map((it) => (
              <option key={it}>{it}</option>
            ))}
          </Select>
        ) : (
          <Input
            {...props}
            type={setting.sensitive ? "password" : "text"}
            autoComplete="off"
            required={setting.required && usual === ""}
            placeholder={usual}
            value={value}
            onChange={(event) => onChange(event.target.value)}
          />
        )
      }
    </FormField>
  );
}

function Installed({ done }: { done: BundleDone }) {
  return (
    <div className="space-y-3 p-4" role="status">
      <p className="font-medium">
        Installed {done.name} {done.version}
      </p>
      <ul className="space-y-1">
        {done.started.map((it) => (
          <li key={it.server} className="break-words">
            <Link to="/mcp/$id" params={{ id: it.slug }} className="text-accent underline">
              {it.slug}
            </Link>{" "}
            {it.error ? <Sentence text={it.error} /> : `${it.tools} ${it.tools === 1 ? "tool" : "tools"}`}
          </li>
        ))}
      </ul>
    </div>
  );
}
