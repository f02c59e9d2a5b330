import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "./json";
import { type Field, rootField } from "./schema";
import { blank, fromNumberText, fromText, initial, specials, variantOf } from "./schema-value";

const object = (properties: JsonObject, required: string[] = []): JsonObject => ({
  type: "object",
  properties,
  required,
});

/** A field in few words, so that a table can say what is expected. */
function words(field: Field): string {
  const base = (() => {
    switch (field.kind) {
      case "choice":
      case "choices":
        return `${field.kind}(${field.choices.map((it) => `${it.label}=${JSON.stringify(it.value)}`).join(" ")})`;
      case "list":
        return `list(${words(field.items)})`;
      case "group":
        return `{${field.properties.map((it) => `${it.key}${it.required ? "" : "?"}: ${words(it.field)}`).join(", ")}}`;
      case "union":
        return `(${field.variants.map((it) => `${it.label}: ${words(it.field)}`).join(" | ")})`;
      case "number":
        return field.integer ? "integer" : "number";
      default:
        return field.kind;
    }
  })();
  return field.nullable ? `${base} or null` : base;
}

const shown = (property: Json, root: JsonObject = {}) => {
  const field = rootField({ ...object({ x: property }, ["x"]), ...root });
  return field.kind === "group" && field.properties[0] ? words(field.properties[0].field) : words(field);
};

describe("fields", () => {
  test.each<[string, Json, string]>([
    ["a plain text", { type: "string" }, "text"],
    ["a whole number", { type: "integer" }, "integer"],
    ["a nullable enum", { type: ["string", "null"], enum: ["a", "b", null] }, 'choice(a="a" b="b") or null'],
    [
      "an enum or null",
      { anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }] },
      'choice(a="a") or null',
    ],
    ["an enum of `null`-like texts", { enum: ["null", 1, true] }, 'choice(null="null" 1=1 true=true)'],
    ["type [T, null]", { type: ["integer", "null"] }, "integer or null"],
    ["several types", { type: ["string", "number", "null"] }, "(Text: text | Number: number) or null"],
    ["nullable as OpenAPI says it", { type: "string", nullable: true }, "text or null"],
    [
      "an optional wrapper around a reference",
      { anyOf: [{ $ref: "#/$defs/p" }, { type: "null" }] },
      "{a?: text} or null",
    ],
    [
      "titled constants",
      {
        oneOf: [
          { const: 1, title: "One" },
          { const: 2, title: "Two" },
        ],
      },
      "choice(One=1 Two=2)",
    ],
    ["names of an old enum", { enum: ["a"], enumNames: ["Apple"] }, 'choice(Apple="a")'],
    ["several of an enum", { type: "array", items: { enum: ["a", "b"] } }, 'choices(a="a" b="b")'],
    [
      "several of titled constants",
      { type: "array", items: { anyOf: [{ const: "a", title: "A" }] } },
      'choices(A="a")',
    ],
    ["a list", { type: "array", items: { type: "number" } }, "list(number)"],
    ["a list of anything", { type: "array" }, "json"],
    ["a tuple", { type: "array", prefixItems: [{ type: "string" }] }, "json"],
    ["an object of anything", { type: "object" }, "json"],
    ["`_meta`, an object of anything", { type: "object", additionalProperties: true }, "json"],
    ["anything at all", {}, "json"],
    ["`true` as a schema", true, "json"],
    ["a file", { type: "string", contentEncoding: "base64" }, "file"],
    ["nested objects", object({ a: object({ b: { type: "boolean" } }, ["b"]) }), "{a?: {b: boolean}}"],
    ["a reference beside a description", { $ref: "#/$defs/p", description: "d" }, "{a?: text}"],
    ["an anchor", { $ref: "#here" }, "boolean"],
    ["a reference to elsewhere", { $ref: "https://example.com/s.json" }, "json"],
    ["a reference to nothing", { $ref: "#/$defs/none" }, "json"],
    [
      "allOf",
      { allOf: [{ $ref: "#/$defs/p" }, object({ b: { type: "number" } }, ["b"])] },
      "{a?: text, b: number}",
    ],
    [
      "alternatives told apart by a constant",
      { oneOf: [object({ kind: { const: "cat" } }, ["kind"]), object({ kind: { const: "dog" } }, ["kind"])] },
      '(cat: {kind: choice(cat="cat")} | dog: {kind: choice(dog="dog")})',
    ],
    [
      "conditions that only narrow an object",
      { ...object({ a: { type: "string" } }), anyOf: [{ required: ["a"] }, { required: ["b"] }] },
      "{a?: text}",
    ],
  ])("%s", (_, schema, expected) => {
    const $defs = { p: object({ a: { type: "string" } }), h: { $anchor: "here", type: "boolean" } };
    expect(shown(schema, { $defs })).toBe(expected);
  });

  test("a schema that holds itself ends in JSON", () => {
    const tree = { ...object({ child: { $ref: "#" }, name: { type: "string" } }) };
    expect(words(rootField(tree))).toContain("child?: json");
  });

  test.each([null, true, "object", { type: "string" }, { type: "object" }, []])(
    "%j as a whole schema is a form without fields",
    (schema) => {
      expect(words(rootField(schema))).toBe("{}");
    },
  );
});

