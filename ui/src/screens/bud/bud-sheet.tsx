/** A bud, written or changed: who it is, what it is told, how it is called, what it may use. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useId, useState } from "react";
import { asProblem } from "@/api/http";
import { workspacesQuery } from "@/api/queries";
import type { Bud } from "@/api/types.gen";
import { type BudDraft, bodyOf, changeOf, draftOf, EMPTY, type Wrong, wrongIn } from "@/lib/bud-draft";
import { Confirm } from "@/parts/confirm";
import { CopyButton } from "@/parts/copy-button";
import { Foreign } from "@/parts/foreign";
import { FormField } from "@/parts/form-field";
import { ProblemView } from "@/parts/problem";
import { SkeletonRows } from "@/parts/skeleton";
import { Button } from "@/ui/button";
import { Dialog, DialogBody, DialogContent, DialogFooter } from "@/ui/dialog";
import { Input, Select, Textarea } from "@/ui/input";
import { budsQuery, modelsQuery, useRemoveBud, useSaveBud } from "./api";
import { AvatarField } from "./avatar-field";
import { MethodFields } from "./method-fields";
import { ToolFields } from "./tool-fields";

export default function BudSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const buds = useQuery({ ...budsQuery, enabled: id !== "new" });
  const bud = buds.data?.find((it) => it.id === id);
  return (
    <Dialog open onOpenChange={(open) => !open && onClose()}>
      <DialogContent
        side="right"
        title={id === "new" ? "New bud" : "Bud"}
        description="A model with a purpose. Chats, other buds and every MCP client can call it."
      >
        {id === "new" || bud ? (
          <Editor bud={bud} onClose={onClose} />
        ) : (
          <DialogBody>
            {buds.isPending && <SkeletonRows rows={6} />}
            {buds.isError && (
              <ProblemView problem={asProblem(buds.error)}>
                <Button size="sm" onClick={() => buds.refetch()}>
                  Try again
                </Button>
              </ProblemView>
            )}
            {buds.data && <p>There is no such bud, or none that you may see.</p>}
          </DialogBody>
        )}
      </DialogContent>
    </Dialog>
  );
}

function Editor({ bud, onClose }: { bud: Bud | undefined; onClose: () => void }) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState<BudDraft>(() => (bud ? draftOf(bud) : EMPTY));
  const [wrong, setWrong] = useState<Wrong>({});
  const [workspace, setWorkspace] = useState("");
  const [isAsking, setAsking] = useState(false);
  const save = useSaveBud(bud?.id);
  const form = useId();
  const isReadOnly = bud !== undefined && (bud.declared || !bud.editable);
  const set = (change: Partial<BudDraft>) => {
    const next = { ...draft, ...change };
    setDraft(next);
    // What was wrong is looked at again with every change, what was not yet said stays unsaid.
    if (Object.keys(wrong).length > 0) setWrong(wrongIn(next));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = wrongIn(draft);
    setWrong(found);
    if (Object.keys(found).length > 0) return;
    const body = bud
      ? changeOf(bud, draft)
      : { ...bodyOf(draft), ...(workspace === "" ? {} : { workspace_id: workspace }) };
    if (Object.keys(body).length === 0) onClose();
    else save.mutate(body, { onSuccess: onClose });
  };
  return (
    <>
      <DialogBody>
        <form id={form} onSubmit={submit} className="space-y-4">
          {bud && (
            <p className="flex items-center gap-1 font-mono text-muted text-sm">
              <Foreign text={bud.address} plain className="min-w-0 flex-1" />
              <CopyButton text={bud.address} label="Copy the address" />
            </p>
          )}
          {isReadOnly && (
            <p className="text-warn">
              {bud.declared
                ? "It is declared in toolgrove.toml, and changed there."
                : "Only its author may change it."}
            </p>
          )}
          <fieldset disabled={isReadOnly} className="min-w-0 space-y-4">
            <Who draft={draft} wrong={wrong} set={set} />
            {!bud && <WorkspaceField value={workspace} onChange={setWorkspace} />}
            <Mind draft={draft} wrong={wrong} set={set} />
            <MethodFields methods={draft.methods} wrong={wrong} onChange={(methods) => set({ methods })} />
            <ToolFields draft={draft} set={set} />
          </fieldset>
          {save.error && <ProblemView problem={asProblem(save.error)} />}
        </form>
      </DialogBody>
      <DialogFooter>
        {bud && !isReadOnly && (
          <Button variant="danger" className="mr-auto" onClick={() => setAsking(true)}>
            Remove
          </Button>
        )}
        {bud && (
          <Button
            onClick={() => void navigate({ to: "/chat", search: { prompt: `/invoke ${bud.address} ` } })}
          >
            Try it
          </Button>
        )}
        {!isReadOnly && (
          <Button type="submit" form={form} variant="primary" disabled={save.isPending}>
            {bud ? "Save" : "Add bud"}
          </Button>
        )}
      </DialogFooter>
      {bud && isAsking && <Removal bud={bud} onKeep={() => setAsking(false)} onDone={onClose} />}
    </>
  );
}

type Part = { draft: BudDraft; wrong: Wrong; set: (change: Partial<BudDraft>) => void };

function Who({ draft, wrong, set }: Part) {
  return (
    <>
      <FormField label="Name" problem={wrong.name} about="Others call it by this.">
        {(props) => (
          <Input
            {...props}
            autoFocus
            maxLength={100}
            value={draft.name}
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </FormField>
      <AvatarField value={draft.avatar} problem={wrong.avatar} onChange={(avatar) => set({ avatar })} />
      <FormField label="Description" optional>
        {(props) => (
          <Input
            {...props}
            value={draft.description}
            onChange={(event) => set({ description: event.target.value })}
          />
        )}
      </FormField>
    </>
  );
}

/** Only where there is a choice. */
function WorkspaceField({ value, onChange }: { value: string; onChange: (id: string) => void }) {
  const { data } = useQuery(workspacesQuery);
  if (!data || data.length < 2) return null;
  return (
    <FormField label="Workspace" about="Its members may call the bud.">
      {(props) => (
        <Select {...props} value={value || data[0]?.id} onChange={(event) => onChange(event.target.value)}>
          {data.map((it) => (
            <option key={it.id} value={it.id}>
              {it.name}
            </option>
          ))}
        </Select>
      )}
    </FormField>
  );
}

