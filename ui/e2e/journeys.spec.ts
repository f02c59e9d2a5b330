import type { Locator } from "@playwright/test";
import { fixture } from "./hub";
import { expect, expectNoSideScroll, test } from "./test";

test("the first day: paste, discover, run, and see it in Activity", async ({ page, asked }) => {
  await expect(page.getByText("First steps")).toBeVisible();
  await page.getByRole("link", { name: "Add server" }).click();
  await page.getByLabel("Configuration").fill(JSON.stringify({ mcpServers: { tools: fixture() } }));
  await expect(page.getByText("JSON · 1 server")).toBeVisible();
  asked();
  await page.getByRole("button", { name: "Add & Discover Tools" }).click();
  // The doctor's steps, as they were taken.
  await expect(
    page.getByRole("dialog").getByRole("listitem").getByText("program", { exact: true }),
  ).toBeVisible();
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("link", { name: "tools", exact: true })).toBeVisible();
  expect(asked().filter((it) => !it.startsWith("GET"))).toEqual(["POST /api/mcp/import"]);

  await page.getByRole("link", { name: "tools", exact: true }).click();
  await page.getByRole("link", { name: /^greet/ }).click();
  await page.getByLabel("name", { exact: true }).fill("Ada");
  asked();
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByText("Hello, Ada!")).toBeVisible();
  expect(asked()).toEqual(["POST /mcp"]);

  await page.getByRole("link", { name: "Activity" }).click();
  await page.getByRole("link", { name: "mcp__tools__greet" }).click();
  await expect(page.getByText("Server worked")).toBeVisible();
  await page.getByRole("link", { name: "Home" }).click();
  // The page itself is a client: all three steps are taken, and the list of them is gone.
  await expect(page.getByText("First steps")).toBeHidden();
});

test("toggle-one-request: a mutation is one request, and nothing is asked again", async ({
  page,
  hub,
  asked,
}) => {
  await hub.add({ one: fixture(), two: fixture() });
  await page.goto(`${hub.url}/ui/mcp`);
  await page.getByRole("treeitem", { name: /one/ }).waitFor();
  await page.getByRole("link", { name: "one", exact: true }).waitFor();
  await page.getByRole("button", { name: "Tools of two" }).click();
  await page.getByRole("switch", { name: "greet is on" }).waitFor();
  await expect(page.getByText("Live", { exact: true })).toBeVisible();

  // What an answer would be asked again for comes at once, so every look also sees what the step before caused.
  asked();
  const row = (name: string) => page.getByRole("switch", { name: `${name} is on` });
  await row("one").click();
  await expect(row("one")).not.toBeChecked();
  await row("one").click();
  await expect(row("one")).toBeChecked();
  await row("greet").click();
  await expect(row("greet")).not.toBeChecked();
  await page.getByRole("button", { name: "More for two" }).click();
  await page.getByRole("menuitem", { name: "Refresh tools" }).click();
  await expect(page.getByRole("treeitem", { name: /two/ })).toContainText(/\d/);
  await page.getByRole("button", { name: "More for one" }).click();
  await page.getByRole("menuitem", { name: "Remove" }).click();
  await expect(page.getByText('Remove server "one"?')).toBeVisible();
  await page.getByRole("button", { name: "Remove" }).click();
  await expect(page.getByRole("link", { name: "one", exact: true })).toBeHidden();
  await expect(page.getByRole("treeitem", { name: /one/ })).toBeHidden();
  const one = /^PATCH \/api\/mcp\/instances\/[\w-]+$/;
  const sent = asked();
  expect(sent).toEqual([
    expect.stringMatching(one),
    expect.stringMatching(one),
    expect.stringMatching(/^PATCH \/api\/mcp\/instances\/[\w-]+\/tools\/greet$/),
    expect.stringMatching(/^POST \/api\/mcp\/instances\/[\w-]+\/refresh$/),
    expect.stringMatching(/^DELETE \/api\/mcp\/servers\/[\w-]+$/),
  ]);
});

