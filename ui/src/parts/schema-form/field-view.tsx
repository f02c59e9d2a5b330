/** One field: its name, what it is for, its box, and what else can be sent in its place. */

import { Ellipsis } from "lucide-react";
import { useId } from "react";
import { type Json, type Path, pointer } from "@/lib/json";
import type { Field } from "@/lib/schema";
import { initial, type Special, same, specials, specialValue } from "@/lib/schema-value";
import { Foreign } from "@/parts/foreign";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Menu, MenuContent, MenuItem, MenuTrigger } from "@/ui/menu";
import { Box } from "./box";
import { useForm, useProblem } from "./context";
import { GroupFields } from "./group";
import { ListFields } from "./list";
import { UnionFields } from "./union";

export type FieldProps = {
  field: Field;
  value: Json | undefined;
  path: Path;
  required: boolean;
  label: string;
};

export function FieldView(props: FieldProps) {
  const { field, value, path, required, label } = props;
  const id = useId();
  const problem = useProblem(path);
  const isNested =
    field.kind === "group" || field.kind === "list" || field.kind === "union" || field.kind === "choices";
  const about = `${id}-about`;
  const described = field.description || problem ? about : undefined;
  const head = (
    <>
      <Foreign text={label} plain className="font-medium font-mono text-sm" />
      {field.title && field.title !== label && <Foreign text={field.title} plain className="text-muted" />}
      {!required && <span className="text-muted text-sm">optional</span>}
      <Sent value={value} />
    </>
  );
  const below = (
    <div id={about}>
      {problem && <p className="text-bad">{problem}</p>}
      {field.description && <Foreign text={field.description} block className="text-muted" />}
    </div>
  );
  if (isNested) {
    return (
      <fieldset aria-describedby={described} className="min-w-0">
        <legend className="flex w-full flex-wrap items-center gap-x-2">
          {head}
          <Specials {...props} />
        </legend>
        {below}
        <div className="mt-1.5 space-y-4 border-l-2 pl-3">
          <Nested {...props} />
        </div>
      </fieldset>
    );
  }
  return (
    <div className="min-w-0 space-y-1">
      <div className="flex min-h-6 items-center gap-2">
        <label htmlFor={id} className="flex min-w-0 flex-wrap items-center gap-x-2">
          {head}
        </label>
        <Specials {...props} />
      </div>
      <Box {...props} id={id} describedBy={described} invalid={problem !== undefined} />
      {below}
    </div>
  );
}

function Nested(props: FieldProps) {
  const { field, value, path, required } = props;
  const { set } = useForm();
  if (value === null) return <p className="text-muted">Sends null</p>;
  if (field.kind === "list") return <ListFields items={field.items} value={value} path={path} />;
  if (field.kind === "union") return <UnionFields {...props} variants={field.variants} />;
  if (field.kind === "choices")
    return <Box {...props} id={pointer(path)} describedBy={undefined} invalid={false} />;
  if (field.kind !== "group") return null;
  if (value === undefined && !required) {
    return (
      <Button size="sm" onClick={() => set(path, initial(field, true) ?? {})}>
        Fill in
      </Button>
    );
  }
  return <GroupFields properties={field.properties} value={value} path={path} />;
}

/** What a glance at the box would not tell. */
function Sent({ value }: { value: Json | undefined }) {
  if (value === null) return <Badge className="font-mono">null</Badge>;
  return value === "" ? <Badge>empty text</Badge> : null;
}

const WORDS: Record<Special, string> = {
  "leave-out": "Leave out",
  null: "Send null",
  "empty-text": "Send empty text",
};

function Specials({ field, value, path, required, label }: FieldProps) {
  const { set, setUnfinished } = useForm();
  const offered = specials(field, required).filter((it) => !same(specialValue(it), value));
  if (offered.length === 0) return null;
  const choose = (special: Special) => {
    setUnfinished(pointer(path), undefined);
    set(path, specialValue(special));
  };
  return (
    <Menu>
      <MenuTrigger asChild>
        <Button
          variant="ghost"
          size="icon-sm"
          className="ml-auto size-6!"
          aria-label={`What to send for ${label}`}
        >
          <Ellipsis />
        </Button>
      </MenuTrigger>
      <MenuContent>
        {offered.map((it) => (
          <MenuItem key={it} onSelect={() => choose(it)}>
            {WORDS[it]}
          </MenuItem>
        ))}
      </MenuContent>
    </Menu>
  );
}
