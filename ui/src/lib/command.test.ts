import { expect, test } from "vitest";
import { curlCall, toolgroveCall } from "./command";

const schema = {
  type: "object",
  properties: {
    city: { type: "string" },
    days: { type: "integer" },
    now: { type: "boolean" },
    at: { type: "object" },
  },
};

test.each([
  ['{"city": "Bonn", "days": 3, "now": true}', "toolgrove call mcp__w__get city=Bonn days=3 now=true"],
  ['{"city": "New York"}', "toolgrove call mcp__w__get 'city=New York'"],
  ['{"city": "02139"}', "toolgrove call mcp__w__get city=02139"],
  ["{}", "toolgrove call mcp__w__get"],
  ['{"at": {"lat": 1}}', `toolgrove call mcp__w__get --json-args '{"at":{"lat":1}}'`],
  ['{"city": null}', `toolgrove call mcp__w__get --json-args '{"city":null}'`],
  ['{"other": "x y"}', `toolgrove call mcp__w__get --json-args '{"other":"x y"}'`],
  [
    '{"days": 12345678901234567890}',
    `toolgrove call mcp__w__get --json-args '{"days":12345678901234567890}'`,
  ],
  [`{"city": "it's"}`, `toolgrove call mcp__w__get 'city=it'\\''s'`],
])("%s", (args, expected) => expect(toolgroveCall("mcp__w__get", args, schema)).toBe(expected));

test("curl sends the arguments as they were typed and never holds the key", () => {
  expect(curlCall("http://127.0.0.1:7430", "mcp__w__get", '{ "n": 1.0, "s": "a  b" }')).toBe(
    `curl http://127.0.0.1:7430/api/mcp/call \\
  -H "Authorization: Bearer $TOOLGROVE_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"tool":"mcp__w__get","arguments":{"n":1.0,"s":"a  b"}}'`,
  );
});
