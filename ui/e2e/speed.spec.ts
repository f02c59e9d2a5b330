import type { Page } from "@playwright/test";
import { fixture, type Hub } from "./hub";
import { expect, test } from "./test";

const STEPS = 60;
/** A task longer than this is one that a person feels. */
const LONG_MS = 50;
/** One may be felt; ten times that is a mistake and not a slow machine. */
const MOST = 10;

/**
 * Long tasks while something is scrolled from end to end. What counts is the time the page's thread worked, not how long
 * it waited for a core, so that a busy machine does not make the page slow.
 */
async function longTasksWhileScrolling(page: Page, selector: string): Promise<number[]> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const worked = async () => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    return (metrics.find((it) => it.name === "TaskDuration")?.value ?? 0) * 1000;
  };
  const step = async (share: number) => {
    const before = await worked();
    await page.locator(selector).evaluate(async (box, share) => {
      box.scrollTop = box.scrollHeight * share;
      await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
    }, share);
    return (await worked()) - before;
  };
  // What looking costs by itself: the same step without a move.
  const still = [await step(0), await step(0), await step(0), await step(0), await step(0)].sort(
    (a, b) => a - b,
  );
  const long: number[] = [];
  for (let at = 1; at <= STEPS; at++) {
    const took = (await step(at / STEPS)) - (still[2] ?? 0);
    if (took > LONG_MS) long.push(Math.round(took));
  }
  return long;
}

test("a thousand tools scroll without a stop", async ({ page, hub }) => {
  await hub.add({ big: fixture("--tools", "1000") });
  await page.goto(`${hub.url}/ui/mcp/big`);
  await expect(page.getByText(/^1,0\d\d tools/)).toBeVisible();
  const long = await longTasksWhileScrolling(page, "[data-list=tools]");
  process.stdout.write(`    long tasks in ${STEPS} steps: ${long.length} (1 may be felt)\n`);
  expect(long.length, `tasks of ${long} ms`).toBeLessThanOrEqual(MOST);
});

test("ten thousand calls scroll without a stop", async ({ page, hub }) => {
  test.slow();
  await manyCalls(hub, 10_000);
  await page.goto(`${hub.url}/ui/activity`);
  await page.getByRole("link", { name: "mcp__tools__nobody" }).first().waitFor();
  const older = page.getByRole("button", { name: "Older calls" });
  const rows = page.getByRole("table", { name: "Calls" }).or(page.locator("section[aria-label=Calls] table"));
  const loaded = async () => Number(await rows.first().getAttribute("aria-rowcount"));
  while ((await loaded()) < 10_000) {
    const before = await loaded();
    await older.click();
    await expect.poll(loaded).toBeGreaterThan(before);
  }
  const long = await longTasksWhileScrolling(page, "section[aria-label=Calls]");
  process.stdout.write(`    long tasks in ${STEPS} steps: ${long.length} (1 may be felt)\n`);
  expect(long.length, `tasks of ${long} ms`).toBeLessThanOrEqual(MOST);
});

/** A call of a tool that nobody has is refused at once, and has its row all the same. */
async function manyCalls(hub: Hub, wanted: number): Promise<void> {
  const call = () => hub.api("/api/mcp/call", { tool: "mcp__tools__nobody", arguments: {} });
  for (let made = 0; made < wanted; made += 100) await Promise.all(Array.from({ length: 100 }, call));
}
