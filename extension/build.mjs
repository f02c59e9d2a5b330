/**
 * Builds the extension into `dist/`, or with `--test` into `dist-test/`: the same, but with the grants that tests
 * cannot click for. A content script can import nothing, so scripts for pages are built one by one. `--out FOLDER` builds
 * somewhere else.
 */

import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "vite";

const root = import.meta.dirname;
const { values } = parseArgs({ options: { test: { type: "boolean" }, out: { type: "string" } } });
const outDir = resolve(root, values.out ?? (values.test ? "dist-test" : "dist"));

const shared = {
  configFile: false,
  root: resolve(root, "src"),
  publicDir: false,
  logLevel: "warn",
  base: "./",
};
const output = { outDir, target: "chrome116", minify: false, sourcemap: false, modulePreload: false };

await build({
  ...shared,
  build: {
    ...output,
    emptyOutDir: true,
    rollupOptions: {
      input: ["worker.ts", "popup.html", "pair.html"].map((it) => resolve(root, "src", it)),
      output: { entryFileNames: "[name].js", chunkFileNames: "[name].js", assetFileNames: "[name][extname]" },
    },
  },
});
for (const name of ["content", "page"]) {
  await build({
    ...shared,
    build: {
      ...output,
      emptyOutDir: false,
      rollupOptions: {
        input: resolve(root, "src", `${name}.ts`),
        output: { format: "iife", name: `toolgrove_${name}`, entryFileNames: `${name}.js` },
      },
    },
  });
}

const manifest = JSON.parse(readFileSync(resolve(root, "manifest.json"), "utf8"));
manifest.version = JSON.parse(readFileSync(resolve(root, "package.json"), "utf8")).version;
if (values.test) {
  manifest.permissions.push("nativeMessaging");
  manifest.host_permissions = ["http://127.0.0.1/*", "file:///*"];
  delete manifest.optional_permissions;
}
writeFileSync(resolve(outDir, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
cpSync(resolve(root, "public"), outDir, { recursive: true });
