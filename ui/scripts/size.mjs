// Reads the manifest of a build and fails when a part is heavier than it may be. Caps are KiB, gzipped.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

const dist = new URL("../dist/", import.meta.url).pathname;
const manifest = JSON.parse(readFileSync(join(dist, ".vite/manifest.json"), "utf8"));

const SHELL = ["index.html", "src/app/registry/registry.tsx"];

/** What each part adds to what is there before it, and how heavy it may be. */
const PARTS = [
  { name: "shell", cap: 180, entries: SHELL, before: [] },
  { name: "palette", cap: 10, entries: ["src/app/palette.tsx"] },
  {
    name: "mcp + instance",
    cap: 40,
    entries: ["src/screens/mcp/mcp.tsx", "src/screens/instance/instance.tsx"],
  },
  { name: "discover", cap: 15, entries: ["src/screens/discover/discover.tsx"] },
  { name: "bud", cap: 15, entries: ["src/screens/bud/bud-sheet.tsx"] },
  { name: "chat", cap: 85, entries: ["src/screens/chat/chat.tsx"] },
  {
    name: "activity",
    cap: 40,
    entries: ["src/screens/activity/activity.tsx", "src/screens/activity/call.tsx"],
  },
  { name: "plan graph", cap: 75, entries: ["src/screens/plan/plan.tsx", "src/screens/plan/graph.tsx"] },
  {
    name: "admin + people + settings",
    cap: 30,
    entries: [
      "src/screens/admin/admin.tsx",
      "src/screens/people/people.tsx",
      "src/screens/settings/settings.tsx",
    ],
  },
];
const TOTAL_CAP = 420;
const CSS_CAP = 20;
const EMBEDDED_CAP = 1500;

const sizes = new Map();
function gzipped(file) {
  if (!sizes.has(file)) sizes.set(file, gzipSync(readFileSync(join(dist, file)), { level: 9 }).length / 1024);
  return sizes.get(file);
}

/** The chunks that come with an entry, those it imports included. */
function chunksOf(key, found = new Set()) {
  const chunk = manifest[key];
  if (!chunk || found.has(chunk.file)) return found;
  if (chunk.file.endsWith(".js")) found.add(chunk.file);
  for (const it of chunk.imports ?? []) chunksOf(it, found);
  return found;
}

const shell = new Set(SHELL.flatMap((it) => [...chunksOf(it)]));
const rows = PARTS.map(({ name, cap, entries, before = shell }) => {
  const files = new Set(entries.flatMap((it) => [...chunksOf(it)]));
  const size = [...files].filter((it) => ![...before].includes(it)).reduce((sum, it) => sum + gzipped(it), 0);
  return { name, size, cap };
});

const all = readdirSync(join(dist, "assets")).filter((it) => !it.endsWith(".br"));
const sum = (end) =>
  all.filter((it) => it.endsWith(end)).reduce((total, it) => total + gzipped(`assets/${it}`), 0);
rows.push(
  { name: "everything", size: sum(".js"), cap: TOTAL_CAP },
  { name: "CSS", size: sum(".css"), cap: CSS_CAP },
);
const packed = all.reduce(
  (total, it) => total + brotliCompressSync(readFileSync(join(dist, "assets", it))).length,
  0,
);
rows.push({ name: "embedded (brotli)", size: packed / 1024, cap: EMBEDDED_CAP });

let isOver = false;
for (const { name, size, cap } of rows) {
  if (size === 0) continue;
  const over = size > cap;
  isOver ||= over;
  process.stdout.write(
    `${name.padEnd(28)}${size.toFixed(1).padStart(8)} of ${cap}${over ? "  too heavy" : ""}\n`,
  );
}
process.exit(isOver ? 1 : 0);
