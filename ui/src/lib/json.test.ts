import { expect, test } from "vitest";
import { at, hasInexactNumber, type Json, parseJson, pointer, setAt, tokens } from "./json";

test.each([
  ['{"a": }', "did not expect `}`", 1, 7],
  ['{"a": 1,}', "did not expect `}`", 1, 9],
  ['{\n  "a": [1, 2\n}', "did not expect `}`", 3, 1],
  ['{"a": tru', "did not expect `tru`", 1, 7],
  ['{"a": "b', 'did not expect `"b`', 1, 7],
  ['{"a"', "the text ends too early", 1, 5],
  ["", "nothing here yet", 1, 1],
  ["{} x", "did not expect `x`", 1, 4],
  ["{'a': 1}", "did not expect `'a'`", 1, 2],
])("%s: %s", (text, problem, line, column) => {
  expect(parseJson(text)).toEqual({ ok: false, problem, line, column });
});

test("what parses is given as it is", () => {
  expect(parseJson(' {"a": [null, 1.5e3, "\\u00fc"]} ')).toEqual({
    ok: true,
    value: { a: [null, 1500, "ü"] },
  });
});

test("one place changes, the rest keeps its value and its order", () => {
  const value: Json = { b: 1, a: { list: [1, 2, 3] }, c: null };
  expect(JSON.stringify(setAt(value, ["a", "list", 1], 9))).toBe('{"b":1,"a":{"list":[1,9,3]},"c":null}');
  expect(setAt(value, ["a", "list", 1], undefined)).toEqual({ b: 1, a: { list: [1, 3] }, c: null });
  expect(setAt(value, ["c"], undefined)).toEqual({ b: 1, a: { list: [1, 2, 3] } });
  expect(setAt(undefined, ["x", "y"], null)).toEqual({ x: { y: null } });
});

test("names that objects have by birth are ordinary names here", () => {
  expect(at({}, ["constructor"])).toBeUndefined();
  expect(at({}, ["__proto__", "polluted"])).toBeUndefined();
  const set = setAt({}, ["__proto__"], { polluted: true });
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  expect(JSON.stringify(set)).toBe('{"__proto__":{"polluted":true}}');
});

test("a pointer escapes what it must", () => expect(pointer(["a/b", "~", 0])).toBe("/a~1b/~0/0"));

test("only numbers outside texts count as inexact", () => {
  expect(hasInexactNumber('{"a": 12345678901234567890}')).toBe(true);
  expect(hasInexactNumber('{"a": "12345678901234567890", "b": 1.5}')).toBe(false);
});

test("coloured pieces join to the text they came from", () => {
  for (const text of ['{"a": [1, true, "x: \\" 2"]}', "not json at all: 12", '{"open']) {
    expect(
      tokens(text)
        .map((it) => it.text)
        .join(""),
    ).toBe(text);
  }
  expect(tokens('{"a":-1}').map((it) => it.kind)).toEqual(["plain", "key", "plain", "number", "plain"]);
});
