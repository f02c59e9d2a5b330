/** What a JSON schema written by a stranger means for a form. Anything a form cannot show is edited as JSON. */

import { isObject, type Json, type JsonObject, member } from "./json";

export type Choice = { value: Json; label: string };
export type Property = { key: string; required: boolean; field: Field };
export type Variant = { label: string; field: Field };

type Shape =
  | { kind: "text"; format: string | undefined; long: boolean }
  | { kind: "file" }
  | { kind: "number"; integer: boolean }
  | { kind: "boolean" }
  | { kind: "choice"; choices: Choice[] }
  | { kind: "choices"; choices: Choice[] }
  | { kind: "list"; items: Field }
  | { kind: "group"; properties: Property[] }
  | { kind: "union"; variants: Variant[] }
  | { kind: "json" };

export type Field = Shape & {
  title: string;
  description: string;
  /** Null is a value of its own here, beside being left out. */
  nullable: boolean;
  default: Json | undefined;
};

/** Deeper than this, a form helps nobody. */
const DEPTH = 6;
const REFS = 16;

/** The field of a whole schema. The root of a tool's arguments is always a group. */
export function rootField(schema: unknown): Field {
  const field = fieldOf(schema, schema, 0);
  if (field.kind === "group" || field.kind === "union") return field;
  return { kind: "group", properties: [], title: "", description: "", nullable: false, default: undefined };
}

function fieldOf(schema: unknown, root: unknown, depth: number): Field {
  const whole = merged(schema, root);
  const { schema: inner, nullable } = withoutNull(whole, root);
  const common = {
    title: text(whole.title) ?? text(inner.title) ?? "",
    description: text(whole.description) ?? text(inner.description) ?? "",
    nullable,
    default: Object.hasOwn(whole, "default") ? whole.default : member(inner, "default"),
  };
  const shape: Shape = depth > DEPTH ? { kind: "json" } : shapeOf(inner, root, depth);
  return { ...shape, ...common };
}

function shapeOf(schema: JsonObject, root: unknown, depth: number): Shape {
  const choices = choicesOf(schema);
  if (choices) return { kind: "choice", choices };
  const variants = variantsOf(schema, root);
  if (variants) {
    return {
      kind: "union",
      variants: variants.map((it, index) => {
        const field = fieldOf(it, root, depth + 1);
        return { label: field.title || wordFor(field) || `Form ${index + 1}`, field };
      }),
    };
  }
  switch (typeOf(schema)) {
    case "string":
      return textShape(schema);
    case "number":
      return { kind: "number", integer: false };
    case "integer":
      return { kind: "number", integer: true };
    case "boolean":
      return { kind: "boolean" };
    case "array":
      return arrayShape(schema, root, depth);
    case "object":
      return objectShape(schema, root, depth);
    default:
      return { kind: "json" };
  }
}

function textShape(schema: JsonObject): Shape {
  const format = text(schema.format);
  const encoded =
    text(schema.contentEncoding) === "base64" || ["byte", "binary", "base64"].includes(format ?? "");
  if (encoded) return { kind: "file" };
  const limit = schema.maxLength;
  const long = (typeof limit === "number" && limit > 200) || text(schema.contentMediaType) !== undefined;
  return { kind: "text", format, long };
}

function arrayShape(schema: JsonObject, root: unknown, depth: number): Shape {
  if (schema.prefixItems !== undefined || !isObject(schema.items)) return { kind: "json" };
  const items = fieldOf(schema.items, root, depth + 1);
  const isSet = items.kind === "choice" && !items.nullable;
  return isSet ? { kind: "choices", choices: items.choices } : { kind: "list", items };
}

function objectShape(schema: JsonObject, root: unknown, depth: number): Shape {
  if (!isObject(schema.properties)) return depth === 0 ? { kind: "group", properties: [] } : { kind: "json" };
  const required = Array.isArray(schema.required) ? schema.required : [];
  const properties = Object.entries(schema.properties).map(([key, property]) => ({
    key,
    required: required.includes(key),
    field: fieldOf(property, root, depth + 1),
  }));
  // An object that may hold anything has nothing to show but its JSON.
  if (properties.length === 0 && depth > 0) return { kind: "json" };
  return { kind: "group", properties };
}

/** Follows `$ref` inside the schema and folds `allOf` in. A reference that leads nowhere means "anything". */
function merged(schema: unknown, root: unknown, depth = 0): JsonObject {
  if (!isObject(schema) || depth > REFS) return {};
  let whole = schema;
  const ref = text(schema.$ref);
  if (ref !== undefined) {
    const { $ref: _, ...beside } = schema;
    whole = { ...merged(lookUp(ref, root), root, depth + 1), ...beside };
  }
  if (!Array.isArray(whole.allOf)) return whole;
  const { allOf, ...rest } = whole;
  return allOf.reduce<JsonObject>((sum, part) => join(sum, merged(part, root, depth + 1)), rest);
}

