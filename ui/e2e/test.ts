/** Tests of the page in a real browser, on a real hub. A message on the console fails a test. */

import AxeBuilder from "@axe-core/playwright";
import { test as base, expect, type Page } from "@playwright/test";
import { type Hub, startHub } from "./hub";

type Fixtures = {
  hub: Hub;
  /** What the page asked the hub since the last look: `METHOD path`. */
  asked: () => string[];
};

export const test = base.extend<Fixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: a fixture says what it needs, and this one needs nothing
  hub: async ({}, use) => {
    const hub = await startHub();
    await use(hub);
    await hub.stop();
  },
  page: async ({ page, hub }, use) => {
    const complaints: string[] = [];
    page.on(
      "console",
      (it) =>
        ["error", "warning"].includes(it.type()) && complaints.push(`${it.text()} ${it.location().url}`),
    );
    page.on("pageerror", (error) => complaints.push(error.message));
    await page.goto(hub.signIn);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await use(page);
    expect(complaints).toEqual([]);
  },
  asked: async ({ page }, use) => {
    const requests: string[] = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (/^\/(api|mcp)\b/.test(pathname)) requests.push(`${request.method()} ${pathname}`);
    });
    await use(() => requests.splice(0));
  },
});

/** Nothing that would shut somebody out. */
export async function expectAccessible(page: Page): Promise<void> {
  const found = await new AxeBuilder({ page })
    .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])
    .analyze();
  expect(
    found.violations.map(
      (it) => `${it.impact} ${it.id}: ${it.nodes.map((node) => node.target.join(" ")).join(", ")}`,
    ),
  ).toEqual([]);
}

/** The page never scrolls sideways. */
export async function expectNoSideScroll(page: Page): Promise<void> {
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
}

export { expect };
