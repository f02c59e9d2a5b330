/** Paste anything: the kind is recognised, what will run is shown, and nothing happens before the button. */

import { useQuery } from "@tanstack/react-query";
import { Sprout, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { asProblem } from "@/api/http";
import { useImport } from "@/api/mutations";
import { statusQuery } from "@/api/queries";
import type { Step } from "@/api/types";
import { mayAdmin } from "@/app/who";
import { onlyNamed, type Pasted, recognise, renamed } from "@/lib/paste";
import { Foreign } from "@/parts/foreign";
import { FormField } from "@/parts/form-field";
import { ProblemView } from "@/parts/problem";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Dialog, DialogBody, DialogContent, DialogFooter } from "@/ui/dialog";
import { Checkbox, Input, Textarea } from "@/ui/input";
import { ImportResult } from "./import-result";

const EXAMPLE = `https://api.example.com/mcp

npx -y @modelcontextprotocol/server-everything

{ "mcpServers": { "weather": { "url": "https://…" } } }`;

type Props = {
  text: string;
  /** A bud is written, not pasted. */
  onBud: () => void;
  onClose: () => void;
};

export default function AddSheet({ text: given, onBud, onClose }: Props) {
  const [text, setText] = useState(given);
  const [name, setName] = useState<string>();
  const [header, setHeader] = useState<[string, string]>(["", ""]);
  const [replace, setReplace] = useState(false);
  const [steps, setSteps] = useState<Record<string, Step[]>>({});
  const send = useImport((server, step) =>
    setSteps((all) => ({ ...all, [server]: [...(all[server] ?? []), step] })),
  );
  const { data: status } = useQuery(statusQuery);

  const read = recognise(text);
  const isSingle = read.kind === "url" || read.kind === "command" || read.kind === "server.json";
  const pasted = isSingle ? renamed(read, name ?? read.names[0] ?? "", [header]) : read;
  const hasCommand = pasted.preview.some((it) => it.kind === "command");
  const start = (body: string | undefined, saveAnyway = false) => {
    if (body === undefined) return;
    setSteps({});
    send.mutate({
      text: body,
      ...(saveAnyway ? { save_anyway: true } : {}),
      ...(replace || saveAnyway ? { replace: true } : {}),
    });
  };
  const again = () => {
    send.reset();
    setSteps({});
    setText("");
    setName(undefined);
  };
  return (
    <Dialog open onOpenChange={(open) => !open && onClose()}>
      <DialogContent
        side="right"
        title="Add a server"
        description="Paste a URL, a command line, JSON from another client, or a server.json."
      >
        <DialogBody className="space-y-4">
          {send.isPending || send.data ? (
            <ImportResult
              pasted={pasted}
              steps={steps}
              result={send.data}
              onSaveAnyway={(names) => start(onlyNamed(pasted, names), true)}
            />
          ) : (
            <>
              <Paste
                text={text}
                onText={(it) => {
                  setText(it);
                  setName(undefined);
                }}
                says={read.says}
                known={read.kind !== "unknown"}
              />
              {isSingle && (
                <FormField label="Name" about="Its slug is made from it.">
                  {(props) => (
                    <Input
                      {...props}
                      value={name ?? read.names[0] ?? ""}
                      maxLength={100}
                      onChange={(event) => setName(event.target.value)}
                    />
                  )}
                </FormField>
              )}
              {read.kind === "url" && <HeaderFields value={header} onChange={setHeader} />}
              <Preview pasted={pasted} />
              {hasCommand && status && !mayAdmin(status) && (
                <p className="text-warn">Processes need an admin, or a workspace that allows them.</p>
              )}
              {read.kind === "json" && (
                <Checkbox checked={replace} onChange={(event) => setReplace(event.target.checked)}>
                  Update servers that are there already
                </Checkbox>
              )}
            </>
          )}
          {send.error && <ProblemView problem={asProblem(send.error)} />}
        </DialogBody>
        <DialogFooter>
          {send.data ? (
            <>
              <Button onClick={again}>Add another</Button>
              <Button variant="primary" onClick={onClose}>
                Done
              </Button>
            </>
          ) : (
            <>
              {text.trim() === "" && (
                <Button className="mr-auto" onClick={onBud}>
                  <Sprout />
                  New bud
                </Button>
              )}
              <Button
                variant="primary"
                disabled={pasted.text === undefined || send.isPending}
                onClick={() => start(pasted.text)}
              >
                Add &amp; Discover Tools
              </Button>
            </>
          )}
        </DialogFooter>
      </DialogContent>
    </Dialog>
  );
}

type PasteProps = { text: string; onText: (text: string) => void; says: string; known: boolean };

function Paste({ text, onText, says, known }: PasteProps) {
  return (
    <FormField
      label="Configuration"
      about={says === "" ? undefined : <Badge tone={known ? "accent" : "warn"}>{says}</Badge>}
    >
      {(props) => (
        <Textarea
          {...props}
          autoFocus
          rows={8}
          spellCheck={false}
          value={text}
          placeholder={EXAMPLE}
          onChange={(event) => onText(event.target.value)}
          onDrop={(event) => {
            const file = event.dataTransfer.files[0];
            if (!file) return;
            event.preventDefault();
            void file.text().then(onText);
          }}
          className="font-mono text-sm leading-5"
        />
      )}
    </FormField>
  );
}

function HeaderFields({
  value: [key, secret],
  onChange,
}: {
  value: [string, string];
  onChange: (value: [string, string]) => void;
}) {
  return (
    <fieldset className="grid gap-3 sm:grid-cols-2">
      <FormField label="Header" optional>
        {(props) => (
          <Input
            {...props}
            value={key}
            placeholder="Authorization"
            autoComplete="off"
            onChange={(event) => onChange([event.target.value, secret])}
          />
        )}
      </FormField>
      <FormField label="Value" optional>
        {(props) => (
          <Input
            {...props}
            type="password"
            value={secret}
            placeholder="Bearer …"
            autoComplete="off"
            onChange={(event) => onChange([key, event.target.value])}
          />
        )}
      </FormField>
    </fieldset>
  );
}

/** The whole command or address, before anything runs. */
function Preview({ pasted }: { pasted: Pasted }) {
  const commands = pasted.preview.filter((it) => it.kind === "command");
  const urls = pasted.preview.filter((it) => it.kind === "url");
  return (
    <>
      {commands.length > 0 && (
        <div className="rounded-md border border-warn/40 bg-warn-soft p-3">
          <p className="flex items-center gap-2 font-medium">
            <TriangleAlert aria-hidden className="size-4 text-warn" />
            {commands.length === 1 ? "This command" : "These commands"} will run on the hub's machine, as you
          </p>
          <Targets targets={commands} />
        </div>
      )}
      {urls.length > 0 && (
        <div className="rounded-md border bg-sunken p-3">
          <p className="font-medium">
            {urls.length === 1 ? "This address" : "These addresses"} will be asked for tools
          </p>
          <Targets targets={urls} />
        </div>
      )}
    </>
  );
}

function Targets({ targets }: { targets: Pasted["preview"] }) {
  return (
    <ul className="mt-1.5 space-y-1.5">
      {targets.map((it) => (
        <li key={it.name} className="font-mono text-sm">
          {targets.length > 1 && <Foreign text={`${it.name}: `} plain className="text-muted" />}
          <Foreign text={it.target} plain />
        </li>
      ))}
    </ul>
  );
}
