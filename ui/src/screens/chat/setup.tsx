/** Who answers, and with what tools: in a row under the text box. */

import { useQuery } from "@tanstack/react-query";
import { Box, Wrench } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import type { Problem } from "@/api/types";
import type { Bud, Overrides } from "@/api/types.gen";
import { count } from "@/lib/format";
import { FormField } from "@/parts/form-field";
import { ProblemView } from "@/parts/problem";
import { Button } from "@/ui/button";
import { Dialog, DialogBody, DialogContent, DialogFooter } from "@/ui/dialog";
import { Input, Select } from "@/ui/input";
import { budsQuery, modelsQuery } from "../bud/api";
import { chatToolsQuery } from "./api";
import { useServerRows } from "./tools-sheet";

export type Chosen = { bud: string | null; model: string | null; overrides: Overrides };
type Props = {
  chatId: string | undefined;
  chosen: Chosen;
  problem: Problem | undefined;
  onChange: (change: Partial<Chosen>) => void;
  onTools: () => void;
};

export function SetupRow({ chatId, chosen, problem, onChange, onTools }: Props) {
  const { data: buds } = useQuery(budsQuery);
  const [isModel, setModel] = useState(false);
  return (
    <>
      <Select
        aria-label="Bud"
        value={chosen.bud ?? ""}
        onChange={(event) => onChange({ bud: event.target.value || null })}
        className="max-w-44 text-sm"
      >
        <option value="">No bud</option>
        {buds?.map((it) => (
          <option key={it.id} value={it.id}>
            {it.name}
          </option>
        ))}
      </Select>
      <Button size="sm" variant="ghost" onClick={() => setModel(true)} className="max-w-40">
        <Box />
        <span className="truncate">{chosen.model ?? "Model"}</span>
      </Button>
      <ToolsButton
        chatId={chatId}
        chosen={chosen}
        bud={buds?.find((it) => it.id === chosen.bud)}
        onTools={onTools}
      />
      {isModel && (
        <ModelDialog
          model={chosen.model}
          problem={problem}
          onChange={(model) => {
            onChange({ model });
            setModel(false);
          }}
          onClose={() => setModel(false)}
        />
      )}
    </>
  );
}

type ToolsProps = { chatId: string | undefined; chosen: Chosen; bud: Bud | undefined; onTools: () => void };

/** The hub counts what a chat has; before there is one, what is known of the chosen servers counts. */
function ToolsButton({ chatId, chosen, bud, onTools }: ToolsProps) {
  const { total } = useServerRows(bud?.mcp_config, chosen.overrides);
  const { data } = useQuery({ ...chatToolsQuery(chatId ?? ""), enabled: chatId !== undefined });
  const tools = data?.length ?? total.tools;
  const tokens = data?.reduce((sum, it) => sum + it.tokens, 0) ?? total.tokens;
  return (
    <Button
      size="sm"
      variant="ghost"
      onClick={onTools}
      aria-label={`Tools of this chat: ${tools}, about ${tokens} tokens`}
    >
      <Wrench />
      <span className="tabular-nums">
        {count(tools)}
        <span className="max-sm:hidden"> · {count(tokens)} tokens</span>
      </span>
    </Button>
  );
}

type ModelProps = {
  model: string | null;
  problem: Problem | undefined;
  onChange: (model: string | null) => void;
  onClose: () => void;
};

function ModelDialog({ model, problem, onChange, onClose }: ModelProps) {
  const { data: models } = useQuery(modelsQuery);
  const [text, setText] = useState(model ?? "");
  const list = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(text.trim() === "" ? null : text.trim());
  };
  return (
    <Dialog open onOpenChange={(open) => !open && onClose()}>
      <DialogContent title="Model" description="In the place of the bud's.">
        <form onSubmit={submit}>
          <DialogBody className="space-y-3">
            {problem && <ProblemView problem={problem} />}
            <FormField label="Model" about="<provider>/<model>; empty: the bud's.">
              {(props) => (
                <Input
                  {...props}
                  autoFocus
                  list={list}
                  value={text}
                  onChange={(event) => setText(event.target.value)}
                  className="font-mono"
                />
              )}
            </FormField>
            <datalist id={list}>
              {models?.providers.map((it) => (
                <option key={it.name} value={`${it.name}/`} />
              ))}
            </datalist>
          </DialogBody>
          <DialogFooter>
            <Button type="submit" variant="primary">
              Use it
            </Button>
          </DialogFooter>
        </form>
      </DialogContent>
    </Dialog>
  );
}
