import { expect, test } from "vitest";
import type { Json, JsonObject } from "./json";
import { problems } from "./validate";

const schema: JsonObject = {
  type: "object",
  properties: {
    city: { type: "string", minLength: 2 },
    units: { enum: ["c", "f", null] },
    days: { type: ["integer", "null"], minimum: 1 },
    at: {
      type: "array",
      items: { type: "object", properties: { lat: { type: "number" } }, required: ["lat"] },
    },
    id: { anyOf: [{ type: "string" }, { type: "integer" }] },
  },
  required: ["city"],
  additionalProperties: false,
};

test.each<[Json, string[]]>([
  [{ city: "Bonn" }, []],
  [{ city: "Bonn", units: null, days: null }, []],
  [{}, ["/city is required"]],
  [{ city: 1 }, ["/city expected string"]],
  [{ city: "B" }, ["/city needs at least 2 characters"]],
  [{ city: "Bonn", units: "k" }, ['/units must be one of "c", "f", null']],
  [{ city: "Bonn", days: 0 }, ["/days must be at least 1"]],
  [{ city: "Bonn", days: "3" }, ["/days expected integer or null"]],
  [{ city: "Bonn", at: [{ lat: 1 }, {}] }, ["/at/1/lat is required"]],
  [{ city: "Bonn", id: true }, ["/id fits none of the alternatives"]],
  [{ city: "Bonn", more: 1 }, ["/more is not known here"]],
])("%j: %j", (value, expected) => {
  expect(problems(schema, value).map((it) => `${it.pointer} ${it.text}`)).toEqual(expected);
});

test("a schema that cannot be followed refuses nothing", () => {
  expect(problems({ $ref: "https://example.com/elsewhere.json" }, {})).toEqual([]);
  expect(problems({ type: 12, properties: "x" }, {})).toEqual([]);
  expect(problems("object", {})).toEqual([]);
});
