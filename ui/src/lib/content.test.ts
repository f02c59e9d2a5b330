import { expect, test } from "vitest";
import { jsonOf, partsOf, summaryOf } from "./content";

test("every kind of content is told apart, and what is unknown is kept", () => {
  const odd = { type: "hologram", data: 1 };
  const parts = partsOf([
    { type: "text", text: "hi" },
    { type: "image", mimeType: "image/png", data: "aGk=" },
    { type: "audio", mimeType: "audio/wav", data: "aGk=" },
    { type: "resource", resource: { uri: "file:///a", mimeType: "text/plain", text: "body" } },
    { type: "resource", resource: { uri: "file:///b", blob: "aGk=" } },
    { type: "resource_link", uri: "file:///c", name: "c", title: "See" },
    odd,
    "not even an object",
  ]);
  expect(parts.map((it) => it.kind)).toEqual([
    "text",
    "image",
    "audio",
    "resource",
    "resource",
    "link",
    "unknown",
    "unknown",
  ]);
  expect(parts[6]).toEqual({ kind: "unknown", value: odd });
});

test.each([undefined, null, "x", {}, 12])("content that is %j is nothing to show", (content) => {
  expect(partsOf(content)).toEqual([]);
});

test("a text that is JSON is read as such, one that only starts like it is not", () => {
  expect(jsonOf(' {"a":1}')).toEqual({ a: 1 });
  expect(jsonOf("[link] text")).toBeUndefined();
  expect(jsonOf("12")).toBeUndefined();
});

test("the summary is the first line that says something", () => {
  expect(summaryOf({ content: [{ type: "text", text: "\n\nHello\nWorld" }] })).toBe("Hello");
  expect(summaryOf({ content: [], structuredContent: {} })).toBe("Structured content");
  expect(summaryOf({})).toBe("Nothing in it");
});