function Mind({ draft, wrong, set }: Part) {
  const { data: models } = useQuery(modelsQuery);
  const list = useId();
  return (
    <>
      <FormField
        label="Model"
        optional
        about={
          models?.providers.length === 0
            ? "No provider is set up yet; a client that offers its own model can still call the bud."
            : "<provider>/<model>; without a provider's name, the first one's."
        }
      >
        {(props) => (
          <Input
            {...props}
            list={list}
            value={draft.model}
            onChange={(event) => set({ model: event.target.value })}
            className="font-mono"
          />
        )}
      </FormField>
      <datalist id={list}>
        {models?.providers.map((it) => (
          <option key={it.name} value={`${it.name}/`} />
        ))}
      </datalist>
      <FormField label="System prompt" optional>
        {(props) => (
          <Textarea
            {...props}
            rows={6}
            value={draft.prompt}
            onChange={(event) => set({ prompt: event.target.value })}
          />
        )}
      </FormField>
      <div className="grid gap-4 sm:grid-cols-2">
        <FormField label="Temperature" optional problem={wrong.temperature}>
          {(props) => (
            <Input
              {...props}
              inputMode="decimal"
              value={draft.temperature}
              onChange={(event) => set({ temperature: event.target.value })}
            />
          )}
        </FormField>
        <FormField label="Most tokens of an answer" optional problem={wrong.maxTokens}>
          {(props) => (
            <Input
              {...props}
              inputMode="numeric"
              value={draft.maxTokens}
              onChange={(event) => set({ maxTokens: event.target.value })}
            />
          )}
        </FormField>
      </div>
    </>
  );
}

function Removal({ bud, onKeep, onDone }: { bud: Bud; onKeep: () => void; onDone: () => void }) {
  const remove = useRemoveBud(bud.id);
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && onKeep()}
      question={`Remove bud "${bud.name}"?`}
      effect="Whoever uses it loses it: its tools leave every list."
      verb="Remove"
      busy={remove.isPending}
      problem={remove.error ? asProblem(remove.error) : undefined}
      onConfirm={() => remove.mutate(undefined, { onSuccess: onDone })}
    />
  );
}
