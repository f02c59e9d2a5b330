import { fixture, type Hub } from "./hub";
import { expect, expectAccessible, expectNoSideScroll, test } from "./test";

/** Every screen, and what has to be there before it is looked at. */
const SCREENS: [string, string, RegExp][] = [
  ["Home", "/ui/", /Connect a client/],
  ["MCP", "/ui/mcp", /24 h|Name/],
  ["Add", "/ui/mcp?add=npx%20-y%20x", /will run on the hub/],
  ["Available", "/ui/mcp?scope=available", /Available/],
  ["Runner", "/ui/mcp/tools?tool=json_schema_2020_12_tool", /Arguments/],
  ["Prompts", "/ui/mcp/tools?tab=prompts", /Prompts/],
  ["Resources", "/ui/mcp/tools?tab=resources", /Resources/],
  ["Log", "/ui/mcp/tools?tab=log", /Log/],
  ["Settings of one", "/ui/mcp/tools?tab=settings", /Definition/],
  ["Activity", "/ui/activity", /in 24 h/],
  ["Admin", "/ui/admin/mcp", /External servers/],
  ["People", "/ui/admin/people", /Invite/],
  ["Changes", "/ui/admin/people?tab=changes", /server\.import|Nothing was changed/],
  ["Settings", "/ui/settings", /Tokens/],
  ["Chat", "/ui/chat", /Chat comes with buds/],
  ["Not found", "/ui/mcp/nobody", /nothing you may see/],
];

async function world(hub: Hub) {
  await hub.add({ tools: fixture("--malformed-tool"), away: { url: "http://127.0.0.1:9/mcp" } });
  await hub.api("/api/mcp/call", { tool: "mcp__tools__fail", arguments: {} });
}

for (const theme of ["light", "dark"] as const) {
  for (const width of [1280, 320]) {
    test(`every screen can be used by everybody, ${theme}, ${width} px`, async ({ page, hub }) => {
      test.setTimeout(240_000);
      await world(hub);
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 800 });
      for (const [name, path, seen] of SCREENS) {
        await test.step(name, async () => {
          await page.goto(hub.url + path);
          await expect(page.getByText(seen).first()).toBeAttached();
          await page.waitForTimeout(300);
          await expectAccessible(page);
          await expectNoSideScroll(page);
        });
      }
    });
  }
}
