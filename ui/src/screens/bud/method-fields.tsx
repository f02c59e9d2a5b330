/** The ways in which a bud is called. */

import { Plus } from "lucide-react";
import { type MethodDraft, NEW_METHOD, type Wrong } from "@/lib/bud-draft";
import { FormField } from "@/parts/form-field";
import { Button } from "@/ui/button";
import { Input, Textarea } from "@/ui/input";

type Props = { methods: MethodDraft[]; wrong: Wrong; onChange: (methods: MethodDraft[]) => void };

export function MethodFields({ methods, wrong, onChange }: Props) {
  return (
    <fieldset className="min-w-0 space-y-3">
      <legend className="font-semibold">Methods</legend>
      {methods.length === 0 && (
        <p className="text-muted">
          Without any it has <code>ask(message: string)</code>.
        </p>
      )}
      {methods.map((it, at) => (
        <MethodField
          key={at}
          method={it}
          at={at}
          wrong={wrong}
          onChange={(change) => onChange(methods.with(at, { ...it, ...change }))}
          onRemove={() => onChange(methods.toSpliced(at, 1))}
        />
      ))}
      <Button size="sm" onClick={() => onChange([...methods, NEW_METHOD])}>
        <Plus />
        Add method
      </Button>
    </fieldset>
  );
}

type FieldProps = {
  method: MethodDraft;
  at: number;
  wrong: Wrong;
  onChange: (change: Partial<MethodDraft>) => void;
  onRemove: () => void;
};

function MethodField({ method, at, wrong, onChange, onRemove }: FieldProps) {
  const problem = (name: string) => wrong[`methods.${at}.${name}`];
  return (
    <div className="space-y-3 rounded-md border p-3">
      <FormField label={`Name of method ${at + 1}`} problem={problem("name")}>
        {(props) => (
          <Input
            {...props}
            value={method.name}
            onChange={(event) => onChange({ name: event.target.value })}
            className="font-mono"
          />
        )}
      </FormField>
      <FormField label="Description" optional>
        {(props) => (
          <Input
            {...props}
            value={method.description}
            onChange={(event) => onChange({ description: event.target.value })}
          />
        )}
      </FormField>
      <FormField label="Arguments, as a JSON schema" problem={problem("schema")}>
        {(props) => (
          <Textarea
            {...props}
            rows={6}
            spellCheck={false}
            value={method.schema}
            onChange={(event) => onChange({ schema: event.target.value })}
            className="font-mono text-sm leading-5"
          />
        )}
      </FormField>
      <FormField
        label="Template"
        optional
        problem={problem("template")}
        about="What the model is told, with {{argument}} where arguments go."
      >
        {(props) => (
          <Textarea
            {...props}
            rows={3}
            value={method.template}
            onChange={(event) => onChange({ template: event.target.value })}
          />
        )}
      </FormField>
      <Button size="sm" variant="ghost" onClick={onRemove}>
        Remove method {at + 1}
      </Button>
    </div>
  );
}
