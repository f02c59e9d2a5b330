/** What is true of the extension as a whole: its id, its grants, its words, and the cases it answers for. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { EXTENSION_ID } from "../e2e/id";

const root = resolve(import.meta.dirname, "..");
const manifest = JSON.parse(readFileSync(join(root, "manifest.json"), "utf8"));
const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((it) =>
  it.endsWith(".ts"),
);
const text = (file: string) => readFileSync(join(root, "src", file), "utf8");

it("has the id that hubs know it by", () => {
  expect(EXTENSION_ID).toBe("ekgceiaggebphmbeeiiipjpghdepilkh");
  expect(readFileSync(join(root, "README.md"), "utf8")).toContain(EXTENSION_ID);
});

it("asks for no site and no tab when it is installed", () => {
  expect(manifest.permissions).toEqual(["storage", "alarms", "scripting", "activeTab", "tabGroups"]);
  expect(manifest.optional_permissions).toEqual(["nativeMessaging"]);
  expect(manifest.optional_host_permissions).toEqual(["<all_urls>"]);
  expect(manifest).not.toHaveProperty("host_permissions");
  expect(manifest).not.toHaveProperty("content_scripts");
  expect(manifest).not.toHaveProperty("web_accessible_resources");
});

it("has the version of its package", () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(manifest.version).toBe(version);
});

it("says what each exported function and class is for, and what each file is for", () => {
  const files = (folder: string, recursive: boolean) =>
    readdirSync(join(root, folder), { recursive, encoding: "utf8" }).map((it) => join(folder, it));
  const own = [...files("src", true), ...files("e2e", true), ...files(".", false)].filter(
    (it) => /\.(ts|mjs)$/.test(it) && !it.endsWith(".test.ts"),
  );
  expect(own).toEqual(expect.arrayContaining(["src/worker.ts", "e2e/real/test.ts", "build.mjs"]));
  const isExport = (it: string) =>
    /^export (default )?(async )?(function|class)\b/.test(it) ||
    /^export const \w+ = (async )?(function\b|<|\(|\w+ =>)/.test(it);
  const silent = own.flatMap((file) => {
    const content = readFileSync(join(root, file), "utf8");
    const lines = content.split("\n");
    const bare = lines.filter((it, at) => isExport(it) && !lines[at - 1]?.endsWith("*/"));
    return [...(content.startsWith("/**") ? [] : [file]), ...bare.map((it) => `${file}: ${it}`)];
  });
  expect(silent).toEqual([]);
});

it("speaks of every message of the wire in its README", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const methods = [...text("wire.gen.ts").matchAll(/"((?:browser|hub|notifications)\/\w+)"/g)].map(
    (it) => it[1] ?? "",
  );
  const types = [...text("protocol.ts").matchAll(/type: ("[a-z-]+"(?: \| "[a-z-]+")*)/g)].flatMap(
    (it) => it[1]?.match(/[a-z-]+/g) ?? [],
  );
  expect(methods.length).toBeGreaterThan(10);
  expect([...methods, ...types].filter((it) => !readme.includes(it))).toEqual([]);
});

const CASES = join(root, "../cases/tabs_hub.json");

/** Cases that the extension answers for; the others are the hub's. Each is the comment above its test. */
it.runIf(existsSync(CASES))("answers for cases that exist", () => {
  const ids = new Set(JSON.parse(readFileSync(CASES, "utf8")).cases.map((it: { id: string }) => it.id));
  const named = sources
    .filter((it) => it.endsWith(".test.ts"))
    .flatMap((it) => [...text(it).matchAll(/^\s*\/\/ ([a-z]+(?:-[a-z]+)*)$/gm)].map((found) => found[1]));
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((it) => !ids.has(it))).toEqual([]);
});
