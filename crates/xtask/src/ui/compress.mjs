// Compresses a built UI, once and as small as it gets: FILE.br beside every file of text.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const TEXT = /\.(css|html|js|json|svg|txt|wasm|webmanifest)$/;
const [folder] = process.argv.slice(2);

for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
  const path = join(entry.parentPath ?? entry.path, entry.name);
  if (!entry.isFile() || !TEXT.test(entry.name) || path.includes("/.")) continue;
  const text = readFileSync(path);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  };
  writeFileSync(`${path}.br`, brotliCompressSync(text, { params }));
}
