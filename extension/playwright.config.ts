/** Tests in a browser: which there are, and how long they may take. */

import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "e2e",
  // Every test has a browser of its own, but a machine has only so many cores.
  workers: 1,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  // One that passes only the second time is called flaky in the summary, and is a bug to repair.
  retries: 1,
  reporter: [["list"]],
  outputDir: "test-results",
  projects: [
    { name: "attached", testIgnore: ["real/**", "idle.spec.ts", "pictures.spec.ts"] },
    { name: "pictures", testMatch: "pictures.spec.ts" },
    { name: "idle", testMatch: "e2e/idle.spec.ts" },
    { name: "real", testDir: "e2e/real" },
  ],
});
