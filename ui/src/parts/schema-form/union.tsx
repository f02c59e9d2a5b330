/** Alternatives: choose one, then fill it in. */

import { useId, useState } from "react";
import type { Variant } from "@/lib/schema";
import { initial, mayBe, variantOf } from "@/lib/schema-value";
import { Select } from "@/ui/input";
import { Box } from "./box";
import { useForm } from "./context";
import type { FieldProps } from "./field-view";
import { GroupFields } from "./group";
import { ListFields } from "./list";

export function UnionFields({
  value,
  path,
  required,
  label,
  variants,
}: FieldProps & { variants: Variant[] }) {
  const { set } = useForm();
  const id = useId();
  const found = variantOf(variants, value);
  const [chosen, setChosen] = useState(found);
  // The person's choice stands as long as the value can be of it; any other value speaks for itself.
  const wanted = variants[chosen]?.field;
  const at = value === undefined || (wanted && mayBe(wanted, value)) ? chosen : found;
  const field = variants[at]?.field;
  const choose = (next: number) => {
    setChosen(next);
    const variant = variants[next]?.field;
    set(path, variant && initial(variant, true));
  };
  return (
    <>
      <Select
        aria-label={`Form of ${label}`}
        value={at}
        onChange={(event) => choose(Number(event.target.value))}
        className="w-full"
      >
        {variants.map((it, index) => (
          <option key={`${index} ${it.label}`} value={index}>
            {it.label}
          </option>
        ))}
      </Select>
      {field?.kind === "group" ? (
        <GroupFields properties={field.properties} value={value} path={path} />
      ) : field?.kind === "list" ? (
        <ListFields items={field.items} value={value} path={path} />
      ) : (
        field && (
          <>
            <label htmlFor={id} className="sr-only">
              {label}
            </label>
            <Box
              field={field}
              value={value}
              path={path}
              required={required}
              label={label}
              id={id}
              describedBy={undefined}
              invalid={false}
            />
          </>
        )
      )}
    </>
  );
}
