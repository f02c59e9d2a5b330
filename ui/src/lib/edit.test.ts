import { expect, test } from "vitest";
import { changes, fromJson, rebased, theirs } from "./edit";

const base = { name: "a", endpoint: "https://x.test", era: "auto" };

test("only what was changed is sent", () => {
  expect(changes(base, { ...base, name: "b" })).toEqual({ name: "b" });
  expect(changes(base, base)).toEqual({});
});

test("what others changed stands where the edit did not touch it", () => {
  const now = { ...base, era: "modern", name: "theirs" };
  expect(theirs(base, now)).toEqual(["name", "era"]);
  expect(rebased(base, { ...base, name: "mine" }, now)).toEqual({
    name: "mine",
    endpoint: "https://x.test",
    era: "modern",
  });
});

test.each([
  ["{", "this is not valid JSON"],
  ["[]", "expected a JSON object"],
  ['{"nmae": "x"}', "not known here: nmae"],
  ['{"name": 1}', "name must be text"],
])("%s: %s", (text, problem) => expect(fromJson(text, base)).toEqual({ problem }));

test("a JSON text is read back, what it leaves out stays", () => {
  expect(fromJson('{"name": "b"}', base)).toEqual({ ...base, name: "b" });
});
