import { expect, test } from "vitest";
import { expand, variablesOf } from "./offer";

test.each<[string, Record<string, string>, string]>([
  ["db://{table}/{id}", { table: "a b", id: "1" }, "db://a%20b/1"],
  ["file://{+path}", { path: "/etc/x y" }, "file:///etc/x%20y"],
  ["x://list{?q,page}", { q: "a&b", page: "2" }, "x://list?q=a%26b&page=2"],
  ["x://list{?q,page}", { page: "2" }, "x://list?page=2"],
  ["x://a{/more*}", { more: "b" }, "x://a/b"],
  ["x://a{?q}", {}, "x://a"],
])("%s", (template, values, expected) => expect(expand(template, values)).toBe(expected));

test("variables are found once, without their operators", () => {
  expect(variablesOf("x://{a}/{+b}{?c,d*}{a:3}")).toEqual(["a", "b", "c", "d"]);
});