test("the sidebar asks once, and nothing while pages change or somebody searches", async ({
  page,
  hub,
  asked,
}) => {
  await hub.add({ one: fixture() });
  await page.goto(`${hub.url}/ui/mcp`);
  const server = page.getByRole("treeitem", { name: /one/ });
  await server.waitFor();
  asked();
  await server.hover();
  await expect(page.getByText(/old|just now/).first()).toBeVisible();
  await server.press("ArrowRight");
  await expect(page.getByRole("treeitem", { name: "greet" })).toBeVisible();
  expect(asked()).toEqual([expect.stringMatching(/^GET \/api\/mcp\/meta\//)]);

  for (const [key, title] of [
    ["c", "Chat"],
    ["m", "MCP"],
    ["h", "Home"],
    ["m", "MCP"],
  ] as const) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await expect(page).toHaveTitle(new RegExp(title));
    // A new chat waits for words; Escape leaves its text box.
    if (key === "c") {
      await expect(page.getByLabel("Message")).toBeFocused();
      await page.keyboard.press("Escape");
    }
  }
  await page.keyboard.press("/");
  await expect(page.getByRole("combobox")).toBeFocused();
  await page.keyboard.type("greet");
  await expect(page.getByRole("option", { name: /greet/ })).toBeVisible();
  expect(asked().filter((it) => /registry|meta/.test(it))).toEqual([]);
});

test("a tool of the sidebar is dragged as the call, and Enter begins a chat with it", async ({
  page,
  hub,
}) => {
  await hub.add({ one: fixture() });
  await page.goto(`${hub.url}/ui/mcp`);
  await page.getByRole("treeitem", { name: /one/ }).press("ArrowRight");
  const tool = page.getByRole("treeitem", { name: "greet" });
  await expect(tool).toHaveAttribute("draggable", "true");
  const dragged = await tool.evaluateHandle((element) => {
    const data = new DataTransfer();
    element.dispatchEvent(
      new DragEvent("dragstart", { bubbles: true, cancelable: true, dataTransfer: data }),
    );
    return data;
  });
  expect(await dragged.evaluate((it) => it.getData("text/plain"))).toBe("/call one.greet(…)");
  await tool.dispatchEvent("dragend");
  await tool.press("Enter");
  await expect(page).toHaveURL(/\/ui\/chat/);
  await expect(page.getByLabel("Message")).toHaveValue("/call one.greet(…)");
});

test("keys alone: add, run, find it again", async ({ page }) => {
  const type = (text: string) => page.keyboard.type(text);
  const press = (...keys: string[]) =>
    keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
  // As often as somebody would put up with, no further.
  const tabTo = async (target: Locator) => {
    await target.waitFor();
    for (let i = 0; i < 12; i++) {
      if (await target.evaluate((it) => it === document.activeElement)) return;
      await press("Tab");
    }
    await expect(target).toBeFocused();
  };
  await press("Tab");
  await expect(page.getByRole("link", { name: "Skip to content" })).toBeFocused();
  await press("g", "m");
  await expect(page.getByText("No servers yet. Press + to add one.")).toBeVisible();
  await press("n");
  await expect(page.getByLabel("Configuration")).toBeFocused();
  await type(JSON.stringify({ tools: fixture() }));
  await press("Tab", "Tab");
  await expect(page.getByRole("button", { name: "Add & Discover Tools" })).toBeFocused();
  await press("Enter");
  await expect(page.getByRole("button", { name: "Done" })).toBeVisible();
  await press("Escape");
  await page.getByRole("link", { name: "tools", exact: true }).waitFor();
  await press("j", "Enter");
  await page.getByLabel("Find a tool").waitFor();
  await press("/");
  await expect(page.getByLabel("Find a tool")).toBeFocused();
  await type("greet");
  await tabTo(page.getByRole("link", { name: /^greet/ }));
  await press("Enter");
  await tabTo(page.getByLabel("name", { exact: true }));
  await type("Ada");
  await press("Control+Enter");
  await expect(page.getByText("Hello, Ada!")).toBeVisible();
  await press("Control+k");
  await expect(page.getByRole("combobox", { name: /Search|Go to/ })).toBeFocused();
  await type("activity");
  await press("Enter");
  await expect(page.getByRole("link", { name: "mcp__tools__greet" })).toBeVisible();
});

test("progress, cancel, and questions in the middle of a call", async ({ page, hub }) => {
  await hub.add({ tools: fixture("--era", "dual") });
  await page.goto(`${hub.url}/ui/mcp/tools?tool=sleep`);
  await page.getByLabel("ms", { exact: true }).fill("20000");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByRole("progressbar")).toHaveAttribute("aria-valuenow", /\d+/);
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByText("Cancelled", { exact: true })).toBeVisible();
  await expect
    .poll(async () => (await hub.api<{ outcome: string }[]>("/api/calls?limit=1"))[0]?.outcome)
    .toBe("cancelled");

  await page.goto(`${hub.url}/ui/mcp/tools?tool=test_input_required_result_multi_round`);
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByLabel(/^name/).fill("Ada");
  await page.getByRole("button", { name: "Answer" }).click();
  await page.getByLabel(/^color/).fill("green");
  await page.getByRole("button", { name: "Answer" }).click();
  await expect(page.getByText('"Ada" likes "green"')).toBeVisible();
});

