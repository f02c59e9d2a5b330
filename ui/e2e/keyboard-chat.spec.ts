/** Chats, buds and plans, with keys alone. */

import { fixture, type Hub } from "./hub";
import { type Journey, Keys, NARROW, walkThrough } from "./keys";
import { calls, gate, says, test as scripted } from "./model";
import { expect } from "./test";

const bench = (hub: Hub) => hub.add({ bench: fixture() });

/** Out of the registry in the menu, which goes away with it. */
async function pickGreet(keys: Keys): Promise<void> {
  await keys.tabTo("treeitem", /^Servers/);
  await keys.arrowTo("treeitem", /bench/);
  await keys.press("ArrowRight");
  await keys.arrowTo("treeitem", /greet/);
  await keys.press("Enter");
  await expect(keys.page.getByRole("dialog")).toBeHidden();
}

const JOURNEYS: Journey[] = [
  {
    screen: "chat without a model, where a line calls a tool",
    world: bench,
    walk: async (keys, page) => {
      await keys.press("g", "c");
      await keys.expectFocus("textbox", "Message");
      await expect(page.getByText("No model is set up")).toBeVisible();
      await keys.type("/bench");
      const offered = page.getByRole("listbox", { name: "What to call" }).getByRole("option");
      await expect(offered.and(page.locator("[aria-selected=true]"))).toContainText("bench");
      await keys.look();
      await keys.press("Enter");
      await expect(page.getByLabel("Message")).toHaveValue("/call bench.");
      await keys.type("greet");
      await expect(offered.and(page.locator("[aria-selected=true]"))).toContainText("greet");
      await keys.press("Enter");
      await expect(page.getByLabel("Message")).toHaveValue("/call bench.greet(…)");
      await keys.press("Enter");
      await expect(page.getByRole("dialog", { name: "bench.greet" })).toBeVisible();
      await keys.expectTrapped();
      await keys.write("name", "Ada");
      await keys.press("Enter");
      await expect(page.getByRole("group", { name: "greet: Done" })).toBeVisible();
      await keys.expectFocus("textbox", "Message");
      await keys.look();
      await keys.open("button", "Chats", { back: true });
      await expect(page.getByRole("dialog", { name: "Chats" })).toBeVisible();
      await keys.escape();
      await keys.expectFocus("button", "Chats");
      await keys.open("button", "Menu", { back: true });
      await pickGreet(keys);
      await keys.expectFocus("textbox", "Message");
      await expect(page.locator("textarea:focus")).toHaveValue("/call bench.greet(…)");
    },
  },
  {
    screen: "a bud, written and changed",
    walk: async (keys, page) => {
      await keys.goTo("New bud", /bud=new/);
      await keys.expectFocus("textbox", "Name");
      await keys.type("Poet");
      await keys.write(/^System prompt/, "You are a poet");
      await keys.open("button", "Add method");
      await keys.write("Name of method 1", "rhyme");
      await keys.look();
      await keys.open("button", "Add bud");
      await expect(page.getByRole("link", { name: "Poet", exact: true })).toBeVisible();
      await keys.open("button", "More for Poet");
      await keys.choose("Edit bud");
      await expect(page.getByRole("dialog", { name: "Bud" })).toBeVisible();
      await keys.write(/^Description/, "Writes odes");
      await keys.open("button", "Save");
      await expect(page.getByRole("dialog")).toBeHidden();
    },
  },
  {
    screen: "a plan, drawn and run",
    world: bench,
    walk: async (keys, page) => {
      await keys.goTo("New plan", /\/plans\/new/);
      await expect(page.getByText("Drag a tool here")).toBeVisible();
      await keys.open("button", "Menu", { back: true });
      await pickGreet(keys);
      await keys.expectFocus("button", "Menu");
      await keys.write("Name of the plan", "Morning");
      await keys.open("button", /^greet/);
      await keys.write("name", "Ada");
      await keys.escape();
      await keys.expectFocus("button", /^greet/);
      await keys.open("button", "Run", { back: true });
      await expect(page.getByText(/Ran to its end/)).toContainText("1 done");
      await keys.look();
    },
  },
];

walkThrough(JOURNEYS);

scripted.use(NARROW);
scripted(
  "keys alone, at 320 px, in both themes: a chat with a model, asked and stopped",
  async ({ page, hub, model }) => {
    const keys = new Keys(page, hub);
    await bench(hub);
    await expect(page.getByText("Live", { exact: true })).toBeAttached();
    const hungUp = gate();
    model.answers(calls("mcp__bench__greet", '{"name":"Ada"}'), says("She was greeted"), async (pen) => {
      pen.text("Half an ", "answer");
      await pen.hungUp;
      hungUp.open();
    });
    await keys.press("g", "c");
    await keys.expectFocus("textbox", "Message");
    await keys.open("button", "Model");
    await keys.expectFocus("combobox", "Model");
    await keys.type("scripted/m");
    await keys.press("Enter");
    await keys.expectFocus("button", "scripted/m");
    await keys.open("button", /^Tools of this chat/);
    await keys.open("switch", "bench is in this chat");
    await expect(page.getByText(/[1-9]\d* tools, about/)).toBeVisible();
    await keys.escape();
    await keys.expectFocus("button", /^Tools of this chat/);
    await keys.write("Message", "Greet Ada", { back: true });
    await keys.press("Enter");
    await expect(page.getByRole("group", { name: "greet: Done" })).toBeVisible();
    await expect(page.getByText("She was greeted")).toBeVisible();
    await expect(page.getByRole("button", { name: "Send", exact: true })).toBeVisible();
    await keys.look();
    await keys.type("Tell me");
    await keys.press("Enter");
    await expect(page.getByRole("article", { name: "Answer" }).last()).toContainText("Half an answer");
    await keys.press("Escape");
    await expect(page.getByRole("article", { name: "Answer" }).last()).toContainText("Stopped");
    await hungUp.opened;
  },
);
