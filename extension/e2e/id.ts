/** The id that the key in the manifest gives the extension. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const manifest = JSON.parse(readFileSync(resolve(import.meta.dirname, "../manifest.json"), "utf8"));

/** The first 16 bytes of the key's digest, with a…p for 0…f. */
export const EXTENSION_ID = createHash("sha256")
  .update(Buffer.from(manifest.key, "base64"))
  .digest("hex")
  .slice(0, 32)
  .replace(/./g, (it) => "abcdefghijklmnop"[Number.parseInt(it, 16)] ?? "");
