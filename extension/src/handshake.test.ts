import { createHmac } from "node:crypto";
import { expect, it } from "vitest";
import { extensionMac, hubMac, isSame, nonce, readWelcome } from "./handshake";

it("macs are HMAC-SHA-256 in hex over the two nonces, keyed with the text of the secret", async () => {
  const signed = (text: string) => createHmac("sha256", "secret").update(text).digest("hex");
  expect(await extensionMac("secret", "h", "e")).toBe(signed("ext|h|e"));
  expect(await hubMac("secret", "h", "e")).toBe(signed("hub|e|h"));
});

it("an answer of one end is no answer of the other", async () => {
  expect(await extensionMac("secret", "n", "n")).not.toBe(await hubMac("secret", "n", "n"));
});

it("nonces are 32 bytes and never the same", () => {
  expect(nonce()).toMatch(/^[0-9a-f]{64}$/);
  expect(nonce()).not.toBe(nonce());
});

it("texts are the same or not", () => {
  expect(isSame("abc", "abc")).toBe(true);
  for (const [left, right] of [
    ["abc", "abd"],
    ["abc", "ab"],
    ["", "a"],
    ["a", ""],
  ] as const) {
    expect(isSame(left, right)).toBe(false);
  }
});

it("a welcome without figures has the usual ones, and one without a mac is none", () => {
  expect(readWelcome({ mac: "m" })).toEqual({ mac: "m", pingSeconds: 20, maxMessageBytes: 10_000_000 });
  expect(readWelcome({ pingSeconds: 20 })).toBeUndefined();
});
