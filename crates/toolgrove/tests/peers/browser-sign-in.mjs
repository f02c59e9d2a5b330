// A person with a browser: opens the hub by its sign-in link, presses "Sign in" in the list of instances, signs in and
// consents at the provider, and is back at the list.
//
//   node browser-sign-in.mjs <sign-in link> <path to Chromium>
//
// Prints {end, pages, visited, text} as JSON: the last address, how many windows there were, every origin on the way,
// and what the list says in the end.

import { chromium } from "playwright-core";

const [link, executablePath] = process.argv.slice(2);
const hub = new URL(link).origin;

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
try {
  const context = await browser.newContext();
  let pages = 0;
  context.on("page", () => (pages += 1));
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const visited = [];
  page.on("framenavigated", (frame) => {
    const { origin } = new URL(frame.url());
    if (frame === page.mainFrame() && visited.at(-1) !== origin) visited.push(origin);
  });

  await page.goto(link);
  await page.goto(`${hub}/ui/mcp`);
  await page.getByRole("button", { name: "Sign in" }).first().click();

  await page.locator("input[name=login]").fill("ada");
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: /continue/i }).click();

  await page.waitForURL(`${hub}/ui/mcp`);
  await page.getByText("Ready").first().waitFor();
  const text = await page.locator("body").innerText();
  console.log(JSON.stringify({ end: page.url(), pages, visited, text }));
} finally {
  await browser.close();
}
