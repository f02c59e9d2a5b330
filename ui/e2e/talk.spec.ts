/** Chats and plans with a model that says what the test has written for it. */

import type { Page } from "@playwright/test";
import { fixture, type Hub } from "./hub";
import { calls, gate, says, test as scripted } from "./model";
import { expect } from "./test";

const POET = '[bud.Poet]\nsystem_prompt = "You are a poet"\nmodel = "scripted/m"\n';

const test = scripted.extend({
  hubOptions: async ({ model }, use) => {
    await use({ more: model.config + POET });
  },
});

const GREET = "mcp__one__greet";
const ADA = '{"name":"Ada"}';

/** A chat with a model and the tools of `one`, and its page. */
async function openChat(page: Page, hub: Hub): Promise<void> {
  await hub.add({ one: fixture() });
  const chat = await hub.api<{ id: string }>("/api/chats", {
    model: "m",
    mcp_config_overrides: { additional_servers: ["one"] },
  });
  await page.goto(`${hub.url}/ui/chat/${chat.id}`);
  await expect(page.getByLabel(/^Tools of this chat: [1-9]/)).toBeVisible();
}

async function say(page: Page, text: string): Promise<void> {
  const box = page.getByRole("textbox", { name: "Message" });
  await box.fill(text);
  await box.press("Enter");
}

/** The turn is over: something else may be said. */
const expectReady = (page: Page) =>
  expect(page.getByRole("button", { name: "Send", exact: true })).toBeVisible();

const card = (page: Page, name: string) => page.getByRole("group", { name });
const lastAnswer = (page: Page) => page.getByRole("article", { name: "Answer" }).last();

test("a model's wish streams into a card, and a reload in the middle shows the truth", async ({
  page,
  hub,
  model,
  asked,
}) => {
  const [written, heard] = [gate(), gate()];
  model.answers(
    async (pen) => {
      pen.call(GREET, '{"na');
      await written.opened;
      pen.more('me":"A', 'da"}');
    },
    async (pen) => {
      pen.text("She was ", "**greeted**");
      await heard.opened;
      pen.text(" kindly");
    },
  );
  await hub.add({ one: fixture() });
  await page.goto(`${hub.url}/ui/chat`);
  await page.getByRole("button", { name: "Model" }).click();
  await page.getByRole("dialog").getByLabel("Model").fill("scripted/m");
  await page.getByRole("button", { name: "Use it" }).click();
  await page.getByRole("button", { name: /^Tools of this chat/ }).click();
  await page.getByRole("switch", { name: "one is in this chat" }).click();
  await expect(page.getByText(/[1-9]\d* tools, about/)).toBeVisible();
  await page.keyboard.press("Escape");
  asked();
  await say(page, "Greet Ada");
  await expect(card(page, "greet: Writing")).toContainText('{"na');
  written.open();
  await expect(card(page, "greet: Done")).toContainText("Hello, Ada!");
  await expect(lastAnswer(page)).toContainText("She was greeted");
  expect(asked().filter((it) => !it.startsWith("GET"))).toEqual(["POST /api/chats"]);

  await page.reload();
  await expect(card(page, "greet: Done")).toBeVisible();
  await expect(lastAnswer(page)).toContainText("She was greeted");
  await expect(page.getByRole("button", { name: "Stop" })).toBeVisible();
  heard.open();
  await expect(lastAnswer(page)).toContainText("She was greeted kindly");
  await expectReady(page);
  await page.reload();
  await expect(lastAnswer(page)).toContainText("She was greeted kindly");
  await expect(page.getByRole("article", { name: "You" })).toHaveText("Greet Ada");
  expect(model.asked[1]?.messages.at(-1)).toMatchObject({ role: "tool", content: "Hello, Ada!" });
});

test("a tool that needs leave asks in its card, on every page that shows it, until it is answered", async ({
  page,
  hub,
  model,
  context,
}) => {
  await openChat(page, hub);
  await hub.api("/api/mcp/instances/one/tools/greet", { permission: "ask" }, "PATCH");
  const other = await context.newPage();
  await other.goto(page.url());
  await expectReady(other);
  model.answers(calls(GREET, ADA), says("Then not"), calls(GREET, ADA), says("She was greeted"));

  await say(page, "Greet Ada");
  await expect(card(other, "greet: Needs your leave")).toBeVisible();
  await page.reload();
  await card(page, "greet: Needs your leave").getByRole("button", { name: "Deny" }).click();
  for (const it of [page, other]) {
    await expect(card(it, "greet: Denied")).toBeVisible();
    await expect(lastAnswer(it)).toContainText("Then not");
    await expectReady(it);
  }
  await say(other, "Do it");
  await card(page, "greet: Needs your leave").getByRole("button", { name: "Allow once" }).click();
  for (const it of [page, other]) {
    await expect(card(it, "greet: Done")).toContainText("Hello, Ada!");
    await expect(it.getByRole("button", { name: "Allow once" })).toBeHidden();
    await expect(lastAnswer(it)).toContainText("She was greeted");
  }
});

