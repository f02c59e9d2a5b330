import { fixture } from "./hub";
import { expect, expectAccessible, expectNoSideScroll, expectReadable, test } from "./test";

/** Every screen, and what has to be there before it is looked at. */
const SCREENS: [string, string, RegExp][] = [
  ["Home", "/ui/", /Needs you/],
  ["MCP", "/ui/mcp", /24 h|Name/],
  ["Add", "/ui/mcp?add=npx%20-y%20x", /will run on the hub/],
  ["Available", "/ui/mcp?scope=available", /Available/],
  ["Runner", "/ui/mcp/tools?tool=json_schema_2020_12_tool", /Arguments/],
  ["Prompts", "/ui/mcp/tools?tab=prompts", /test_/],
  ["Resources", "/ui/mcp/tools?tab=resources", /test:/],
  ["Log", "/ui/mcp/tools?tab=log", /Follow/],
  ["Settings of one", "/ui/mcp/tools?tab=settings", /Definition/],
  ["Activity", "/ui/activity", /mcp__tools__fail/],
  ["Admin", "/ui/admin/mcp", /External servers/],
  ["People", "/ui/admin/people", /Role/],
  ["Changes", "/ui/admin/people?tab=changes", /server\.|Nothing was changed/],
  ["Settings", "/ui/settings", /Your data/],
  ["Discover", "/ui/discover", /No bundles yet/],
  ["Chat", "/ui/chat", /No model is set up/],
  ["Chat with a line", "/ui/chat?prompt=/call%20tools.", /Ask something/],
  ["New bud", "/ui/mcp?bud=new", /A model with a purpose/],
  ["Plan", "/ui/plans/new", /Drag a tool here/],
  ["Not found", "/ui/mcp/nobody", /nothing you may see/],
];

/** Widths, each in both themes: only colours differ by those. */
for (const width of [320, 1280]) {
  test(`every screen can be used by everybody, light and dark, at ${width} px`, async ({ page, hub }) => {
    test.slow();
    await hub.add({ tools: fixture("--malformed-tool"), away: { url: "http://127.0.0.1:9/mcp" } });
    await hub.api("/api/mcp/call", { tool: "mcp__tools__fail", arguments: {} });
    await page.setViewportSize({ width, height: 800 });
    for (const [name, path, seen] of SCREENS) {
      await test.step(name, async () => {
        await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
        await page.goto(hub.url + path);
        await expect(page.getByText(seen).first()).toBeAttached();
        await expectAccessible(page);
        await expectNoSideScroll(page);
        await expectReadable(page, "dark");
      });
    }
  });
}