describe("fresh forms", () => {
  test.each<[string, JsonObject, Json | undefined]>([
    [
      "defaults, the falsy ones too",
      object({ a: { type: "boolean", default: false }, b: { default: 0 }, c: { default: "" } }),
      { a: false, b: 0, c: "" },
    ],
    ["a default of null", object({ a: { type: ["string", "null"], default: null } }), { a: null }],
    [
      "required without default",
      object({ a: { type: "string" }, b: { type: "boolean" } }, ["a", "b"]),
      { b: false },
    ],
    ["required and nullable", object({ a: { type: ["boolean", "null"] } }, ["a"]), {}],
    ["optional objects without defaults", object({ a: object({ b: { type: "string" } }, ["b"]) }), {}],
    ["defaults deep inside", object({ a: object({ b: { default: 1 } }) }), { a: { b: 1 } }],
    ["a text that looks like JSON", object({ a: { type: "string", default: '{"b":1}' } }), { a: '{"b":1}' }],
    ["a constant", object({ a: { const: "x" } }, ["a"]), { a: "x" }],
  ])("%s", (_, schema, expected) => expect(initial(rootField(schema), true)).toEqual(expected));

  test("a new entry is of the list's kind", () => {
    const entry = (items: Json) => {
      const field = rootField(object({ x: { type: "array", items } }));
      const list = field.kind === "group" ? field.properties[0]?.field : undefined;
      return list?.kind === "list" ? blank(list.items) : undefined;
    };
    expect([entry({ type: "string" }), entry({ type: "number" }), entry({ type: "boolean" })]).toEqual([
      "",
      0,
      false,
    ]);
    expect(entry(object({ a: { default: 2 } }))).toEqual({ a: 2 });
  });
});

describe("typing", () => {
  test("an emptied optional text is left out, a required one is empty", () => {
    expect(fromText("", false)).toBeUndefined();
    expect(fromText("", true)).toBe("");
  });

  test("a text that looks like JSON or like null stays a text", () => {
    expect(fromText('{"a":1}', false)).toBe('{"a":1}');
    expect(fromText("null", false)).toBe("null");
  });

  test.each<[string, boolean, ReturnType<typeof fromNumberText>]>([
    ["", false, { value: undefined }],
    ["0", false, { value: 0 }],
    ["-", false, "unfinished"],
    ["1.", false, { value: 1 }],
    ["1e", false, "unfinished"],
    ["1e3", true, { value: 1000 }],
    ["1.5", true, "unfinished"],
    ["0x10", false, "unfinished"],
    ["1e999", false, "unfinished"],
  ])("`%s` as a number", (typed, integer, expected) =>
    expect(fromNumberText(typed, integer)).toEqual(expected),
  );

  test("null is offered only where it is a value, leaving out only where it is allowed", () => {
    const field = rootField(object({ a: { type: ["string", "null"] }, b: { type: "string" } }));
    const [a, b] = field.kind === "group" ? field.properties : [];
    expect(a && specials(a.field, false)).toEqual(["leave-out", "null", "empty-text"]);
    expect(a && specials(a.field, true)).toEqual(["null"]);
    expect(b && specials(b.field, true)).toEqual([]);
  });
});

test("a value finds its alternative by constants first, then by kind", () => {
  const field = rootField(
    object({
      x: {
        oneOf: [
          object({ kind: { const: "a" }, v: { type: "string" } }, ["kind"]),
          object({ kind: { const: "b" }, v: { type: "string" } }, ["kind"]),
          { type: "string" },
        ],
      },
    }),
  );
  const union = field.kind === "group" ? field.properties[0]?.field : undefined;
  const variants = union?.kind === "union" ? union.variants : [];
  expect(variantOf(variants, { kind: "b", v: "1" })).toBe(1);
  expect(variantOf(variants, "text")).toBe(2);
  expect(variantOf(variants, undefined)).toBe(0);
  expect(variantOf(variants, { kind: "b", extra: 1 })).toBe(1);
});
