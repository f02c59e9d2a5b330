import { fixture } from "./hub";
import { expect, expectAccessible, listenToConsole, test } from "./test";

test.describe("a team", () => {
  test.use({ hubOptions: { mode: "team" } });

  test("the first admin comes in, invites somebody, and sees what they see", async ({
    page,
    hub,
    browser,
  }) => {
    await expectAccessible(page);
    await page.getByLabel("Name").fill("Ada");
    await page.getByLabel("E-mail").fill("ada@example.com");
    await page.getByLabel("Password").fill("correct horse battery");
    await page.keyboard.press("Enter");
    await expect(page.getByText("First steps")).toBeVisible();

    await page.goto(`${hub.url}/ui/mcp?add=`);
    await page.getByLabel("Configuration").fill(JSON.stringify({ mine: fixture() }));
    await page.getByRole("button", { name: "Add & Discover Tools" }).click();
    await page.getByRole("button", { name: "Done" }).click();
    await expect(page.getByRole("link", { name: "mine", exact: true })).toBeVisible();

    await page.goto(`${hub.url}/ui/admin/people`);
    await page.getByRole("button", { name: "Invite" }).click();
    await page.getByLabel("Email").fill("bob@example.com");
    await page.getByRole("dialog").getByRole("button", { name: "Invite" }).click();
    const link = await page.getByText(/\/ui\/join\?code=/).textContent();
    await page.getByRole("button", { name: "Done" }).click();
    await expect(page.getByRole("row", { name: /bob@example.com/ })).toBeVisible();

    const bob = await (await browser.newContext()).newPage();
    const complaints = listenToConsole(bob);
    hub.watch.follow(bob.context());
    await bob.goto(link ?? "");
    await bob.getByLabel("Password").fill("another long password");
    await bob.keyboard.press("Enter");
    await expect(bob.getByText("First steps")).toBeVisible();
    await bob.goto(`${hub.url}/ui/mcp`);
    await expect(bob.getByText("No servers yet. Press + to add one.")).toBeVisible();
    await bob.goto(`${hub.url}/ui/mcp/mine`);
    await expect(bob.getByText(/nothing you may see/)).toBeVisible();
    await bob.goto(`${hub.url}/ui/admin/people`);
    await expect(bob.getByText(/nothing you may see/)).toBeVisible();
    expect(complaints).toEqual([]);
    await bob.context().close();

    await page.goto(`${hub.url}/ui/admin/mcp`);
    await page.getByLabel("View as").selectOption({ label: "bob" });
    await expect(page.getByText("You look on.", { exact: false })).toBeVisible();
    await expect(page.getByText("They see no tools.")).toBeVisible();
    await page.getByLabel("View as").selectOption({ label: "Ada" });
    await expect(page.getByText("mcp__mine__greet")).toBeVisible();
    const token = await page.request.post(`${hub.url}/api/tokens`, {
      headers: { origin: hub.url },
      data: { name: "bare", grants: [] },
    });
    expect(token.status()).toBe(201);
    await page.reload();
    await page.getByLabel("With the token").selectOption({ label: "Token bare" });
    await expect(page.getByText("hidden: this token has no grant for it").first()).toBeVisible();
    await page.getByLabel("View as").selectOption({ label: "Workspace admin" });
    await expect(page.getByText("They see no tools.")).toBeVisible();
    await expect(page).toHaveURL(/as=role/);
    await expectAccessible(page);
  });
});
