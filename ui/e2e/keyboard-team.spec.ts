/** The screens of an admin, with keys alone: coming in, registry, people, workspaces, changes. */

import { type Journey, type Keys, walkThrough } from "./keys";
import { expect } from "./test";

/** The first admin takes their place; the page is the hub's own, without a script. */
async function comeIn(keys: Keys): Promise<void> {
  await keys.write(/^Name/, "Ada");
  await keys.write(/^E-mail/, "ada@example.com");
  await keys.press("Tab");
  await keys.expectSeen();
  await keys.type("correct horse battery");
  await keys.press("Enter");
  await expect(keys.page.getByText("First steps")).toBeVisible();
}

const JOURNEYS: Journey[] = [
  {
    screen: "the registry, an entry and its preview",
    walk: async (keys, page) => {
      await keys.goTo("Admin: registry", /\/admin\/mcp/);
      await expect(page.getByText("External servers")).toBeVisible();
      await keys.open("button", "Add server");
      await keys.expectFocus("textbox", "URL");
      await keys.type("http://127.0.0.1:9/mcp");
      await keys.expectTrapped();
      await keys.tabTo("textbox", "URL");
      await keys.press("Enter");
      await expect(page.getByText("link.unreachable")).toBeVisible();
      await keys.look();
      await keys.write(/^Description/, "Nobody is at home");
      await keys.open("button", "Save");
      await expect(page.getByRole("button", { name: "Save", exact: true })).toBeDisabled();
      await keys.escape();
      await keys.open("link", "127-0-0-1");
      await expect(page.getByRole("dialog", { name: "127-0-0-1" })).toBeVisible();
      await keys.escape();
      await keys.expectFocus("link", "127-0-0-1");
    },
  },
  {
    screen: "people, somebody invited and made an admin",
    options: { mode: "team" },
    walk: async (keys, page) => {
      await comeIn(keys);
      await keys.goTo("Admin: people", /\/admin\/people/);
      await keys.open("button", "Invite");
      await keys.expectFocus("textbox", "Email");
      await keys.type("bob@example.com");
      await keys.expectTrapped();
      await keys.tabTo("textbox", "Email");
      await keys.press("Enter");
      await expect(page.getByText(/\/ui\/join\?code=/)).toBeVisible();
      await keys.open("button", "Done");
      await keys.expectFocus("button", "Invite");
      await keys.tabTo("combobox", "Role of bob");
      await keys.press("End");
      await expect(page.getByLabel("Role of bob").first()).toHaveValue("admin");
      await keys.look();
      await keys.open("button", "More for bob");
      await keys.choose("Remove");
      await expect(page.getByText("Remove bob?")).toBeVisible();
      await keys.escape();
      await keys.expectFocus("button", "More for bob");
      await keys.press("Enter");
      await keys.choose("Remove");
      await keys.open("button", "Remove");
      await expect(page.getByText("bob@example.com")).toBeHidden();
    },
  },
  {
    screen: "workspaces: phase, allowed domains, a new one",
    walk: async (keys, page) => {
      await keys.goTo("Admin: registry", /\/admin\/mcp/);
      await keys.open("switch", "External servers");
      await expect(page.getByText("only buds and built-ins can be called", { exact: false })).toBeVisible();
      await keys.write("Allowed domains", "*.example.com");
      await keys.open("button", "Save domains");
      await expect(page.getByRole("button", { name: "Save domains" })).toBeDisabled();
      await keys.open("link", "Workspaces", { back: true });
      await keys.write("New workspace", "Legal");
      await keys.press("Enter");
      await expect(page.getByRole("heading", { name: "Legal" })).toBeVisible();
      await expect(page.getByRole("navigation", { name: "Breadcrumb" })).toContainText("Workspaces");
      await keys.press("Shift+Tab");
      await keys.look();
    },
  },
  {
    screen: "changes",
    world: async (hub) => {
      await hub.api("/api/workspaces", { name: "Legal" });
    },
    walk: async (keys, page) => {
      await keys.goTo("Admin: people", /\/admin\/people/);
      await expect(page.getByRole("navigation", { name: "Breadcrumb" })).toContainText("People");
      await keys.open("link", "Changes");
      await expect(page.getByRole("row", { name: /Legal/ })).toBeVisible();
      await expect(page.getByRole("navigation", { name: "Breadcrumb" })).toContainText("Changes");
      await keys.look();
    },
  },
];

walkThrough(JOURNEYS);
