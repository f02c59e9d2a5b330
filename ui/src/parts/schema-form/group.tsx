/** The members of an object, in the order of its schema. */

import { isObject, type Json, member, type Path } from "@/lib/json";
import type { Property } from "@/lib/schema";
import { FieldView } from "./field-view";

export function GroupFields({
  properties,
  value,
  path,
}: {
  properties: Property[];
  value: Json | undefined;
  path: Path;
}) {
  const unknown = isObject(value)
    ? Object.keys(value).filter((key) => !properties.some((it) => it.key === key))
    : [];
  return (
    <>
      {properties.map((it) => (
        <FieldView
          key={it.key}
          field={it.field}
          value={member(value, it.key)}
          path={[...path, it.key]}
          required={it.required}
          label={it.key}
        />
      ))}
      {unknown.map((key) => (
        <FieldView
          key={key}
          field={{
            kind: "json",
            title: "",
            description: "Not in the schema",
            nullable: true,
            default: undefined,
          }}
          value={member(value, key)}
          path={[...path, key]}
          required={false}
          label={key}
        />
      ))}
    </>
  );
}
