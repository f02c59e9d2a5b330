import type { Page } from "@playwright/test";
import { Extension } from "./extension";
import { expect, expectAccessible, expectNoSideScroll, test } from "./test";

const SHOP = "https://shop.example.com/cart";
const QUESTION = {
  message: "Buy it?",
  requestedSchema: {
    type: "object",
    properties: { size: { type: "string", enum: ["S", "L"] }, sure: { type: "boolean" } },
    required: ["size"],
  },
};

async function expectGoodInBothThemes(page: Page): Promise<void> {
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await expectAccessible(page);
    await expectNoSideScroll(page);
  }
}

test("a browser is paired, its tabs are seen as they change, a page asks, and the browser is let go", async ({
  page,
  hub,
}) => {
  await page.goto(`${hub.url}/ui/settings`);
  const card = page.locator("#browser");
  await expect(card.getByText("No browser is paired.")).toBeVisible();
  const made = page.waitForResponse((it) => it.url().endsWith("/api/tabs/pair"));
  await card.getByRole("button", { name: "Pair a browser" }).click();
  const { code } = (await (await made).json()) as { code: string };
  await expect(card.getByText("It works once, within 2 minutes.")).toBeVisible();
  const browser = await Extension.pair(hub.url, code);
  await expect(card.getByText("connected")).toBeVisible();

  browser.show(SHOP, `${SHOP}/two`);
  await expect(card.getByText("2 tabs with tools, 1 shared site open")).toBeVisible();
  const tab = (number: number) => card.getByRole("listitem").filter({ hasText: `Tab ${number}` });
  await expect(tab(1).getByText("in front")).toBeVisible();
  browser.tell("browser/tabActivated", { extensions: { tabId: 2, windowId: 1 } });
  await expect(tab(2).getByText("in front")).toBeVisible();
  await expect(tab(1).getByText("in front")).toBeHidden();
  await expectGoodInBothThemes(page);

  // The API cannot be asked, so the person is, wherever they are.
  await page.getByRole("link", { name: "Home" }).click();
  const call = browser.next((it) => it.method === "browser/executeTool");
  const tool = "website_tool_shop_example_com_tab1_getCart";
  const result = hub.api<{ content: { text: string }[] }>("/api/mcp/call", { tool, arguments: {} });
  const { id } = await call;
  const answer = browser.ask(id, QUESTION);
  const dialog = page.getByRole("dialog", { name: "shop.example.com asks" });
  await expect(dialog.getByText("Buy it?")).toBeVisible();
  await expectGoodInBothThemes(page);
  await dialog.getByLabel("size").selectOption("L");
  await dialog.getByLabel("sure").check();
  await dialog.getByRole("button", { name: "Answer" }).click();
  expect(await answer).toEqual({ action: "accept", content: { size: "L", sure: true } });
  await expect(dialog).toBeHidden();
  browser.answer(id, { success: true, payload: { content: [{ type: "text", text: "tea" }] } });
  expect(JSON.stringify(await result)).toContain("tea");
  await page.goto(`${hub.url}/ui/activity`);
  await expect(page.getByText("shop.example.com, tab 1")).toBeVisible();

  // What is remembered stays when its tab is closed.
  await page.goto(`${hub.url}/ui/settings`);
  await tab(1)
    .getByRole("button", { name: /^Remember getCart/ })
    .click();
  await expect(tab(1).getByRole("button", { name: /^Remember getCart/ })).toHaveAttribute(
    "aria-pressed",
    "true",
  );
  browser.tell("browser/tabRemoved", { extensions: { tabId: 1 } });
  browser.tell("browser/tabRemoved", { extensions: { tabId: 2 } });
  await expect(card.getByText("No tab is open. A call opens one.")).toBeVisible();
  await card.getByRole("button", { name: "Forget getCart of shop.example.com" }).click();
  await expect(card.getByText("No tab is open. A call opens one.")).toBeHidden();

  await card.getByRole("button", { name: "Unpair" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Unpair" }).click();
  expect(await browser.closed).toBe(4003);
  await expect(card.getByText("No browser is paired.")).toBeVisible();
});
