/** What is allowed in a workspace. */

import { type FormEvent, useState } from "react";
import { asProblem } from "@/api/http";
import { useChangeWorkspace } from "@/api/mutations";
import type { Workspace } from "@/api/types";
import { Foreign } from "@/parts/foreign";
import { FormField } from "@/parts/form-field";
import { Card } from "@/parts/page";
import { ProblemView } from "@/parts/problem";
import { Button } from "@/ui/button";
import { Checkbox, Textarea } from "@/ui/input";
import { Switch } from "@/ui/switch";

const TRANSPORTS = [
  { id: "stdio", name: "Processes" },
  { id: "unix", name: "Sockets" },
  { id: "pipe", name: "Pipes" },
] as const;

export function WorkspaceCard({ workspace }: { workspace: Workspace }) {
  const change = useChangeWorkspace(workspace.id);
  const wanted = change.isPending ? { ...workspace, ...change.variables } : workspace;
  const allowed = wanted.allowed_transports ?? [];
  const setAllowed = (id: (typeof TRANSPORTS)[number]["id"], on: boolean) =>
    change.mutate({
      allowed_transports: TRANSPORTS.map((it) => it.id).filter((it) =>
        it === id ? on : allowed.includes(it),
      ),
    });
  return (
    <Card
      title={
        <>
          Workspace <Foreign text={workspace.name} plain />
        </>
      }
    >
      <div className="grid gap-x-8 gap-y-4 p-4 md:grid-cols-2">
        <div className="space-y-4">
          <Phase
            id={`calls-${workspace.id}`}
            name="Calls"
            about={
              wanted.phase === "alpha"
                ? "Off: everything can be seen, nothing can be called."
                : "On: what is shown can be called."
            }
            on={wanted.phase !== "alpha"}
            onChange={(on) => change.mutate({ phase: on ? "beta" : "alpha" })}
          />
          <Phase
            id={`external-${workspace.id}`}
            name="External servers"
            about={
              wanted.phase === "gamma"
                ? "On: they can be called too."
                : "Off: only buds and built-ins can be called."
            }
            on={wanted.phase === "gamma"}
            disabled={wanted.phase === "alpha"}
            onChange={(on) => change.mutate({ phase: on ? "gamma" : "beta" })}
          />
          <fieldset>
            <legend className="font-medium">Members may add</legend>
            <p className="text-muted">HTTP always; these run or reach things on the hub's machine.</p>
            {TRANSPORTS.map((it) => (
              <Checkbox
                key={it.id}
                checked={allowed.includes(it.id)}
                onChange={(event) => setAllowed(it.id, event.target.checked)}
              >
                {it.name}
              </Checkbox>
            ))}
          </fieldset>
        </div>
        <Allowlist
          key={JSON.stringify(workspace.allowlist)}
          allowlist={workspace.allowlist ?? null}
          busy={change.isPending}
          onSave={(allowlist) => change.mutate({ allowlist })}
        />
      </div>
      {change.error && <ProblemView problem={asProblem(change.error)} className="mx-4 mb-4" />}
    </Card>
  );
}

type PhaseProps = {
  id: string;
  name: string;
  about: string;
  on: boolean;
  disabled?: boolean;
  onChange: (on: boolean) => void;
};

function Phase({ id, name, about, on, disabled, onChange }: PhaseProps) {
  return (
    <div className="flex items-start gap-3">
      <Switch checked={on} disabled={disabled ?? false} onCheckedChange={onChange} aria-labelledby={id} />
      <div>
        <p id={id} className="font-medium">
          {name}
        </p>
        <p className="text-muted">{about}</p>
      </div>
    </div>
  );
}

function Allowlist({
  allowlist,
  busy,
  onSave,
}: {
  allowlist: string[] | null;
  busy: boolean;
  onSave: (allowlist: string[] | null) => void;
}) {
  const given = (allowlist ?? []).join("\n");
  const [text, setText] = useState(given);
  const hosts = text.split(/[\s,]+/).filter(Boolean);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSave(hosts.length === 0 ? null : hosts);
  };
  return (
    <form onSubmit={submit} className="space-y-2">
      <FormField
        label="Allowed domains"
        about={
          hosts.length === 0
            ? "Empty: servers may be anywhere."
            : "One in a line; *.example.com stands for all below it."
        }
      >
        {(props) => (
          <Textarea
            {...props}
            rows={5}
            spellCheck={false}
            className="font-mono text-sm"
            placeholder="api.example.com"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        )}
      </FormField>
      <Button type="submit" size="sm" disabled={busy || text === given}>
        Save domains
      </Button>
    </form>
  );
}
