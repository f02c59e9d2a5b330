import { expect, it } from "vitest";
import { flatFields, flatValues } from "./flat-form";
import type { Json } from "./json";

const schema = {
  type: "object",
  properties: {
    size: { type: "string", enum: ["S", "L"], title: "Your size" },
    count: { type: "integer", default: 2 },
    sure: { type: "boolean" },
    note: { type: "string", description: "For the shop" },
    odd: { type: ["string", "null"] },
  },
  required: ["size"],
};

it("reads one level of texts, numbers, choices and yes or no", () => {
  expect(flatFields(schema).map((it) => [it.name, it.label, it.kind, it.isRequired, it.initial])).toEqual([
    ["size", "Your size", "choice", true, undefined],
    ["count", "count", "number", false, 2],
    ["sure", "sure", "yes", false, undefined],
    ["note", "note", "text", false, undefined],
    ["odd", "odd", "text", false, undefined],
  ]);
});

const EMPTY: Json[] = [{}, { type: "object" }, { properties: 7 }, null, "x"];
for (const empty of EMPTY) {
  it(`has no fields for ${JSON.stringify(empty)}`, () => expect(flatFields(empty)).toEqual([]));
}

it("gives values of the right kind, and leaves out what was left empty", () => {
  const data = new FormData();
  for (const [name, value] of [
    ["size", "L"],
    ["count", "3"],
    ["sure", "on"],
    ["note", ""],
  ] as const) {
    data.set(name, value);
  }
  expect(flatValues(flatFields(schema), data)).toEqual({ size: "L", count: 3, sure: true });
  data.delete("sure");
  expect(flatValues(flatFields(schema), data).sure).toBe(false);
});
