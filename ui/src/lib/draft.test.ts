import { expect, test } from "vitest";
import { type Draft, draftOf, draftProblems, freshDraft, sentText, switched } from "./draft";
import { rootField } from "./schema";

const schema = {
  type: "object",
  properties: {
    city: { type: "string" },
    note: { type: ["string", "null"], default: null },
    _meta: { type: "object" },
  },
  required: ["city"],
};

test("a form and its JSON hold the same, null, nested JSON texts and `_meta` included", () => {
  const form: Draft = {
    mode: "form",
    value: { city: '{"not": "parsed"}', note: null, _meta: { a: [1, null] } },
    unfinished: {},
  };
  const json = switched(form);
  expect(json).toMatchObject({ mode: "json" });
  expect(switched(json as Draft)).toEqual(form);
});

test("a text that is not JSON stays, with the place of what is wrong", () => {
  const draft: Draft = { mode: "json", text: '{"city": "Bonn"' };
  expect(switched(draft)).toEqual({ problem: "line 1, column 16: the text ends too early" });
  expect(sentText(draft)).toBe('{"city": "Bonn"');
});

test("a number that a form would round stays JSON", () => {
  const text = '{"city": "x", "id": 12345678901234567890}';
  expect(draftOf(text)).toEqual({ mode: "json", text });
  expect(switched({ mode: "json", text })).toHaveProperty("problem");
  expect(sentText({ mode: "json", text })).toContain("12345678901234567890");
});

test("an empty text means no arguments", () => {
  expect(sentText({ mode: "json", text: "  " })).toBe("{}");
  expect(switched({ mode: "json", text: "" })).toEqual({ mode: "form", value: {}, unfinished: {} });
});

test("a fresh form starts with its defaults and says what is missing", () => {
  const draft = freshDraft(rootField(schema));
  expect(draft).toEqual({ mode: "form", value: { note: null }, unfinished: {} });
  expect(draftProblems(draft, schema)).toEqual([{ pointer: "/city", text: "is required" }]);
  expect(draftProblems({ mode: "json", text: "[1]" }, schema)).toEqual([
    { pointer: "", text: "arguments are a JSON object" },
  ]);
});
