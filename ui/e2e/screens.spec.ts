/** The screens beside the tools: what else a server offers, what it writes, who shares what, and who changed it. */

import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { fixture } from "./hub";
import { expect, expectAccessible, test } from "./test";

test("a prompt is filled in and read, and its address names it", async ({ page, hub, asked }) => {
  await hub.add({ tools: fixture() });
  await page.goto(`${hub.url}/ui/mcp/tools`);
  await page.getByRole("tab", { name: "Prompts" }).click();
  await page.getByRole("button", { name: /test_prompt_with_arguments/ }).click();
  await page.getByLabel("arg1").fill("one");
  await page.getByLabel("arg2").fill("two");
  asked();
  await page.getByRole("button", { name: "Get prompt" }).click();
  await expect(page.getByText("Prompt with arguments: arg1='one', arg2='two'")).toBeVisible();
  expect(asked()).toEqual(["POST /mcp/i/tools"]);
  await expect(page).toHaveURL(/tab=prompts&prompt=test_prompt_with_arguments/);
  await page.reload();
  await expect(page.getByRole("heading", { name: "test_prompt_with_arguments" })).toBeVisible();
  await expectAccessible(page);
});

test("a resource is read, and a template is filled in", async ({ page, hub }) => {
  await hub.add({ tools: fixture() });
  await page.goto(`${hub.url}/ui/mcp/tools?tab=resources`);
  await page.getByRole("button", { name: /static-text/ }).click();
  await page.getByRole("button", { name: "Read" }).click();
  await expect(page.getByText("This is the content of the static text resource.")).toBeVisible();
  await page
    .getByRole("button", { name: /template/ })
    .first()
    .click();
  await page.getByLabel("id", { exact: true }).fill("42");
  await page.getByRole("button", { name: "Read" }).click();
  await expect(page.getByText("42", { exact: false }).last()).toBeVisible();
  await expectAccessible(page);
});

test("the log grows as the process writes, without asking for it", async ({ page, hub, asked }) => {
  await hub.add({ tools: fixture() });
  const write = (line: string) =>
    hub.api("/api/mcp/call", { tool: "mcp__tools__stderr", arguments: { line } });
  await write("a first line");
  await page.goto(`${hub.url}/ui/mcp/tools?tab=log`);
  await expect(page.getByText("a first line")).toBeVisible();
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  asked();
  await write("error: a second line");
  await expect(page.getByText("error: a second line")).toBeVisible();
  await page.getByLabel("Level").selectOption("error");
  await expect(page.getByText("a first line")).toBeHidden();
  await page.getByLabel("Find in the log").fill("nothing like it");
  await expect(page.getByText("error: a second line")).toBeHidden();
  expect(asked()).toEqual([]);
  await expectAccessible(page);
});

test("a workspace is made and somebody is put in it, and both stand in the changes", async ({
  page,
  hub,
}) => {
  await page.goto(`${hub.url}/ui/admin/people`);
  await page.getByRole("link", { name: "Workspaces" }).click();
  await page.getByLabel("New workspace").fill("Legal");
  await page.getByRole("button", { name: "Add", exact: true }).last().click();
  await expect(page.getByText("Legal", { exact: true })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("link", { name: "Changes" }).click();
  const current = page.getByRole("navigation", { name: "Admin" }).locator("[aria-current]");
  await expect(current).toHaveText(["Changes"]);
  const row = page.getByRole("row", { name: /Legal/ });
  await expect(row).toBeVisible();
  await expect(row).toContainText("workspace");
  await expectAccessible(page);
});

test("a server that fails is marked in the sidebar, in words", async ({ page, hub }) => {
  const switched = `${hub.home}/on`;
  writeFileSync(switched, "");
  const { command, args } = fixture();
  const script = `test -e ${switched} || exit 3; rm ${switched}; exec "$0" "$@"`;
  await hub.add({ shy: { command: "sh", args: ["-c", script, command, ...args] }, well: fixture() });
  await page.goto(`${hub.url}/ui/mcp`);
  const shy = page.getByRole("treeitem", { name: /shy/ });
  await expect(shy).toBeVisible();
  await hub.api("/api/mcp/call", { tool: "mcp__shy__crash", arguments: {} });
  await hub.api("/api/mcp/call", { tool: "mcp__shy__greet", arguments: { name: "Ada" } });
  await expect(shy.getByRole("img", { name: /code 3/ })).toBeVisible();
  await expect(page.getByRole("treeitem", { name: /well/ }).getByRole("img", { name: /code/ })).toHaveCount(
    0,
  );
});

test("a picture of the server's domain stands beside its name, fetched by the hub alone", async ({
  page,
  hub,
}) => {
  const png = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );
  let asked = 0;
  const site = createServer((request, response) => {
    if (request.url === "/favicon.ico") asked += 1;
    if (request.url === "/favicon.ico") response.end(png);
    else response.writeHead(404).end();
  });
  await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
  const { port } = site.address() as { port: number };
  await hub.add({ pictured: { url: `http://127.0.0.1:${port}/mcp` }, plain: fixture() });
  const elsewhere: string[] = [];
  page.on("request", (it) => !it.url().startsWith(hub.url) && elsewhere.push(it.url()));
  await page.goto(`${hub.url}/ui/mcp`);
  const picture = page.getByRole("treeitem", { name: /pictured/ }).locator("img");
  await expect(picture).toHaveJSProperty("naturalWidth", 1);
  await expect(page.getByRole("row", { name: /pictured/ }).locator("img")).toHaveJSProperty(
    "naturalWidth",
    1,
  );
  await expect(page.getByRole("treeitem", { name: /plain/ }).locator("img")).toHaveCount(0);
  expect({ asked, elsewhere }).toEqual({ asked: 1, elsewhere: [] });
  site.close();
});
