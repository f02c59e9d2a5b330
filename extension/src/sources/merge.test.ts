import { expect, it } from "vitest";
import type { Tool } from "../protocol";
import { merge } from "./merge";

const tool = (name: string, more: object = {}): Tool => ({ name, inputSchema: { type: "object" }, ...more });

it("tools are one list by name, sorted, each from the best place", () => {
  const { tools, sources } = merge([
    { source: "shim", tools: [tool("c"), tool("d")] },
    { source: "channel", tools: [tool("b"), tool("c")] },
    { source: "native", tools: [tool("b"), tool("a")] },
  ]);
  expect(tools.map((it) => it.name)).toEqual(["a", "b", "c", "d"]);
  expect(sources).toEqual({ a: "native", b: "native", c: "channel", d: "shim" });
});

it("a native tool is called natively and keeps what the channel knows beyond it", () => {
  const properties = { x: { type: "string" } };
  const native = tool("a", {
    description: "A",
    inputSchema: { type: "object", properties },
    annotations: { readOnlyHint: true },
  });
  const channel = tool("a", {
    title: "",
    description: "A, in more words",
    annotations: { cache: true },
    outputSchema: { type: "object" },
  });
  expect(
    merge([
      { source: "channel", tools: [channel] },
      { source: "native", tools: [native] },
    ]),
  ).toEqual({
    tools: [
      {
        name: "a",
        description: "A, in more words",
        inputSchema: { type: "object", properties },
        annotations: { readOnlyHint: true, cache: true },
        outputSchema: { type: "object" },
      },
    ],
    sources: { a: "native" },
  });
});
