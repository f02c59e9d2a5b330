/** Tests of the page in a real browser, on a real hub. A message on the console fails a test. */

import AxeBuilder from "@axe-core/playwright";
import { test as base, expect, type Page } from "@playwright/test";
import { type Hub, type HubOptions, startHub } from "./hub";

type Fixtures = {
  /** `test.use({ hubOptions: { demo: true } })` for another hub than an empty one. */
  hubOptions: HubOptions;
  hub: Hub;
  /** What the page asked the hub since the last look: `METHOD path`. */
  asked: () => string[];
};

export const test = base.extend<Fixtures>({
  hubOptions: [{}, { option: true }],
  hub: async ({ hubOptions }, use) => {
    const hub = await startHub(hubOptions);
    await use(hub);
    await hub.stop();
  },
  page: async ({ page, hub }, use) => {
    const complaints = listenToConsole(page);
    hub.watch.follow(page.context());
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

/** What a page complains of from now on. That the hub has nothing somewhere, refuses a sign-in, or
 * cannot do what was asked, is an answer. */
export function listenToConsole(page: Page): string[] {
  const complaints: string[] = [];
  page.on("console", (it) => {
    const { url } = it.location();
    const isAnswer = url.includes("/ui/auth/") || (url.includes("/api/") && /40[49]|422/.test(it.text()));
    if (["error", "warning"].includes(it.type()) && !isAnswer) complaints.push(`${it.text()} ${url}`);
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  return complaints;
}

const EVERYTHING = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** What is still fading in has no colour yet, and other colours come with a later frame; what turns for as long as
 * something runs is not waited for. */
export async function comeToRest(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const ends = (it: Animation) => it.effect?.getTiming().iterations !== Number.POSITIVE_INFINITY;
    await frames();
    await Promise.allSettled(
      document
        .getAnimations()
        .filter(ends)
        .map((it) => it.finished),
    );
    await frames();
  });
}

/** Nothing that would shut somebody out; `rules` are all of them, unless some are named. */
export async function expectAccessible(page: Page, rules?: string[]): Promise<void> {
  await comeToRest(page);
  // In the page itself: otherwise every look opens a page of its own to sum up frames, and here are none.
  const axe = new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).setLegacyMode();
  const found = await (rules ? axe.withRules(rules) : axe.withTags(EVERYTHING)).analyze();
  expect(
    found.violations.map(
      (it) =>
        `${it.impact} ${it.id}: ${it.nodes.map((node) => `${node.target.join(" ")} ${node.failureSummary}`).join(", ")}`,
    ),
  ).toEqual([]);
}

/** The same page in another theme, where only colours differ; some of them come with a later frame than the news of it. */
export async function expectReadable(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await expect(() => expectAccessible(page, ["color-contrast"])).toPass({ timeout: 15_000 });
}

/** The page never scrolls sideways. */
export async function expectNoSideScroll(page: Page): Promise<void> {
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
}

export { expect };
