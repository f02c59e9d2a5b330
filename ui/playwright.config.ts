import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

/** The browser of the system, where there is one; else the one that `npx playwright install chromium` brings. */
const installed =
  process.env.TOOLGROVE_TEST_CHROMIUM ??
  ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((it) => existsSync(it));

export default defineConfig({
  testDir: "e2e",
  projects: [
    { name: "journeys", testMatch: "*.spec.ts", testIgnore: "speed.spec.ts" },
    { name: "speed", testMatch: "speed.spec.ts" },
    { name: "pictures", testMatch: "pictures.ts" },
  ],
  // Every test has a hub of its own and waits more than it works, but a machine has only so many cores.
  fullyParallel: true,
  workers: 2,
  timeout: 90_000,
  expect: { timeout: 15_000 },
  // One that passes only the second time is called flaky in the summary, and is a bug to repair.
  retries: 1,
  reporter: [["list"]],
  outputDir: "test-results",
  use: {
    ...(installed ? { launchOptions: { executablePath: installed, args: ["--no-sandbox"] } } : {}),
    actionTimeout: 30_000,
    viewport: { width: 1280, height: 800 },
    colorScheme: "light",
    screenshot: "only-on-failure",
  },
});
