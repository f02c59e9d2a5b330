import { expect, test } from "vitest";
import { type KeyState, press, SEQUENCE_MS } from "./keys";

const key = (it: string, held: "ctrl" | "meta" | "" = "") => ({
  key: it,
  metaKey: held === "meta",
  ctrlKey: held === "ctrl",
  altKey: false,
});
const calm = { typing: false, letters: true, now: 0 };
const idle: KeyState = { waitingSince: undefined };

test("⌘K and Ctrl K open the palette, even from a text field", () => {
  for (const held of ["ctrl", "meta"] as const) {
    expect(press(idle, key("k", held), { ...calm, typing: true }).command).toBe("palette");
  }
});

test("letters do nothing in a text field, with a modifier, or when they are turned off", () => {
  expect(press(idle, key("?"), { ...calm, typing: true }).command).toBeUndefined();
  expect(press(idle, key("r", "ctrl"), calm).command).toBeUndefined();
  expect(press(idle, key("e"), { ...calm, letters: false }).command).toBeUndefined();
  expect(press(idle, key("e"), calm).command).toBe("toggle-json");
});

test("g then a letter goes somewhere, if it comes soon", () => {
  const waiting = press(idle, key("g"), calm).state;
  expect(press(waiting, key("a"), { ...calm, now: SEQUENCE_MS }).command).toBe("go-activity");
  expect(press(waiting, key("a"), { ...calm, now: SEQUENCE_MS + 1 }).command).toBeUndefined();
  expect(press(waiting, key("x"), calm)).toEqual({ state: idle });
});
