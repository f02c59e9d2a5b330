/** Values of a schema form: what a fresh form holds, what typing means, which alternative a value is of. */

import { isObject, type Json, type JsonObject, member } from "./json";
import type { Field, Variant } from "./schema";

/** What a fresh form holds. Defaults count, `false`, `0`, `""` and `null` included; the rest is left out. */
export function initial(field: Field, required: boolean): Json | undefined {
  if (field.default !== undefined) return field.default;
  if (field.kind === "group") {
    const value: JsonObject = {};
    for (const it of field.properties) {
      const inner = initial(it.field, it.required);
      if (inner !== undefined) value[it.key] = inner;
    }
    return required || Object.keys(value).length > 0 ? value : undefined;
  }
  if (!required || field.nullable) return undefined;
  if (field.kind === "boolean") return false;
  if (field.kind === "choice" && field.choices.length === 1) return field.choices[0]?.value;
  if (field.kind === "list" || field.kind === "choices") return [];
  if (field.kind === "union" && field.variants[0]) return initial(field.variants[0].field, true);
  return undefined;
}

/** What a new entry of a list holds: something of the right kind, so that the list stays one. */
export function blank(field: Field): Json {
  const value = initial(field, true);
  if (value !== undefined) return value;
  if (field.kind === "text" || field.kind === "file") return "";
  if (field.kind === "number") return 0;
  if (field.kind === "choice") return field.choices[0]?.value ?? null;
  return null;
}

/** What a text box means. An emptied box of an optional field leaves the field out; a required one sends `""`. */
export function fromText(typed: string, required: boolean): Json | undefined {
  return typed === "" && !required ? undefined : typed;
}

/** What a number box means: the number, nothing, or not a number yet. */
export function fromNumberText(
  typed: string,
  integer: boolean,
): { value: number | undefined } | "unfinished" {
  const trimmed = typed.trim();
  if (trimmed === "") return { value: undefined };
  if (!/^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(trimmed)) return "unfinished";
  const value = Number(trimmed);
  if (!Number.isFinite(value) || (integer && !Number.isInteger(value))) return "unfinished";
  return { value };
}

/** The alternative that a value is of: the first whose fixed members and kind agree. */
export function variantOf(variants: Variant[], value: Json | undefined): number {
  if (value === undefined) return 0;
  const exact = variants.findIndex((it) => fits(it.field, value, true));
  const loose = exact < 0 ? variants.findIndex((it) => fits(it.field, value, false)) : exact;
  return Math.max(loose, 0);
}

/** Whether a value can be of an alternative at all. */
export const mayBe = (field: Field, value: Json) => fits(field, value, false);

function fits(field: Field, value: Json, exact: boolean): boolean {
  if (value === null) return field.nullable;
  switch (field.kind) {
    case "text":
    case "file":
      return typeof value === "string";
    case "number":
      return typeof value === "number" && (!field.integer || Number.isInteger(value));
    case "boolean":
      return typeof value === "boolean";
    case "choice":
      return field.choices.some((it) => same(it.value, value));
    case "choices":
    case "list":
      return Array.isArray(value);
    case "group":
      return isObject(value) && groupFits(field, value, exact);
    case "union":
      return field.variants.some((it) => fits(it.field, value, exact));
    case "json":
      return true;
  }
}

function groupFits(field: Field & { kind: "group" }, value: JsonObject, exact: boolean): boolean {
  const keys = new Set(field.properties.map((it) => it.key));
  if (exact && !Object.keys(value).every((it) => keys.has(it))) return false;
  return field.properties.every((it) => {
    const inner = member(value, it.key);
    if (inner === undefined) return !exact || !it.required;
    return it.field.kind !== "choice" || fits(it.field, inner, exact);
  });
}

export const same = (one: Json | undefined, other: Json | undefined) =>
  JSON.stringify(one) === JSON.stringify(other);

/** What can be sent in a field's place, besides a value of its kind. */
export type Special = "leave-out" | "null" | "empty-text";

export function specials(field: Field, required: boolean): Special[] {
  const found: Special[] = [];
  if (!required) found.push("leave-out");
  if (field.nullable) found.push("null");
  if (field.kind === "text" && !required) found.push("empty-text");
  return found;
}

export function specialValue(special: Special): Json | undefined {
  if (special === "null") return null;
  return special === "empty-text" ? "" : undefined;
}