function join(one: JsonObject, other: JsonObject): JsonObject {
  const both: JsonObject = { ...other, ...one };
  if (isObject(one.properties) && isObject(other.properties)) {
    both.properties = { ...one.properties, ...other.properties };
  }
  if (Array.isArray(one.required) && Array.isArray(other.required)) {
    both.required = [...one.required, ...other.required];
  }
  return both;
}

function lookUp(ref: string, root: unknown): unknown {
  if (!ref.startsWith("#")) return undefined;
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return anchored(root, ref.slice(1), 0);
  const steps = ref
    .slice(2)
    .split("/")
    .map((it) => safeDecode(it).replaceAll("~1", "/").replaceAll("~0", "~"));
  return steps.reduce<unknown>(
    (here, step) => (Array.isArray(here) ? here[Number(step)] : member(here, step)),
    root,
  );
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function anchored(schema: unknown, name: string, depth: number): unknown {
  if (!isObject(schema) || depth > 4) return undefined;
  if (schema.$anchor === name) return schema;
  for (const part of ["$defs", "definitions", "properties"]) {
    for (const inner of Object.values(member(schema, part) ?? {})) {
      const found = anchored(inner, name, depth + 1);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

const isNull = (schema: unknown) =>
  isObject(schema) && (schema.type === "null" || ("const" in schema && schema.const === null));

/** Takes null out of a schema and remembers that it was there. */
function withoutNull(schema: JsonObject, root: unknown): { schema: JsonObject; nullable: boolean } {
  let rest = schema;
  let nullable = schema.nullable === true;
  if (Array.isArray(rest.type) && rest.type.includes("null")) {
    const types = rest.type.filter((it) => it !== "null");
    nullable = true;
    rest = { ...rest, type: types.length === 1 ? (types[0] as Json) : types };
  }
  if (Array.isArray(rest.enum) && rest.enum.includes(null)) {
    nullable = true;
    rest = { ...rest, enum: rest.enum.filter((it) => it !== null) };
  }
  for (const key of ["anyOf", "oneOf"]) {
    const parts = rest[key];
    if (!Array.isArray(parts) || !parts.some((it) => isNull(merged(it, root)))) continue;
    nullable = true;
    const others = parts.filter((it) => !isNull(merged(it, root)));
    const { [key]: _, ...beside } = rest;
    if (others.length === 1) {
      const only = withoutNull(merged(others[0], root), root);
      rest = { ...only.schema, ...beside };
    } else rest = { ...beside, [key]: others };
  }
  return { schema: rest, nullable };
}

/** A closed set of values: `enum`, `const`, or `oneOf`/`anyOf` of constants with titles. */
function choicesOf(schema: JsonObject): Choice[] | undefined {
  if ("const" in schema && schema.const !== undefined) return [choice(schema.const, schema.title)];
  if (Array.isArray(schema.enum)) {
    const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
    return schema.enum.map((value, index) => choice(value, names[index]));
  }
  for (const parts of [schema.oneOf, schema.anyOf]) {
    if (!Array.isArray(parts) || parts.length === 0) continue;
    if (parts.every((it) => isObject(it) && "const" in it)) {
      return parts.map((it) => choice(member(it, "const") ?? null, member(it, "title")));
    }
  }
  return undefined;
}

function choice(value: Json, label: Json | undefined): Choice {
  return { value, label: text(label) ?? (typeof value === "string" ? value : JSON.stringify(value)) };
}

/** Real alternatives. Conditions such as "needs a or b" narrow an object without giving it another form. */
function variantsOf(schema: JsonObject, root: unknown): JsonObject[] | undefined {
  if (Array.isArray(schema.type) && schema.type.length > 1) {
    return schema.type.map((type) => ({ ...schema, type, title: "" }));
  }
  for (const key of ["oneOf", "anyOf"]) {
    const parts = schema[key];
    if (!Array.isArray(parts) || parts.length < 2) continue;
    const { [key]: _, ...base } = schema;
    const resolved = parts.map((it) => merged(it, root));
    if (isObject(base.properties) && !resolved.some((it) => isObject(it.properties))) return undefined;
    return resolved.map((it) => ({
      ...join(it, base),
      title: text(it.title) ?? "",
      description: it.description ?? "",
    }));
  }
  return undefined;
}

function typeOf(schema: JsonObject): string | undefined {
  if (typeof schema.type === "string") return schema.type;
  if (isObject(schema.properties)) return "object";
  return schema.items === undefined ? undefined : "array";
}

function wordFor(field: Field): string {
  if (field.kind === "choice" && field.choices.length === 1) return field.choices[0]?.label ?? "";
  if (field.kind === "group") {
    const fixed = field.properties.find((it) => it.field.kind === "choice" && it.field.choices.length === 1);
    if (fixed?.field.kind === "choice") return fixed.field.choices[0]?.label ?? "";
  }
  const words = {
    text: "Text",
    file: "File",
    number: "Number",
    boolean: "Yes or no",
    list: "List",
    group: "Object",
  };
  return (words as Record<string, string>)[field.kind] ?? "";
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
