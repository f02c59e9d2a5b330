/** The popup: what it shows, and that it stops what it says it stops. */

import AxeBuilder from "@axe-core/playwright";
import type { BrowserContext, Page } from "@playwright/test";
import { EXTENSION_ID } from "./id";
import { expect, test, text } from "./test";

async function openPopup(context: BrowserContext, tabId?: number) {
  const popup = await context.newPage();
  await popup.setViewportSize({ width: 352, height: 560 });
  const query = tabId === undefined ? "" : `?tab=${tabId}`;
  await popup.goto(`chrome-extension://${EXTENSION_ID}/popup.html${query}`);
  return popup;
}

/** Nothing that would shut somebody out, in either theme. */
async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    const found = await new AxeBuilder({ page })
      .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])
      .analyze();
    const problems = found.violations.map(
      (it) => `${it.id}: ${it.nodes.map((node) => node.html).join(", ")}`,
    );
    expect(problems).toEqual([]);
  }
}

test("it shows the hub, the tools of the page and the shared sites", async ({ hub, web, open, context }) => {
  const { registered } = await open(web.byHand({ tools: ["getCart", "addToCart", "checkout"] }));
  const popup = await openPopup(context, registered.extensions.tabId);
  await expect(popup.getByRole("status")).toHaveText(`Connected to 127.0.0.1:${hub.port}`);
  const site = new URL(registered.tabUrl).origin;
  await expect(popup.getByRole("switch", { name: site })).toBeChecked();
  await expect(popup.locator("#tools li")).toHaveText([/addToCart/, /checkout/, /getCart/]);
  await expect(popup.getByRole("switch", { name: "All sites" })).not.toBeChecked();
  await expect(popup.getByText("1 tab, 3 tools")).toBeVisible();
  await expectAccessible(popup);
});

test("stopping a site takes its tools away at once, and sharing it brings them back", async ({
  hub,
  web,
  open,
  context,
}) => {
  const { registered } = await open(web.byHand());
  const popup = await openPopup(context, registered.extensions.tabId);
  const here = popup.getByRole("switch", { name: new URL(registered.tabUrl).origin });
  const gone = hub.next((it) => it.method === "browser/tabDisconnected");
  await here.click();
  await gone;
  await expect(here).not.toBeChecked();
  const refused = await hub.call(registered, "getCart");
  expect(refused.error).toMatchObject({ code: -32001, data: { delivered: false } });

  const registrations = () => hub.frames.filter((it) => it.method === "browser/registerTools").length;
  await (await context.newPage()).goto(registered.tabUrl);
  await hub.call(registered, "getCart");
  expect(registrations()).toBe(1);
  const back = hub.registration((it) => it.extensions.tabId === registered.extensions.tabId);
  await here.click();
  expect(text(await hub.call(await back, "getCart"))).toBe("getCart {}");
});

test("all is stopped with one click", async ({ hub, web, open, context }) => {
  await open(web.byHand());
  await open(web.at("/native"));
  const popup = await openPopup(context);
  const first = hub.next((it) => it.method === "browser/tabDisconnected");
  const second = hub.next((it) => it.method === "browser/tabDisconnected");
  await popup.getByRole("button", { name: "Stop all" }).click();
  await first;
  await second;
});

test("it pairs by a pasted code, says what is wrong with one, and unpairs", async ({
  hub,
  context,
  tellHost,
}) => {
  const popup = await openPopup(context);
  hub.forgetEndpoint();
  await popup.getByRole("button", { name: "Unpair" }).click();
  await expect(popup.getByText("Unknown to the hub")).toBeVisible();
  await popup.getByLabel("Or paste a code").fill("?");
  await popup.getByRole("button", { name: "Pair", exact: true }).click();
  await expect(popup.getByRole("alert")).toHaveText("this is no pairing code");
  await expectAccessible(popup);
  await popup.getByLabel("Or paste a code").fill(` 127.0.0.1:${hub.port}#${hub.invite()} `);
  await popup.getByRole("button", { name: "Pair", exact: true }).click();
  await expect(popup.getByRole("status")).toHaveText(`Connected to 127.0.0.1:${hub.port}`);
  await expect(popup.getByRole("alert")).toBeHidden();
  tellHost();
});

test("a page of the browser's own cannot be shared", async ({ context, worker }) => {
  const page = await context.newPage();
  await page.goto("chrome://version");
  const tabId = await worker.evaluate(async () => (await chrome.tabs.query({ active: true }))[0]?.id);
  const popup = await openPopup(context, tabId);
  await expect(popup.getByText("The browser lets no extension into this page.")).toBeVisible();
  await expect(popup.getByRole("switch", { name: "This page" })).toBeDisabled();
});
