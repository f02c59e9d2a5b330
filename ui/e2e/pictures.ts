/** The pictures of the documents: every screen of the demo world in both themes. `cargo xtask screenshots` runs it. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Page } from "@playwright/test";
import { Extension } from "./extension";
import type { Hub } from "./hub";
import { calls, type Model, says, startModel } from "./model";
import { comeToRest, test } from "./test";

const OUT = resolve(process.env.PICTURES ?? join(import.meta.dirname, "../../docs/pictures"));
/** For a look at other widths, and at some screens only; neither is part of the documents. */
const WIDTH = Number(process.env.WIDTH ?? 1280);
const ONLY = process.env.ONLY?.split(",");

type Shot = {
  name: string;
  path: string;
  seen: RegExp | string;
  before?: (page: Page, hub: Hub) => Promise<void>;
  /** The part that is shown; the whole window if it is missing. */
  part?: string;
};

const run = async (page: Page) => {
  await page.getByRole("button", { name: "Run", exact: true }).click();
};

const SHOTS: Shot[] = [
  { name: "home", path: "/ui/", seen: "Needs you" },
  {
    name: "mcp",
    path: "/ui/mcp",
    seen: "Needs an API key",
    before: async (page) => {
      await page.getByRole("button", { name: "Tools of weather" }).click();
      await page.getByRole("switch", { name: "forecast is on" }).waitFor();
    },
  },
  {
    name: "add",
    path: `/ui/mcp?add=${encodeURIComponent("npx -y @modelcontextprotocol/server-everything")}`,
    seen: "will run on the hub",
  },
  {
    name: "runner",
    path: `/ui/mcp/weather?tool=forecast&args=${Buffer.from('{"city":"Lima","days":3}').toString("base64url")}`,
    seen: "Arguments",
    before: async (page) => {
      await run(page);
      await page.getByText("Lima").last().waitFor({ timeout: 30_000 });
    },
  },
  {
    name: "question",
    path: "/ui/mcp/bad-day?tool=ask",
    seen: "Arguments",
    before: async (page) => {
      await run(page);
      await page.getByText("Who is there?").waitFor();
    },
  },
  { name: "prompts", path: "/ui/mcp/files?tab=prompts", seen: "Choose a prompt" },
  { name: "resources", path: "/ui/mcp/files?tab=resources", seen: "readme.md" },
  { name: "log", path: "/ui/mcp/bad-day?tab=log", seen: "complaint" },
  { name: "settings-of-one", path: "/ui/mcp/weather?tab=settings", seen: "Definition" },
  { name: "failed", path: "/ui/mcp/broken", seen: "exited with code 1" },
  {
    name: "discover",
    path: "/ui/discover",
    seen: "Discover",
    before: async (page) => {
      await page.getByRole("searchbox").fill("garden");
      await page.getByRole("searchbox").press("Enter");
      await page.getByRole("button", { name: "Look at Garden", exact: true }).click();
      await page.getByText("https://garden.example/mcp").first().waitFor();
    },
  },
  { name: "activity", path: "/ui/activity", seen: "mcp__weather__forecast" },
  {
    name: "call",
    path: `/ui/mcp/bad-day?tool=slow&args=${Buffer.from('{"seconds":0.8}').toString("base64url")}`,
    seen: "Arguments",
    before: async (page) => {
      await run(page);
      await page.getByText("done after 0.8 seconds").waitFor();
      await page.getByRole("link", { name: "Activity" }).click();
      await page.getByRole("link", { name: "mcp__bad-day__slow" }).first().click();
      await page.getByText("Server worked").waitFor();
    },
  },
  {
    name: "admin",
    path: "/ui/admin/mcp",
    seen: "External servers",
    before: async (page) => {
      await page.getByRole("link", { name: "weather" }).first().click();
      await page.getByText("mcp__weather__forecast").waitFor();
    },
  },
  {
    name: "chat",
    path: "/ui/chat",
    seen: "Ask something",
    before: async (page) => {
      await page.getByRole("link", { name: /Should I water/ }).click();
      await page.getByText("Leave the can in the shed").waitFor();
    },
  },
  {
    name: "chat-asks",
    path: "/ui/chat",
    seen: "Ask something",
    before: async (page) => {
      await page.getByRole("link", { name: /Clear the old notes/ }).click();
      await page.getByRole("button", { name: "Allow once" }).waitFor();
    },
  },
  {
    name: "chat-palette",
    path: "/ui/chat",
    seen: "Ask something",
    before: async (page) => {
      for (const server of ["weather", "files"]) {
        await page.getByRole("treeitem", { name: new RegExp(`^${server}`) }).press("ArrowRight");
        await page
          .getByRole("treeitem", { name: /forecast|read_file/ })
          .last()
          .waitFor();
      }
      await page.getByRole("textbox", { name: "Message" }).pressSequentially("/");
      await page.getByRole("listbox").waitFor();
    },
  },
  {
    name: "bud",
    path: "/ui/mcp",
    seen: "Gardener",
    before: async (page) => {
      const buds = await page.evaluate(async () => (await fetch("/api/buds")).json());
      await page.goto(new URL(`/ui/mcp?bud=${buds[0].id}`, page.url()).href);
      await page.getByRole("dialog").getByLabel("Model").waitFor();
    },
  },
  {
    name: "plan",
    path: "/ui/plans/new",
    seen: "Drag a tool here",
    before: async (page) => {
      await page.getByLabel("Plan", { exact: true }).selectOption("Morning round");
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByText("Ran to its end").waitFor();
      await page.getByRole("button", { name: /^advice, Done/ }).click();
      await page.getByText("No frost").first().waitFor();
    },
  },
  { name: "people", path: "/ui/admin/people", seen: "Only you" },
  { name: "workspaces", path: "/ui/admin/people?tab=workspaces", seen: "New workspace" },
  { name: "changes", path: "/ui/admin/people?tab=changes", seen: "workspace" },
  { name: "settings", path: "/ui/settings", seen: "Your data" },
  {
    name: "browser",
    path: "/ui/settings",
    seen: "Pair a browser",
    before: async (page, hub) => {
      const { code } = await hub.api<{ code: string }>("/api/tabs/pair", {});
      const browser = await Extension.pair(hub.url, code);
      browser.show(
        "https://shop.example.com/cart",
        "https://shop.example.com/tea",
        "https://tickets.example.com/",
      );
      await page.getByText("3 tabs with tools, 2 shared sites open").waitFor();
    },
    part: "#browser",
  },
  {
    name: "palette",
    path: "/ui/mcp",
    seen: "Needs an API key",
    before: async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").waitFor();
    },
  },
];

