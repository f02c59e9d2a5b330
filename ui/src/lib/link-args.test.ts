import { expect, test } from "vitest";
import { decodeArgs, encodeArgs } from "./link-args";

test.each(["{}", '{"a": "grüße 👋 ÿþ"}', '{ "n": 12345678901234567890 }'])(
  "%s comes back as it was",
  (text) => {
    const word = encodeArgs(text);
    expect(word).toMatch(/^[\w-]*$/);
    expect(decodeArgs(word)).toBe(text);
  },
);

test.each(["", "%%%", encodeArgs("[1]"), encodeArgs("{"), encodeArgs("null"), "gICA"])(
  "%j fills nothing",
  (word) => {
    expect(decodeArgs(word)).toBeUndefined();
  },
);
