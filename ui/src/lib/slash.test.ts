import { expect, test } from "vitest";
import { budWord, callLine, type Line, readLine } from "./slash";

const call = (server: string, method: string, args?: object): Line =>
  ({ kind: "call", server, method, ...(args ? { args } : {}) }) as Line;
const invoke = (bud: string, text: string): Line => ({ kind: "invoke", bud, text });

test.each<[string, Line]>([
  ["/call weather.now()", call("weather", "now", {})],
  ["/call weather.get.now( )", call("weather", "get.now", {})],
  ['/call w.now(city: "Oslo, NO", days: 3)', call("w", "now", { city: "Oslo, NO", days: 3 })],
  ['/call w.now({"a": [1, {"b": ")"}]})', call("w", "now", { a: [1, { b: ")" }] })],
  [' /call "My. Server".now(a: null) ', call("My. Server", "now", { a: null })],
  ['/call "a \\"b\\"".c()', call('a "b"', "c", {})],
  ["/call github.search_code(…)", call("github", "search_code")],
  ["/invoke bud://legal/Compare", invoke("bud://legal/Compare", "")],
  ["/invoke bud://legal/Compare  these\ntwo ", invoke("bud://legal/Compare", "these\ntwo")],
  ["@Compare these two", invoke("@Compare", "these two")],
  ['@"My bud" hi', invoke("@My bud", "hi")],
])("`%s` is read as what it calls", (text, line) => {
  expect(readLine(text)).toEqual(line);
});

test.each(["hello", "/callous", "a @b", "@ x", "/", "what does /call do", ""])(
  "`%s` is a message like any other",
  (text) => {
    expect(readLine(text)).toEqual({ kind: "message" });
  },
);

test.each<[string, number, string]>([
  ["/call", 5, "write `<server>.<method>(…)` here"],
  ["/call weather", 6, "write `<server>.<method>(…)` here"],
  ["/call .x()", 6, "write `<server>.<method>(…)` here"],
  ["/call a.b", 9, "expected `(`"],
  ["/call a.b(", 10, "expected `)` at the end"],
  ["/call a.b(x)", 10, "expected `name: value`"],
  ["/call a.b(x: oops)", 13, "this is not a JSON value; texts go between quotes"],
  ["/call a.b(x: 1 y: 2)", 15, "expected `,` or `)`"],
  ['/call a.b({"x": })', 16, "this is not JSON"],
  ["/call a.b({} 2)", 13, "expected `)` here"],
  ["/invoke Compare", 8, "write `bud://<workspace>/<name>` here"],
])("what is wrong in `%s` is found where it is", (text, at, problem) => {
  expect(readLine(text)).toEqual({ kind: "wrong", at, problem });
});

test("a member called `__proto__` is a member like any other", () => {
  const line = readLine('/call a.b(__proto__: {"x": 1})');
  expect(line.kind === "call" && Object.keys(line.args ?? {})).toEqual(["__proto__"]);
});

test("a line that was made is read back as it was meant", () => {
  expect(readLine(callLine("github", "search", '{"q":"a)"}'))).toEqual(call("github", "search", { q: "a)" }));
  expect(readLine(callLine("My server", "x", "{}"))).toEqual(call("My server", "x", {}));
  expect(readLine(`${budWord("My bud")} hi`)).toEqual(invoke("@My bud", "hi"));
});
