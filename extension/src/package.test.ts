/** What is handed out: made as `npm run package` makes it, in a folder of the test's own. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "toolgrove-package-"));
const loaded = join(folder, "package/toolgrove-extension");
const files = () => readdirSync(loaded, { recursive: true, encoding: "utf8" }).sort();
const text = (file: string) => readFileSync(join(loaded, file), "utf8");

beforeAll(() => {
  const [dist, out] = [join(folder, "dist"), join(folder, "package")];
  // Vite builds otherwise where it is told that this is a test.
  const run = { cwd: root, env: { ...process.env, NODE_ENV: undefined } };
  execFileSync(process.execPath, ["build.mjs", "--out", dist], run);
  execFileSync(process.execPath, ["package.mjs", dist, out], run);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

it("holds everything that its manifest, its code and its pages name", () => {
  const { background, action, icons } = JSON.parse(text("manifest.json"));
  const ofManifest = [
    background.service_worker,
    action.default_popup,
    ...Object.values<string>(action.default_icon),
    ...Object.values<string>(icons),
  ];
  const found = (kind: RegExp, name: RegExp) =>
    files()
      .filter((it) => kind.test(it))
      .flatMap((it) => [...text(it).matchAll(name)].map((named) => named[1] ?? ""));
  const injected = found(/\.js$/, /(?:js|files): \["([\w.-]+)"\]/g);
  const linked = found(/\.(html|js)$/, /(?:src=|href=|from |import )"\.\/([^"]+)"/g);
  expect(injected).toEqual(expect.arrayContaining(["content.js", "page.js"]));
  expect(linked).toEqual(expect.arrayContaining(["popup.js", "popup.css", "pair.js"]));
  expect([...ofManifest, ...injected, ...linked].filter((it) => !files().includes(it))).toEqual([]);
  for (const it of Object.values<string>(icons)) {
    expect(readFileSync(join(loaded, it)).subarray(1, 4).toString()).toBe("PNG");
  }
});

it("holds nothing for tests: no file, no grant", () => {
  const pages = ["pair.html", "popup.css", "popup.html"];
  const scripts = ["content.js", "page.js", "pair.js", "pairing.js", "popup.js", "view.js", "worker.js"];
  const icons = ["icon-128.png", "icon-16.png", "icon-32.png", "icon-48.png"];
  expect(files()).toEqual([...pages, ...scripts, ...icons, "manifest.json"].sort());
  const manifest = JSON.parse(readFileSync(join(root, "manifest.json"), "utf8"));
  expect(JSON.parse(text("manifest.json"))).toEqual(manifest);
});

it("is the same as a folder and as a zip", () => {
  const [zip, ...more] = readdirSync(join(folder, "package")).filter((it) => it.endsWith(".zip"));
  const { version } = JSON.parse(text("manifest.json"));
  expect([zip, ...more]).toEqual([`toolgrove-extension-${version}.zip`]);
  const entries = unzipSync(readFileSync(join(folder, "package", zip ?? "")));
  expect(Object.keys(entries).sort()).toEqual(files());
  for (const it of files()) {
    expect(readFileSync(join(loaded, it)).equals(entries[it] ?? new Uint8Array())).toBe(true);
  }
});