/** A registry with a few entries, so that there is something to discover. */
const ENTRIES = [
  ["Garden", "Beds, seeds and when to water them", "2.1.0", "https://garden.example/mcp"],
  ["Garden weather", "Frost and rain for the beds of a garden", "0.9.3", "https://frost.example/mcp"],
  ["Seed catalogue", "Varieties, sowing times and suppliers", "1.4.0", "https://seeds.example/mcp"],
].map(([title = "", description, version, url]) => ({
  server: {
    name: `example/${title.toLowerCase().replace(" ", "-")}`,
    title,
    description,
    version,
    remotes: [{ type: "streamable-http", url }],
  },
}));

const registry = createServer((request, response) => {
  const name = decodeURIComponent(request.url?.split("/")[3] ?? "");
  const entry = ENTRIES.find((it) => it.server.name === name);
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(entry ?? { servers: ENTRIES, metadata: {} }));
});

/** A day's work, so that there is something to see. */
async function live(hub: Hub) {
  const call = (tool: string, args: object = {}) => hub.api("/api/mcp/call", { tool, arguments: args });
  for (const city of ["Berlin", "Lagos", "Lima", "Osaka", "Atlantis"]) {
    await call("mcp__weather__current", { city });
    await call("mcp__weather__forecast", { city, days: 2 });
  }
  for (let turn = 0; turn < 6; turn++) await call("mcp__bad-day__flaky");
  await call("mcp__files__search", { query: "plants" });
  await call("mcp__files__read_file", { path: "notes/todo.md" });
  await call("mcp__files__delete_file", { path: "nothing.md" });
  await call("mcp__bad-day__complain", { lines: 14 });
  await call("mcp__bad-day__slow", { seconds: 0.8 });
  await call("mcp__bad-day__huge", { kilobytes: 64 });
  await hub.api("/api/workspaces", { name: "greenhouse" });
}