test("results of every kind", async ({ page, hub }) => {
  await hub.add({ tools: fixture() });
  await page.goto(`${hub.url}/ui/mcp/tools?tool=test_multiple_content_types`);
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByRole("img", { name: /From the tool/ })).toBeVisible();
  await page.getByRole("tab", { name: "Raw" }).click();
  await expect(page.getByText('"content"')).toBeVisible();
  await page.goto(`${hub.url}/ui/mcp/tools?tool=test_audio_content`);
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.locator("audio")).toBeVisible();
  await page.goto(`${hub.url}/ui/mcp/tools?tool=rpc_error`);
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByText("MCP -32603", { exact: false })).toBeVisible();
});

test("at 320 px: the menu, a tool, its result", async ({ page, hub }) => {
  await hub.add({ tools: fixture() });
  await page.setViewportSize({ width: 320, height: 640 });
  await page.goto(`${hub.url}/ui/`);
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("dialog").getByRole("link", { name: "MCP" }).click();
  await page.getByRole("link", { name: "tools", exact: true }).click();
  await page.getByRole("link", { name: /^greet/ }).click();
  await page.getByLabel("name", { exact: true }).fill("Ada");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByText("Hello, Ada!")).toBeVisible();
  await expectNoSideScroll(page);
  await page.getByRole("link", { name: "All tools" }).click();
  await expect(page.getByLabel("Find a tool")).toBeVisible();
});

test("a chosen theme is there before the first paint", async ({ page, hub }) => {
  await page.goto(`${hub.url}/ui/settings`);
  await page.getByLabel("Dark").check();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.addInitScript(() => {
    document.addEventListener("DOMContentLoaded", () => {
      (window as unknown as { early: string | undefined }).early = document.documentElement.dataset.theme;
    });
  });
  await page.reload();
  expect(await page.evaluate(() => (window as unknown as { early?: string }).early)).toBe("dark");
});

