/** One entry: what it offers right now, its definition, how people sign in to it, and its end. */

import { type FormEvent, useState } from "react";
import { asProblem } from "@/api/http";
import { useChangeServer, useDryRun, useRemoveServer } from "@/api/mutations";
import type { Server } from "@/api/types";
import { diffLines } from "@/lib/diff";
import { changes, fromJson, rebased, theirs } from "@/lib/edit";
import { plural } from "@/lib/format";
import { Confirm } from "@/parts/confirm";
import { DiffView } from "@/parts/diff-view";
import { FormField } from "@/parts/form-field";
import { ProblemView } from "@/parts/problem";
import { Button } from "@/ui/button";
import { Input, Select, Textarea } from "@/ui/input";
import { AuthConfigs } from "./auth-configs";
import { PreviewView, ServerPreview } from "./preview";

type Edit = { name: string; description: string; endpoint: string; era: string; protocol: string };

const editOf = (server: Server): Edit => ({
  name: server.name,
  description: server.description,
  endpoint: server.endpoint,
  era: server.era,
  protocol: server.protocol ?? "",
});

export function ServerEditor({ server, onRemoved }: { server: Server; onRemoved: () => void }) {
  return (
    <div className="divide-y">
      <ServerPreview serverId={server.id} />
      <Definition server={server} />
      <AuthConfigs serverId={server.id} />
      <End server={server} onRemoved={onRemoved} />
    </div>
  );
}

function Definition({ server }: { server: Server }) {
  const [base, setBase] = useState(() => editOf(server));
  const [edited, setEdited] = useState(base);
  const [json, setJson] = useState<string>();
  const save = useChangeServer(server.id);
  const dryRun = useDryRun(server.id);
  const now = editOf(server);
  const parsed = json === undefined ? edited : fromJson(json, base);
  const problem = "problem" in parsed ? parsed.problem : undefined;
  const wanted = problem === undefined ? (parsed as Edit) : edited;
  const changed = changes(base, wanted);
  const isChanged = Object.keys(changed).length > 0;
  const foreign = theirs(base, now);
  const set = (key: keyof Edit) => (value: string) => setEdited({ ...edited, [key]: value });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(changed, {
      onSuccess: (saved) => {
        setBase(editOf(saved));
        setEdited(editOf(saved));
        setJson(undefined);
      },
    });
  };
  const takeTheirs = () => {
    const merged = rebased(base, wanted, now);
    setBase(now);
    setEdited(merged);
    setJson(undefined);
  };
  return (
    <form onSubmit={submit} className="space-y-4 p-4">
      <div className="flex items-center gap-2">
        <h3 className="flex-1 font-semibold">Definition</h3>
        <Button
          size="sm"
          variant="ghost"
          disabled={problem !== undefined}
          onClick={() => {
            if (json === undefined) setJson(JSON.stringify(edited, null, 2));
            else {
              setEdited(wanted);
              setJson(undefined);
            }
          }}
        >
          {json === undefined ? "JSON" : "Form"}
        </Button>
      </div>
      {foreign.length > 0 && (
        <div className="space-y-2 rounded-md border border-warn/40 bg-warn-soft p-3">
          <p>Somebody changed this entry while you edited it.</p>
          <DiffView lines={diffLines(JSON.stringify(base, null, 2), JSON.stringify(now, null, 2))} />
          <Button size="sm" onClick={takeTheirs}>
            Take their change in
          </Button>
        </div>
      )}
      {json === undefined ? (
        <>
          <FormField label="Name">
            {(props) => (
              <Input
                {...props}
                maxLength={100}
                value={edited.name}
                onChange={(event) => set("name")(event.target.value)}
              />
            )}
          </FormField>
          <FormField label="Address">
            {(props) => (
              <Input
                {...props}
                spellCheck={false}
                className="font-mono text-sm"
                value={edited.endpoint}
                disabled={server.transport === "stdio"}
                onChange={(event) => set("endpoint")(event.target.value)}
              />
            )}
          </FormField>
          <FormField label="Description" optional>
            {(props) => (
              <Textarea
                {...props}
                rows={2}
                maxLength={255}
                value={edited.description}
                onChange={(event) => set("description")(event.target.value)}
              />
            )}
          </FormField>
          <div className="grid grid-cols-2 gap-3">
            <FormField label="Era">
              {(props) => (
                <Select
                  {...props}
                  className="w-full"
                  value={edited.era}
                  onChange={(event) => set("era")(event.target.value)}
                >
                  <option value="auto">Found out</option>
                  <option value="modern">Modern</option>
                  <option value="legacy">Legacy</option>
                </Select>
              )}
            </FormField>
            <FormField label="Pinned revision" optional>
              {(props) => (
                <Input
                  {...props}
                  placeholder="2025-03-26"
                  value={edited.protocol}
                  onChange={(event) => set("protocol")(event.target.value)}
                />
              )}
            </FormField>
          </div>
        </>
      ) : (
        <FormField label="Definition as JSON" problem={problem}>
          {(props) => (
            <Textarea
              {...props}
              rows={8}
              spellCheck={false}
              className="font-mono text-sm"
              value={json}
              onChange={(event) => setJson(event.target.value)}
            />
          )}
        </FormField>
      )}
      {isChanged && (
        <DiffView
          lines={diffLines(JSON.stringify(base, null, 2), JSON.stringify(wanted, null, 2)).filter(
            (it) => it.kind !== "same",
          )}
        />
      )}
      {save.error && <ProblemView problem={asProblem(save.error)} />}
      <div className="flex flex-wrap gap-2">
        <Button
          type="submit"
          variant="primary"
          disabled={!isChanged || save.isPending || problem !== undefined}
        >
          Save
        </Button>
        <Button
          disabled={!isChanged || dryRun.isPending || problem !== undefined}
          onClick={() => dryRun.mutate(changed)}
        >
          Dry run
        </Button>
      </div>
      {dryRun.error && <ProblemView problem={asProblem(dryRun.error)} />}
      {dryRun.data && (
        <section aria-label="Dry run" className="rounded-md border">
          <p className="border-b px-3 py-1.5 text-muted">What the edit would lead to. Nothing is saved.</p>
          <PreviewView preview={dryRun.data} />
        </section>
      )}
    </form>
  );
}

function End({ server, onRemoved }: { server: Server; onRemoved: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const remove = useRemoveServer(server.id);
  const used = server.enabled_instances + server.disabled_instances;
  return (
    <div className="p-4">
      <Button variant="danger" onClick={() => setAsking(true)}>
        Remove
      </Button>
      <Confirm
        open={isAsking}
        onOpenChange={setAsking}
        question={`Remove server "${server.name}"?`}
        effect={used === 0 ? "Nobody uses it." : `${plural(used, "instance")} of it stop working.`}
        verb="Remove"
        busy={remove.isPending}
        problem={remove.error ? asProblem(remove.error) : undefined}
        onConfirm={() => remove.mutate(undefined, { onSuccess: onRemoved })}
      />
    </div>
  );
}
