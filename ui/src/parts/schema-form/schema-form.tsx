/** A form for any schema. It holds no values of its own: what it shows is what will be sent. */

import { type Json, setAt } from "@/lib/json";
import type { Field } from "@/lib/schema";
import type { Problem } from "@/lib/validate";
import { Form } from "./context";
import { FieldView } from "./field-view";
import { GroupFields } from "./group";

type Props = {
  field: Field;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  problems: Problem[];
  onUnfinished: (pointer: string, problem: string | undefined) => void;
};

export function SchemaForm({ field, value, onChange, problems, onUnfinished }: Props) {
  const form = {
    problems,
    set: (path: Parameters<typeof setAt>[1], next: Json | undefined) => onChange(setAt(value, path, next)),
    setUnfinished: onUnfinished,
  };
  const whole = problems.filter((it) => it.pointer === "");
  return (
    <Form value={form}>
      <div className="space-y-4">
        {field.kind === "group" ? (
          <GroupFields properties={field.properties} value={value} path={[]} />
        ) : (
          <FieldView field={field} value={value} path={[]} required label="" />
        )}
        {whole.map((it) => (
          <p key={it.text} className="text-bad">
            The arguments: {it.text}
          </p>
        ))}
      </div>
    </Form>
  );
}