/** A gardener, who asks a model, is asked for leave, and has a plan. */
async function garden(hub: Hub, model: Model) {
  await hub.api("/api/buds", {
    name: "Gardener",
    system_prompt: "You know plants. Be brief, and say what you do not know.",
    model: "local/llama-4",
    temperature: 0.2,
    mcp_config: { servers: ["weather", "files"], disabled_tools: ["files.delete_file"] },
    methods: [
      {
        name: "advise",
        description: "Says what a bed needs today",
        template: "The bed: {{bed}}\nThe weather: {{weather}}",
        inputSchema: {
          type: "object",
          properties: { bed: { type: "string" }, weather: { type: "string" } },
          required: ["bed", "weather"],
        },
      },
    ],
  });
  const say = (text: string) =>
    hub.stream("/api/chats", {
      model: "local/llama-4",
      mcp_config_overrides: { additional_servers: ["weather", "files"] },
      message: { text },
    });
  model.answers(
    (pen) => {
      pen.text("I look at the weather first.");
      pen.call("mcp__weather__forecast", '{"city":"Lima","days":2}');
    },
    says(
      "**Not today.** Rain comes tomorrow, so:\n\n",
      "- Leave the can in the shed\n- Mulch the tomatoes before noon\n\n",
      "| Bed | Water |\n|---|---|\n| Tomatoes | tomorrow |\n| Herbs | a little, at the root |\n",
    ),
  );
  await (await say("Should I water the beds in Lima today?")).text();
  await hub.api("/api/mcp/instances/files/tools/delete_file", { permission: "ask" }, "PATCH");
  model.answers(calls("mcp__files__delete_file", '{"path":"notes/todo.md"}'));
  // It waits for leave, whether anybody listens or not.
  await (await say("Clear the old notes")).body?.cancel();
  model.answers(...Array.from({ length: 2 }, () => says("No frost, so the beans may go out.")));
  await hub.api("/api/plans", {
    name: "Morning round",
    graph: {
      nodes: [
        { id: "weather", tool: "mcp__weather__current", args: { city: "Lima" } },
        { id: "notes", tool: "mcp__files__read_file", args: { path: "notes/todo.md" } },
        {
          id: "advice",
          tool: "mcp__Gardener__advise",
          args: { bed: "{{notes}}", weather: "{{weather}}" },
        },
        { id: "found", tool: "mcp__files__search", args: { query: "{{notes}}" } },
        { id: "later", tool: "mcp__weather__forecast", args: { city: "Atlantis", days: 2 } },
      ],
      edges: [{ from: "weather", to: "later" }],
    },
  });
}

let model: Model;

test.use({
  // biome-ignore lint/correctness/noEmptyPattern: a fixture says what it needs, and this one needs nothing
  hubOptions: async ({}, use) => {
    await new Promise<void>((listening) => registry.listen(0, "127.0.0.1", listening));
    const { port } = registry.address() as AddressInfo;
    model = await startModel("local");
    const more = `[sources]\nregistry = "http://127.0.0.1:${port}"\n${model.config}`;
    await use({ demo: true, more, place: join(tmpdir(), "pictures") });
    registry.close();
    await model.stop();
  },
  viewport: { width: WIDTH, height: 800 },
  locale: "en-GB",
});

test("pictures", async ({ page, hub }) => {
  test.setTimeout(600_000);
  await live(hub);
  await garden(hub, model);
  for (const { name, path, seen, before, part } of SHOTS) {
    if (ONLY && !ONLY.includes(name)) continue;
    await test.step(name, async () => {
      await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
      await page.goto(hub.url + path);
      await page.getByText(seen).filter({ visible: true }).first().waitFor();
      await before?.(page, hub);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await comeToRest(page);
        const shown = part ? page.locator(part) : page;
        await shown.screenshot({ path: join(OUT, `${name}-${colorScheme}.png`), animations: "disabled" });
      }
    });
  }
});