test("a file that is added in the settings is found, until it is removed", async ({ page, hub, asked }) => {
  const search = async () => {
    const body = { tool: "mcp__builtin__file_search", arguments: { query: "oak" } };
    const { raw } = await hub.api<{ raw: { content: { text: string }[] } }>("/api/mcp/call", body);
    return raw.content[0]?.text;
  };
  await page.goto(`${hub.url}/ui/settings`);
  await expect(page.getByText("No files.", { exact: false })).toBeVisible();
  asked();
  await page
    .getByLabel("Files to add")
    .setInputFiles({ name: "oak.md", mimeType: "text/markdown", buffer: Buffer.from("The oak is old") });
  const row = page.getByRole("listitem").filter({ hasText: "oak.md" });
  await expect(row).toContainText("14 characters");
  expect(asked().filter((it) => it.includes("files"))).toHaveLength(1);
  expect(await search()).toBe("oak.md: The oak is old");
  await page.reload();
  await row.getByRole("button", { name: "Remove oak.md" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(row).toBeHidden();
  // The row goes at once; the file when the hub has heard of it.
  await expect.poll(search).toBe("no file holds all of these words");
});

test("a token is shown once, works, and stops working", async ({ page, hub, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${hub.url}/ui/settings`);
  await page.getByRole("button", { name: "New token" }).click();
  await page.getByLabel("Name", { exact: true }).fill("editor");
  await page.getByRole("button", { name: "Make token" }).click();
  await page.getByRole("button", { name: "Copy the token" }).click();
  const token = await page.evaluate(() => navigator.clipboard.readText());
  hub.watch.hide(token);
  const status = async () => {
    const headers = { Authorization: `Bearer ${token}` };
    return (await fetch(`${hub.url}/api/status`, { headers })).status;
  };
  expect(await status()).toBe(200);
  await page.reload();
  await expect(page.getByText("editor")).toBeVisible();
  await expect(page.getByText("It is shown only now.", { exact: false })).toBeHidden();
  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByText("No tokens.", { exact: false })).toBeVisible();
  expect(await status()).toBe(401);
});

test("the registry keeps an entry that does not answer, tries an edit, and says how people sign in", async ({
  page,
  hub,
  asked,
}) => {
  await page.goto(`${hub.url}/ui/admin/mcp?add=`);
  await page.getByLabel("URL").fill("http://127.0.0.1:9/mcp");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByText("link.unreachable")).toBeVisible();
  await page.reload();
  await page.getByRole("link", { name: "127-0-0-1" }).waitFor();
  await expect(page.getByText("link.unreachable")).toBeVisible();

  asked();
  await page.getByLabel("Address").fill("http://127.0.0.1:10/mcp");
  await page.getByRole("button", { name: "Dry run" }).click();
  await expect(page.getByRole("region", { name: "Dry run" }).getByText("link.unreachable")).toBeVisible();
  await page.getByLabel("Description").first().fill("Nobody is at home");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("button", { name: "Save", exact: true })).toBeDisabled();
  const signIn = page.getByRole("region", { name: "Sign-in" });
  await signIn.getByRole("button", { name: "Add" }).click();
  await signIn.getByLabel("Name").fill("Key");
  await signIn.getByLabel("Key of value 1").fill("X-Api-Key");
  await signIn.getByRole("button", { name: "Add", exact: true }).click();
  await expect(signIn.getByText("header: X-Api-Key")).toBeVisible();
  await page.getByRole("switch", { name: "External servers" }).click();
  await expect(page.getByText("only buds and built-ins can be called", { exact: false })).toBeVisible();
  await page.getByLabel("Allowed domains").fill("*.example.com");
  await page.getByRole("button", { name: "Save domains" }).click();
  await expect(page.getByRole("button", { name: "Save domains" })).toBeDisabled();
  expect(asked().map((it) => it.replace(/[\da-f-]{36}/, ":id"))).toEqual([
    "POST /api/mcp/servers/:id/preview",
    "PATCH /api/mcp/servers/:id",
    "POST /api/mcp/servers/:id/auth-configs",
    "PATCH /api/workspaces/:id",
    "PATCH /api/workspaces/:id",
  ]);
});

test("activity is filtered as one types, and everything is in the address", async ({ page, hub }) => {
  await hub.add({ tools: fixture() });
  await hub.api("/api/mcp/call", { tool: "mcp__tools__greet", arguments: { name: "a" } });
  await hub.api("/api/mcp/call", { tool: "mcp__tools__fail", arguments: {} });
  await page.goto(`${hub.url}/ui/activity`);
  await page.getByLabel("Filter").fill("end:failed");
  await expect(page.getByRole("link", { name: "mcp__tools__greet" })).toBeHidden();
  await expect(page.getByRole("link", { name: "mcp__tools__fail" })).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Filter")).toHaveValue("end:failed");
  await page.getByLabel("Filter").fill("nope:x");
  await expect(page.getByText("is not known")).toBeVisible();
});

test("what happens elsewhere appears by itself", async ({ page, hub }) => {
  await page.goto(`${hub.url}/ui/mcp`);
  await expect(page.getByText("No servers yet. Press + to add one.")).toBeVisible();
  await hub.add({ elsewhere: fixture() });
  await expect(page.getByRole("link", { name: "elsewhere", exact: true })).toBeVisible();
  await expect(page.getByRole("treeitem", { name: /elsewhere/ })).toBeVisible();
});