test("leave for a chat outlives the page, and is that chat's alone", async ({ page, hub, model }) => {
  await openChat(page, hub);
  await hub.api("/api/mcp/instances/one/tools/greet", { permission: "ask" }, "PATCH");
  model.answers(
    calls(GREET, ADA),
    says("She was greeted"),
    calls(GREET, '{"name":"Bob"}'),
    says("He was greeted"),
    calls(GREET, ADA),
  );
  await say(page, "Greet Ada");
  await card(page, "greet: Needs your leave").getByRole("button", { name: "Allow in this chat" }).click();
  await expect(lastAnswer(page)).toContainText("She was greeted");
  await expectReady(page);
  await page.reload();
  await expect(lastAnswer(page)).toContainText("She was greeted");
  await say(page, "And Bob");
  await expect(lastAnswer(page)).toContainText("He was greeted");
  await expect(card(page, "greet: Done").last()).toContainText("Hello, Bob!");

  const other = await hub.api<{ id: string }>("/api/chats", {
    model: "m",
    mcp_config_overrides: { additional_servers: ["one"] },
  });
  await page.goto(`${hub.url}/ui/chat/${other.id}`);
  await say(page, "Greet Ada");
  await expect(card(page, "greet: Needs your leave")).toBeVisible();
});

test("what is stopped half-way stays as far as it came: an answer, and a tool", async ({
  page,
  hub,
  model,
}) => {
  await openChat(page, hub);
  const hungUp = gate();
  model.answers(
    async (pen) => {
      pen.text("Half an ", "answer");
      await pen.hungUp;
      hungUp.open();
    },
    calls("mcp__one__sleep", '{"ms":600000}'),
  );
  await say(page, "Tell me");
  await expect(lastAnswer(page)).toContainText("Half an answer");
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(lastAnswer(page)).toContainText("Stopped");
  await hungUp.opened;
  await say(page, "Wait");
  await expect(card(page, "sleep: Running").getByRole("progressbar")).toBeVisible();
  await card(page, "sleep: Running").getByRole("button", { name: "Cancel" }).click();
  await expect(card(page, "sleep: Stopped")).toBeVisible();
  await expectReady(page);
  await page.reload();
  await expect(card(page, "sleep: Stopped")).toBeVisible();
  await expect(page.getByRole("article", { name: "Answer" }).first()).toContainText("Half an answer");
});

test("whatever a bad model says, it ends in a sentence and the chat goes on", async ({
  page,
  hub,
  model,
}) => {
  await openChat(page, hub);
  model.answers(calls(GREET, '{"name": '), says("Let me see"));
  await say(page, "Broken arguments");
  await expect(card(page, "greet: Failed")).toContainText('{"name": ');
  await expect(card(page, "greet: Failed")).toContainText("request.json");
  await expectReady(page);

  model.answers(calls("mcp__one__nothing", "{}"), says("There is none"));
  await say(page, "An unknown tool");
  await expect(card(page, "nothing: Failed")).toContainText("tool.unknown");
  await expectReady(page);

  model.answers(...Array.from({ length: 16 }, () => calls(GREET, ADA)));
  await say(page, "An endless loop");
  await expect(page.getByText("it asked for tools 16 times in a row")).toBeVisible();
  await expect(card(page, "greet: Done")).toHaveCount(16);
  await expectReady(page);

  model.answers(says(...Array.from({ length: 16 }, () => "words ".repeat(10_000))));
  await say(page, "A megabyte");
  await expect(page.getByText("the model said more than 512 KiB")).toBeVisible();
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(lastAnswer(page)).toContainText("ok");
  await expectReady(page);
});

test("a plan of five nodes runs in two branches, each as far as it can, and a bud speaks in a chat", async ({
  page,
  hub,
  model,
}) => {
  await hub.add({ one: fixture() });
  const node = (id: string, tool: string, args: object) => ({ id, tool, args });
  const plan = await hub.api<{ id: string }>("/api/plans", {
    name: "Two poems",
    graph: {
      nodes: [
        node("a", GREET, { name: "Ada" }),
        node("poem", "mcp__Poet__ask", { message: "{{a}}" }),
        node("sung", GREET, { name: "{{poem}}" }),
        node("c", GREET, { name: "{{a}}" }),
        node("e", GREET, { name: "{{c}}" }),
      ],
      edges: [],
    },
  });
  const thought = gate();
  model.answers(
    async (pen) => {
      pen.text("Roses ");
      await thought.opened;
      pen.text("are red");
    },
    (pen) => {
      pen.text("Viol");
      pen.cut();
    },
  );
  const state = (name: string, word: string) =>
    page.getByRole("button", { name: new RegExp(`^${name}, ${word}`) });
  await page.goto(`${hub.url}/ui/plans/${plan.id}`);
  await page.getByRole("button", { name: "Run" }).click();
  // One branch is through while the other still thinks.
  await expect(state("e", "Done")).toBeVisible();
  await expect(state("poem", "Running")).toBeVisible();
  await expect(state("sung", "Waiting")).toBeVisible();
  thought.open();
  await expect(page.getByText(/Ran to its end/)).toContainText("5 done");
  await state("sung", "Done").click();
  await expect(page.getByText("Hello, Roses are red!")).toBeVisible();

  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByText(/Ran to its end/)).toContainText("3 done, 1 failed, 1 skipped");
  await expect(state("sung", "Skipped")).toBeVisible();
  await state("poem", "Failed").click();
  await expect(page.getByText("model.provider")).toBeVisible();

  const spoken = gate();
  model.answers(async (pen) => {
    pen.text("An ode ");
    await spoken.opened;
    pen.text("to Ada");
  });
  await page.goto(`${hub.url}/ui/chat`);
  const box = page.getByRole("textbox", { name: "Message" });
  await box.pressSequentially("@Po");
  await page.getByRole("option", { name: "@Poet" }).waitFor();
  await box.press("Enter");
  await box.pressSequentially("sing");
  await box.press("Enter");
  await expect(card(page, "ask: Running")).toContainText("An ode");
  spoken.open();
  await expect(card(page, "ask: Done")).toContainText("An ode to Ada");
});
