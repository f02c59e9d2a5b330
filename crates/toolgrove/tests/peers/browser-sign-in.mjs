// A person with a browser: opens the hub by its sign-in link, presses a button in the list of instances, signs in and
// consents at the provider, and is back at the list. Works on the built UI and on the plain page alike.
//
//   node browser-sign-in.mjs <sign-in link> <path to Chromium> <words of the button>
//
// Prints {end, pages, visited, before, after} as JSON: the last address, how many windows there were, every origin on
// the way, and what the list said before and says in the end.

import { chromium } from "playwright-core";

const [link, executablePath, words] = process.argv.slice(2);
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
  const button = page.getByRole("button", { name: words, exact: true }).first();
  await button.waitFor().catch(async (error) => {
    throw new Error(`${page.url()} says: ${await page.locator("body").innerText()}`, { cause: error });
  });
  const before = await page.locator("body").innerText();
  await button.click();

  await page.locator("input[name=login]").fill("ada");
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: /continue/i }).click();

  await page.waitForURL(`${hub}/ui/mcp`);
  // The UI draws a status twice, for wide and for narrow screens.
  await page.getByText("Ready").filter({ visible: true }).first().waitFor();
  const after = await page.locator("body").innerText();
  console.log(JSON.stringify({ end: page.url(), pages, visited, before, after }));
} finally {
  await browser.close();
}
