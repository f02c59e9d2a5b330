/** Every screen of a person, with keys alone: places, servers and their tools, calls, bundles, settings. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FIXTURE, fixture, type Hub } from "./hub";
import { type Journey, type Keys, walkThrough } from "./keys";
import { expect } from "./test";

const bench = (hub: Hub) => hub.add({ bench: fixture() });

/** The page of a server, and one of its tabs. */
async function openTab(keys: Keys, tab: string): Promise<void> {
  await keys.goTo("bench", /\/mcp\/bench/);
  await keys.tabTo("tab", "Tools");
  await keys.arrowTo("tab", tab, "ArrowRight");
}

/** Where a bundle lies. */
function bundleOf(hub: Hub): string {
  const place = join(hub.home, "tools");
  mkdirSync(place, { recursive: true });
  const servers = { fix: { command: FIXTURE, args: ["stdio"] } };
  const manifest = { id: "tools", version: "1.0.0", name: "The tools", mcpServers: servers };
  writeFileSync(join(place, "deployment-manifest.yml"), JSON.stringify(manifest));
  return place;
}

const JOURNEYS: Journey[] = [
  {
    screen: "Home",
    walk: async (keys, page) => {
      await keys.press("Tab");
      await keys.expectFocus("link", "Skip to content");
      await keys.press("Enter", "Tab");
      await keys.expectFocus("button", "Copy the endpoint");
      await keys.tabTo("tab", "Claude Code");
      await keys.press("End");
      const last = page.getByRole("tab", { selected: true });
      await expect(last).not.toHaveText("Claude Code");
      await expect(last).toBeFocused();
      await keys.open("button", /^Make a token for/);
      await expect(page.getByText("This token is shown only now.")).toBeVisible();
      await keys.open("link", "Add server", { back: true });
      await keys.expectFocus("textbox", "Configuration");
      await keys.look();
      await keys.escape();
      await expect(page.getByText("No servers yet. Press + to add one.")).toBeVisible();
    },
  },
  {
    screen: "MCP, from the first server to none",
    walk: async (keys, page) => {
      await keys.press("g", "m");
      await keys.open("button", "Add server");
      await keys.expectFocus("textbox", "Configuration");
      await keys.type(JSON.stringify({ bench: fixture() }));
      await keys.expectTrapped();
      await keys.open("button", "Add & Discover Tools");
      await expect(page.getByRole("button", { name: "Done" })).toBeVisible();
      await keys.look();
      await keys.open("button", "Done");
      await keys.expectFocus("button", "Add server");
      await keys.open("button", "Tools of bench");
      await keys.open("switch", "crash is on");
      await expect(page.getByRole("switch", { name: "crash is on" })).not.toBeChecked();
      await keys.open("button", "More for bench", { back: true });
      await keys.choose("Remove");
      await expect(page.getByText('Remove server "bench"?')).toBeVisible();
      await keys.expectTrapped();
      await keys.escape();
      await keys.expectFocus("button", "More for bench");
      await keys.press("Enter");
      await keys.choose("Remove");
      await keys.open("button", "Remove");
      await expect(page.getByText("No servers yet. Press + to add one.")).toBeVisible();
      await expect(page.locator("#main")).toBeFocused();
    },
  },
  {
    screen: "one server, its tools and the runner",
    world: bench,
    walk: async (keys, page) => {
      await keys.goTo("bench", /\/mcp\/bench/);
      await expect(page.getByLabel("Find a tool")).toBeVisible();
      await keys.press("/");
      await keys.expectFocus("searchbox", "Find a tool");
      await keys.type("greet");
      await keys.open("link", /^greet/);
      await keys.write("name", "Ada");
      await keys.press("Control+Enter");
      await expect(page.getByText("Hello, Ada!")).toBeVisible();
      await keys.look();
      await keys.open("button", "JSON", { back: true });
      await keys.write("Arguments as JSON", '{"name": "Bo"}');
      await keys.open("button", "Run");
      await expect(page.getByText("Hello, Bo!")).toBeVisible();
      await keys.open("link", "All tools", { back: true });
      await keys.tabTo("combobox", /^May \w+ be called/);
      await keys.press("ArrowDown");
      await expect(page.locator("select:focus")).toHaveValue("block");
    },
  },
  {
    screen: "prompts",
    world: bench,
    walk: async (keys, page) => {
      await openTab(keys, "Prompts");
      await keys.open("button", /test_prompt_with_arguments/);
      await keys.write(/^arg1/, "one");
      await keys.write(/^arg2/, "two");
      await keys.press("Enter");
      await expect(page.getByText("Prompt with arguments: arg1='one', arg2='two'")).toBeVisible();
      await keys.look();
      await keys.open("button", "All prompts", { back: true });
      await expect(page.getByRole("button", { name: /test_simple_prompt/ })).toBeVisible();
    },
  },
  {
    screen: "resources",
    world: bench,
    walk: async (keys, page) => {
      await openTab(keys, "Resources");
      await keys.open("button", /static-text/);
      await keys.open("button", "Read");
      await expect(page.getByText("This is the content of the static text resource.")).toBeVisible();
      await keys.look();
      await keys.open("button", "All resources", { back: true });
      await keys.open("button", /template/);
      await keys.write("id", "42");
      await keys.press("Enter");
      await expect(page.getByText("42", { exact: false }).last()).toBeVisible();
    },
  },
  {
    screen: "the log",
    world: async (hub) => {
      await bench(hub);
      for (const line of ["a first line", "error: a second line"])
        await hub.api("/api/mcp/call", { tool: "mcp__bench__stderr", arguments: { line } });
    },
    walk: async (keys, page) => {
      await openTab(keys, "Log");
      await expect(page.getByText("a first line")).toBeVisible();
      await keys.look();
      await keys.tabTo("combobox", "Level");
      await keys.press("Home");
      await expect(page.getByText("a first line")).toBeHidden();
      await expect(page.getByText("error: a second line")).toBeVisible();
      await keys.open("checkbox", "Follow");
      await expect(page.getByRole("checkbox", { name: "Follow" })).not.toBeChecked();
      await keys.tabTo("group", "Log");
    },
  },
  {
    screen: "settings of one server",
    world: bench,
    walk: async (keys, page) => {
      await openTab(keys, "Settings");
      await keys.write("Name", "The bench");
      await keys.press("Enter");
      await expect(page.getByRole("heading", { name: "The bench" })).toBeVisible();
      await keys.look();
      await keys.open("button", "Remove");
      await keys.expectTrapped();
      await keys.open("button", "Keep");
      await keys.expectFocus("button", "Remove");
      await keys.press("Enter");
      await keys.expectWindow();
      await keys.open("button", "Remove");
      await expect(page.getByText("No servers yet. Press + to add one.")).toBeVisible();
    },
  },
  {
    screen: "Activity, and one call",
    world: async (hub) => {
      await bench(hub);
      for (const tool of ["greet", "fail"])
        await hub.api("/api/mcp/call", { tool: `mcp__bench__${tool}`, arguments: { name: "Ada" } });
    },
    walk: async (keys, page) => {
      await keys.press("g", "a");
      await expect(page.getByRole("link", { name: "mcp__bench__greet" })).toBeVisible();
      await keys.press("/");
      await keys.expectFocus("searchbox", "Filter");
      await keys.type("end:failed");
      await expect(page.getByLabel("Filter")).toHaveValue("end:failed");
      await expect(page.getByRole("link", { name: "mcp__bench__greet" })).toBeHidden();
      await keys.open("link", "mcp__bench__fail");
      await expect(page.getByText("Server worked")).toBeVisible();
      await keys.look();
      await keys.tabTo("tab", "Arguments");
      await keys.press("ArrowRight");
      await keys.expectFocus("tab", "Result");
      await expect(page.getByText(/^Not shown/)).toBeVisible();
      await keys.open("link", "All calls", { back: true });
      await expect(page.getByLabel("Filter")).toHaveValue("end:failed");
    },
  },
  {
    screen: "Discover, a bundle in and out",
    walk: async (keys, page, hub) => {
      const place = bundleOf(hub);
      await keys.press("g", "d");
      await expect(page.getByText("No bundles yet.")).toBeVisible();
      await keys.tabTo("searchbox", /^Search the registry/);
      await keys.type(place);
      await keys.press("Enter");
      await expect(page.getByText("Runs on the hub's machine")).toBeVisible();
      await keys.expectTrapped();
      await keys.look();
      await keys.open("button", "Install");
      await expect(page.getByText("Installed The tools 1.0.0")).toBeVisible();
      await keys.escape();
      await keys.expectFocus("searchbox", /^Search the registry/);
      await keys.open("button", "Remove tools");
      await expect(page.getByText('Remove bundle "tools"?')).toBeVisible();
      await keys.look();
      await keys.open("button", "Remove");
      await expect(page.getByText("No bundles yet.")).toBeVisible();
    },
  },
  {
    screen: "Settings, a theme and a token",
    walk: async (keys, page) => {
      const html = page.locator("html");
      await keys.press("g", "s");
      await keys.tabTo("radio", "System");
      await keys.press("ArrowDown");
      await expect(html).toHaveAttribute("data-theme", "light");
      await keys.look();
      await keys.press("ArrowDown");
      await expect(html).toHaveAttribute("data-theme", "dark");
      await keys.look();
      await keys.open("button", "New token");
      await keys.expectFocus("textbox", "Name");
      await keys.type("editor");
      await keys.press("Enter");
      await expect(page.getByText("It is shown only now.", { exact: false })).toBeVisible();
      await keys.open("button", "Revoke");
      await keys.expectTrapped();
      await keys.open("button", "Revoke");
      await expect(page.getByText("No tokens.", { exact: false })).toBeVisible();
      await expect(page.getByRole("dialog")).toBeHidden();
    },
  },
];

walkThrough(JOURNEYS);
