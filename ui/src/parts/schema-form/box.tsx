/** The boxes values are typed into. */

import { type ReactNode, useState } from "react";
import { type Json, parseJson, pointer } from "@/lib/json";
import type { Choice } from "@/lib/schema";
import { fromNumberText, fromText, same } from "@/lib/schema-value";
import { Checkbox, Input, Select, Textarea } from "@/ui/input";
import { Switch } from "@/ui/switch";
import { useForm } from "./context";
import type { FieldProps } from "./field-view";
import { FileBox } from "./file-box";

type Props = FieldProps & { id: string; describedBy: string | undefined; invalid: boolean };

export function Box(props: Props): ReactNode {
  const { field, value, path, required, id, describedBy, invalid, label } = props;
  const { set } = useForm();
  const common = {
    id,
    "aria-describedby": describedBy,
    ...(invalid ? { "aria-invalid": true as const } : {}),
    ...(required ? { "aria-required": true as const } : {}),
  };
  switch (field.kind) {
    case "text": {
      const shown =
        typeof value === "string"
          ? value
          : value === undefined || value === null
            ? ""
            : JSON.stringify(value);
      const onChange = (typed: string) => set(path, fromText(typed, required));
      const placeholder = value === null ? "null" : undefined;
      if (field.long || shown.includes("\n")) {
        return (
          <Textarea
            {...common}
            value={shown}
            placeholder={placeholder}
            rows={3}
            onChange={(event) => onChange(event.target.value)}
          />
        );
      }
      const type = field.format === "date" ? "date" : field.format === "password" ? "password" : "text";
      return (
        <Input
          {...common}
          type={type}
          value={shown}
          placeholder={placeholder ?? hint(field.format)}
          autoComplete="off"
          onChange={(event) => onChange(event.target.value)}
        />
      );
    }
    case "file":
      return <FileBox {...common} value={value} onChange={(next) => set(path, next)} />;
    case "number":
      return <NumberBox {...props} />;
    case "boolean":
      return (
        <span className="flex items-center gap-2">
          <Switch {...common} checked={value === true} onCheckedChange={(next) => set(path, next)} />
          <span className="text-muted">
            {value === undefined ? "left out" : value === null ? "null" : String(value)}
          </span>
        </span>
      );
    case "choice":
      return <ChoiceBox {...props} choices={field.choices} />;
    case "choices": {
      const chosen = Array.isArray(value) ? value : [];
      return (
        <div className="space-y-1">
          {field.choices.map((it) => (
            <Checkbox
              key={JSON.stringify(it.value)}
              checked={chosen.some((one) => same(one, it.value))}
              onChange={(event) => set(path, toggled(field.choices, chosen, it, event.target.checked))}
              aria-label={`${label}: ${it.label}`}
            >
              {it.label}
            </Checkbox>
          ))}
        </div>
      );
    }
    default:
      return <JsonBox {...props} />;
  }
}

function hint(format: string | undefined): string | undefined {
  return format === "date-time" ? "2026-11-15T12:00:00Z" : format === "uri" ? "https://" : undefined;
}

/** Chosen values stay in the order of the schema; those it does not know stay too. */
function toggled(choices: Choice[], chosen: Json[], it: Choice, on: boolean): Json[] {
  const known = choices
    .map((choice) => choice.value)
    .filter((one) => (same(one, it.value) ? on : chosen.some((have) => same(have, one))));
  return [...known, ...chosen.filter((have) => !choices.some((choice) => same(choice.value, have)))];
}

function ChoiceBox({
  field,
  value,
  path,
  required,
  id,
  describedBy,
  invalid,
  choices,
}: Props & { choices: Choice[] }) {
  const { set } = useForm();
  const at = choices.findIndex((it) => same(it.value, value));
  const shown = value === undefined ? "" : value === null && at < 0 ? "null" : at < 0 ? "other" : String(at);
  const onChange = (word: string) =>
    set(path, word === "" ? undefined : word === "null" ? null : choices[Number(word)]?.value);
  return (
    <Select
      id={id}
      aria-describedby={describedBy}
      aria-invalid={invalid || undefined}
      aria-required={required || undefined}
      className="w-full"
      value={shown}
      onChange={(event) => onChange(event.target.value)}
    >
      {(!required || value === undefined) && <option value="">{required ? "Choose…" : "Leave out"}</option>}
      {shown === "other" && <option value="other">{JSON.stringify(value)}</option>}
      {choices.map((it, index) => (
        <option key={JSON.stringify(it.value)} value={index}>
          {it.label}
        </option>
      ))}
      {field.nullable && <option value="null">null</option>}
    </Select>
  );
}

/** Keeps what is typed as it is typed: `1.` must not lose its dot, and `-` is on its way to a number. */
function NumberBox({ field, value, path, required, id, describedBy, invalid }: Props) {
  const { set } = useForm();
  const [draft, setDraft] = useState("");
  const integer = field.kind === "number" && field.integer;
  const read = fromNumberText(draft, integer);
  const isDraftOf = read === "unfinished" ? value === draft : same(read.value, value as Json | undefined);
  const shown = isDraftOf
    ? draft
    : value === undefined || value === null
      ? ""
      : typeof value === "string"
        ? value
        : JSON.stringify(value);
  const onChange = (typed: string) => {
    setDraft(typed);
    const next = fromNumberText(typed, integer);
    // What is no number yet is sent to the check as it is, which says so.
    set(path, next === "unfinished" ? typed : next.value);
  };
  return (
    <Input
      id={id}
      aria-describedby={describedBy}
      aria-invalid={invalid || undefined}
      aria-required={required || undefined}
      inputMode={integer ? "numeric" : "decimal"}
      autoComplete="off"
      value={shown}
      placeholder={value === null ? "null" : undefined}
      onChange={(event) => onChange(event.target.value)}
      className="tabular-nums"
    />
  );
}

/** Anything, as JSON. The text is kept while it is not JSON yet, so deleting a bracket loses nothing. */
function JsonBox({ value, path, required, id, describedBy, invalid }: Props) {
  const { set, setUnfinished } = useForm();
  const [draft, setDraft] = useState<string>();
  const whole = value === undefined ? "" : JSON.stringify(value, null, 2);
  const parsed = draft === undefined ? undefined : parseJson(draft);
  const isDraftOf =
    draft !== undefined &&
    (draft.trim() === "" ? value === undefined : !parsed?.ok || same(parsed.value, value));
  const shown = isDraftOf ? (draft ?? "") : whole;
  const onChange = (typed: string) => {
    setDraft(typed);
    const next = parseJson(typed);
    const isEmpty = typed.trim() === "";
    setUnfinished(
      pointer(path),
      next.ok || isEmpty ? undefined : `line ${next.line}, column ${next.column}: ${next.problem}`,
    );
    if (next.ok) set(path, next.value);
    else if (isEmpty) set(path, undefined);
  };
  return (
    <Textarea
      id={id}
      aria-describedby={describedBy}
      aria-invalid={invalid || undefined}
      aria-required={required || undefined}
      rows={Math.min(Math.max(shown.split("\n").length, 2), 12)}
      spellCheck={false}
      placeholder="JSON"
      value={shown}
      onChange={(event) => onChange(event.target.value)}
      className="font-mono text-sm leading-5"
    />
  );
}
