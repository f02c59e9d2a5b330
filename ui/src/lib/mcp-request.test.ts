import { expect, test } from "vitest";
import { bodyOf, headersOf, headerValue, paramHeaders, readMessage } from "./mcp-request";

test("arguments travel as they were typed", () => {
  const params = { name: '"mcp__a__b"', arguments: '{"n": 12345678901234567890}' };
  const body = bodyOf({ id: "1", method: "tools/call", params }, "1.0");
  expect(body).toContain('"arguments":{"n": 12345678901234567890}');
  expect(JSON.parse(body).params._meta.progressToken).toBe("1");
});

test("every request names its revision, its method and what it is about", () => {
  const headers = headersOf({
    id: "1",
    method: "tools/call",
    params: {},
    name: "mcp__a__b",
    paramHeaders: { "Mcp-Param-X": "1" },
  });
  expect(headers).toMatchObject({
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "mcp__a__b",
    "Mcp-Param-X": "1",
  });
});

test.each([
  ["plain", "plain"],
  ["two words", "two words"],
  [" edge", "=?base64?IGVkZ2U=?="],
  ["grün", "=?base64?Z3LDvG4=?="],
  ["=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="],
  ["", "=?base64??="],
])("%j as a header is %j", (value, expected) => expect(headerValue(value)).toBe(expected));

test("only marked arguments become headers, nested ones too, absent and null ones not", () => {
  const schema = {
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      gone: { type: "string", "x-mcp-header": "Gone" },
      none: { type: ["string", "null"], "x-mcp-header": "None" },
      deep: { properties: { on: { type: "boolean", "x-mcp-header": "On" } } },
      plain: { type: "string" },
    },
  };
  expect(paramHeaders(schema, { region: "eu", none: null, deep: { on: false }, plain: "x" })).toEqual({
    "Mcp-Param-Region": "eu",
    "Mcp-Param-On": "false",
  });
});

test("an answer is a result, an error, questions or progress", () => {
  expect(readMessage({ id: "1", result: { content: [] } }).kind).toBe("result");
  expect(readMessage({ error: { code: -32603, message: "x", data: { a: 1 } } })).toEqual({
    kind: "error",
    error: { code: -32603, message: "x", data: { a: 1 } },
  });
  expect(
    readMessage({ method: "notifications/progress", params: { progress: 1, total: 4, message: "m" } }),
  ).toEqual({ kind: "progress", progress: { progress: 1, total: 4, message: "m" } });
  expect(readMessage({ method: "notifications/message", params: {} }).kind).toBe("other");
  expect(readMessage("garbage").kind).toBe("other");
});

test("questions keep their keys and the state they came with", () => {
  const message = readMessage({
    result: {
      resultType: "input_required",
      requestState: "s",
      inputRequests: {
        a: {
          method: "elicitation/create",
          params: { mode: "form", message: "Name?", requestedSchema: { type: "object" } },
        },
        b: { method: "elicitation/create", params: { mode: "url", message: "Go", url: "https://x.test" } },
        c: { method: "sampling/createMessage", params: {} },
      },
    },
  });
  expect(message).toEqual({
    kind: "questions",
    state: "s",
    questions: [
      { key: "a", kind: "form", message: "Name?", schema: { type: "object" } },
      { key: "b", kind: "url", message: "Go", url: "https://x.test" },
      { key: "c", kind: "other", method: "sampling/createMessage" },
    ],
  });
});
