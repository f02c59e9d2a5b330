import { expect, test } from "./test";

test.describe("the demo world", () => {
  test.use({ hubOptions: { demo: true } });

  test("sign in at a provider, use it, lose it, reconnect", async ({ page, hub }) => {
    await page.goto(`${hub.url}/ui/mcp`);
    const row = page.getByRole("row", { name: /notes/ });
    await expect(row.getByText("Sign in to use").filter({ visible: true })).toBeVisible();
    await row.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("heading", { name: "Demo provider" })).toBeVisible();
    await page.getByRole("link", { name: "Allow" }).click();
    await expect(page).toHaveURL(/\/ui\/mcp(\?|$)/);
    await expect(row.getByText(/Ready/).filter({ visible: true })).toBeVisible();

    await hub.api("/api/mcp/call", { tool: "mcp__notes__end_sign_in", arguments: {} });
    await hub.api("/api/mcp/call", { tool: "mcp__notes__list_notes", arguments: {} });
    await expect(row.getByText("Sign-in expired").filter({ visible: true })).toBeVisible();
    await row.getByRole("button", { name: "Reconnect" }).click();
    await page.getByRole("link", { name: "Allow" }).click();
    await expect(row.getByText(/Ready/).filter({ visible: true })).toBeVisible();

    await page.goto(`${hub.url}/ui/mcp/notes?tool=list_notes`);
    await page.getByRole("button", { name: "Run" }).click();
    await expect(page.getByText("Buy oat milk")).toBeVisible();
  });

  test("a provider that refuses is quoted, and nothing is lost", async ({ page, hub }) => {
    await page.goto(`${hub.url}/ui/mcp`);
    const row = page.getByRole("row", { name: /notes/ });
    await row.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "Deny" }).click();
    await expect(page.getByText("you chose not to allow it", { exact: false })).toBeVisible();
    await page.goto(`${hub.url}/ui/mcp`);
    await expect(row.getByText("Sign in to use").filter({ visible: true })).toBeVisible();
  });

  test("a bad day: every state has its words, and hostile text stays text", async ({ page, hub }) => {
    await page.goto(`${hub.url}/ui/mcp`);
    for (const [name, words] of [
      ["broken", /process exited with code 1/],
      ["keyed", /Needs an API key/],
      ["archive", /Off/],
      ["bad-day", /Ready · 8 tools/],
    ] as const) {
      await expect(
        page
          .getByRole("row", { name: new RegExp(name) })
          .getByText(words)
          .filter({ visible: true }),
      ).toBeVisible();
    }
    await page.goto(`${hub.url}/ui/mcp/bad-day?tool=rude`);
    await expect(page.getByText("tool 9 of the list was left out", { exact: false })).toBeVisible();
    await page.getByRole("button", { name: "Run" }).click();
    await expect(page.getByText("<h1>not a heading</h1>", { exact: false })).toBeVisible();
    expect(await page.locator("main img[src^=https]").count()).toBe(0);

    await page.goto(`${hub.url}/ui/mcp/bad-day?tool=ask`);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByLabel(/Your name/).fill("Ada");
    await page.getByRole("button", { name: "Answer" }).click();
    await expect(page.getByText("hello, Ada")).toBeVisible();

    await page.goto(`${hub.url}/ui/mcp/bad-day?tool=huge`);
    await page.getByRole("button", { name: "Run" }).click();
    await expect(page.getByRole("button", { name: /Expand|Show all/ })).toBeVisible();
  });
});
