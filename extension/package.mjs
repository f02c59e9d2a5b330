/**
 * Makes of `dist/` what is handed out: `package/toolgrove-extension/`, which a browser loads and a packer turns into a
 * crx, and `package/toolgrove-extension-VERSION.zip`. The same sources give the same bytes.
 * `node package.mjs DIST PACKAGE` does so with other folders.
 */

import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { zipSync } from "fflate";

const root = import.meta.dirname;
const [dist, out] = ["dist", "package"].map((it, at) => resolve(root, process.argv[2 + at] ?? it));
const { version, key } = JSON.parse(readFileSync(join(dist, "manifest.json"), "utf8"));

rmSync(out, { recursive: true, force: true });
mkdirSync(out);
cpSync(dist, join(out, "toolgrove-extension"), { recursive: true });

const files = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((it) => it.isFile())
  .map((it) => join(it.parentPath, it.name).slice(dist.length + 1))
  .sort();
const entries = files.map((it) => [
  it,
  [readFileSync(join(dist, it)), { mtime: new Date("2026-01-01T00:00:00") }],
]);
const zip = zipSync(Object.fromEntries(entries), { level: 9 });
const name = `toolgrove-extension-${version}.zip`;
writeFileSync(join(out, name), zip);

const digest = createHash("sha256").update(Buffer.from(key, "base64")).digest("hex").slice(0, 32);
const id = digest.replace(/./g, (it) => "abcdefghijklmnop"[Number.parseInt(it, 16)]);
process.stdout.write(`${id} ${version}: package/${name}, ${(zip.length / 1024).toFixed(1)} KiB\n`);
