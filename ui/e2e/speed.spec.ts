import type { Page } from "@playwright/test";
import { fixture } from "./hub";
import { expect, test } from "./test";

/** How many frames of a scroll from end to end may be late, of a hundred and twenty. */
const LATE = 2;

/**
 * How often the page did not answer for longer than 50 ms while something was scrolled from end to end. A machine that
 * does other things only adds to it, so the best of a few turns is the page's own.
 */
async function longTasksWhileScrolling(page: Page, selector: string): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 4 && best > LATE; turn++) best = Math.min(best, await scroll(page, selector));
  return best;
}

function scroll(page: Page, selector: string): Promise<number> {
  return page.evaluate(async (selector) => {
    const box = document.querySelector(selector) as HTMLElement;
    let count = 0;
    const observer = new PerformanceObserver((list) => {
      count += list.getEntries().length;
    });
    observer.observe({ entryTypes: ["longtask"] });
    for (let at = 0; at < 120; at++) {
      box.scrollTop = (box.scrollHeight / 120) * at;
      await new Promise(requestAnimationFrame);
    }
    // What is still to be reported comes with the next idle moment.
    await new Promise((done) => requestIdleCallback(done, { timeout: 1000 }));
    count += observer.takeRecords().length;
    observer.disconnect();
    box.scrollTop = 0;
    return count;
  }, selector);
}

test("a thousand tools scroll without a stop", async ({ page, hub }) => {
  await hub.add({ big: fixture("--tools", "1000") });
  await page.goto(`${hub.url}/ui/mcp/big`);
  await page
    .getByRole("link", { name: /generated|tool/ })
    .first()
    .waitFor();
  expect(await longTasksWhileScrolling(page, "[data-list=tools]")).toBeLessThanOrEqual(LATE);
});

test("ten thousand calls scroll without a stop", async ({ page, hub }) => {
  test.setTimeout(300_000);
  await hub.add({ tools: fixture() });
  const call = () => hub.api("/api/mcp/call", { tool: "mcp__tools__greet", arguments: { name: "a" } });
  for (let batch = 0; batch < 200; batch++) await Promise.all(Array.from({ length: 50 }, call));
  await page.goto(`${hub.url}/ui/activity`);
  await page.getByRole("link", { name: "mcp__tools__greet" }).first().waitFor();
  for (
    let more = page.getByRole("button", { name: "Older calls" });
    await more.isVisible().catch(() => false);
  ) {
    await more.click();
    await page.waitForTimeout(50);
  }
  expect(await longTasksWhileScrolling(page, "section[aria-label=Calls]")).toBeLessThanOrEqual(LATE);
});
