import { expect, test } from "vitest";
import css from "../app.css?raw";

/** Tokens of `app.css`: name → colour in the light and in the dark theme. */
const tokens = new Map(
  [...css.matchAll(/--([a-z-]+): light-dark\(oklch\(([^)]*)\), oklch\(([^)]*)\)\);/g)].map((it) => [
    it[1],
    [it[2], it[3]],
  ]),
);

function luminance(oklch: string): number {
  const [l = 0, c = 0, h = 0] = oklch.split(/[\s/]+/).map(Number);
  const a = c * Math.cos((h * Math.PI) / 180);
  const b = c * Math.sin((h * Math.PI) / 180);
  const [x, y, z] = [
    l + 0.3963377774 * a + 0.2158037573 * b,
    l - 0.1055613458 * a - 0.0638541728 * b,
    l - 0.0894841775 * a - 1.291485548 * b,
  ].map((it) => it ** 3) as [number, number, number];
  const linear = [
    4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z,
    -1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z,
    -0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z,
  ];
  const [red = 0, green = 0, blue = 0] = linear.map((it) => Math.min(Math.max(it, 0), 1));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string, theme: 0 | 1): number {
  const [a = 0, b = 0] = [one, other].map((it) => luminance(tokens.get(it)?.[theme] ?? "0 0 0"));
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

const grounds = ["bg", "surface", "sunken", "hover"];
const texts = [
  "text",
  "muted",
  "accent",
  "ok",
  "info",
  "warn",
  "bad",
  "json-key",
  "json-string",
  "json-number",
  "json-word",
];
const pairs: [string, string, number][] = [
  ...texts.flatMap((text) => grounds.map((ground): [string, string, number] => [text, ground, 4.5])),
  ["on-accent", "accent", 4.5],
  ["on-accent", "accent-hover", 4.5],
  ["bg", "text", 4.5],
  ["accent", "accent-soft", 4.5],
  ["text", "accent-soft", 4.5],
  ["muted", "accent-soft", 4.5],
  ["bad", "bad-soft", 4.5],
  ["muted", "bad-soft", 4.5],
  ["warn", "warn-soft", 4.5],
  ["info", "info-soft", 4.5],
  ["text", "info-soft", 4.5],
  ["muted", "info-soft", 4.5],
  ["focus", "bg", 3],
  ["focus", "surface", 3],
  ["line-strong", "surface", 3],
];

test.each(pairs)("%s on %s has at least %d : 1 in both themes", (text, ground, least) => {
  expect(tokens.has(text) && tokens.has(ground)).toBe(true);
  expect(contrast(text, ground, 0)).toBeGreaterThanOrEqual(least);
  expect(contrast(text, ground, 1)).toBeGreaterThanOrEqual(least);
});
