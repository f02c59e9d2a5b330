import { fixture } from "./hub";
import { expect, test } from "./test";

test("a line calls a tool: composed with the palette, shown at once, and still there after a reload", async ({
  page,
  hub,
  asked,
}) => {
  await hub.add({ one: fixture() });
  await page.goto(`${hub.url}/ui/chat`);
  await page.getByRole("treeitem", { name: /one/ }).press("ArrowRight");
  await page.getByRole("treeitem", { name: "greet" }).waitFor();
  const box = page.getByLabel("Message");
  await box.click();
  asked();
  await box.pressSequentially("/greet");
  await expect(page.getByRole("option", { name: /one\.greet/ })).toBeVisible();
  expect(asked()).toEqual([]);
  await box.press("Enter");
  await expect(box).toHaveValue("/call one.greet(…)");
  await page.keyboard.insertText('name: "Ada"');
  await expect(box).toHaveValue('/call one.greet(name: "Ada")');
  await box.press("Enter");
  await expect(page.getByRole("group", { name: "greet: Done" })).toBeVisible();
  await expect(page.getByText("Hello, Ada!")).toBeVisible();
  expect(asked().filter((it) => !it.startsWith("GET"))).toEqual(["POST /api/chats"]);
  await page.reload();
  await expect(page.getByRole("group", { name: "greet: Done" })).toBeVisible();
});

test("sidebar-insert: a tool that is dropped into the composer is a line, and its form fills it in", async ({
  page,
  hub,
}) => {
  await hub.add({ one: fixture() });
  await page.goto(`${hub.url}/ui/chat`);
  await page.getByRole("treeitem", { name: /one/ }).press("ArrowRight");
  const box = page.getByLabel("Message");
  await page.getByRole("treeitem", { name: "greet" }).dragTo(box);
  await expect(box).toHaveValue("/call one.greet(…)");
  const selected = () => page.evaluate(() => getSelection()?.toString());
  await expect.poll(selected).toBe("…");
  await box.press("Enter");
  await page.getByRole("dialog").getByLabel("name").fill("Bo");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await expect(page.getByText("Hello, Bo!")).toBeVisible();
});

test("a plan of five nodes runs in two branches, and a failure skips only what follows from it", async ({
  page,
  hub,
}) => {
  await hub.add({ one: fixture() });
  const greet = (id: string, name: string) => ({ id, tool: "mcp__one__greet", args: { name } });
  const plan = await hub.api<{ id: string }>("/api/plans", {
    name: "Morning",
    graph: {
      nodes: [
        greet("a", "Ada"),
        greet("b", "{{a}}"),
        { id: "c", tool: "mcp__one__fail", args: {} },
        greet("d", "{{b}}"),
        greet("e", "{{c}}"),
      ],
      edges: [{ from: "a", to: "c" }],
    },
  });
  await page.goto(`${hub.url}/ui/plans/${plan.id}`);
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByText(/Ran to its end/)).toContainText("3 done");
  await expect(page.getByRole("button", { name: /^d, Done/ })).toBeVisible();
  await expect(page.getByRole("button", { name: /^c, Failed/ })).toBeVisible();
  await page.getByRole("button", { name: /^e, Skipped/ }).click();
  await expect(page.getByText("What it waits for did not come.")).toBeVisible();
});

test("a node is made and wired with keys alone", async ({ page, hub }) => {
  await hub.add({ one: fixture() });
  await page.goto(`${hub.url}/ui/plans/new`);
  await page.getByRole("treeitem", { name: /one/ }).press("ArrowRight");
  const greet = page.getByRole("treeitem", { name: "greet" });
  await greet.press("Enter");
  await greet.press("Enter");
  await page.getByRole("button", { name: /^greet2/ }).press("Enter");
  await page.getByRole("button", { name: "Wire" }).press("Enter");
  await expect(page.getByRole("button", { name: /^greet2, after greet/ })).toBeVisible();
  await page.getByLabel("Name of the plan").fill("Twice");
  await page.getByRole("button", { name: "Save" }).press("Enter");
  await expect(page).toHaveURL(/plans\/(?!new)/);
});

test("a tool that is dragged onto the canvas of a plan is a node where it was let go", async ({
  page,
  hub,
}) => {
  await hub.add({ one: fixture() });
  await page.goto(`${hub.url}/ui/plans/new`);
  await page.getByRole("treeitem", { name: /one/ }).press("ArrowRight");
  const tool = page.getByRole("treeitem", { name: "greet" });
  await expect(tool).toHaveAttribute("draggable", "true");
  const board = page.getByRole("group", { name: "Graph of the plan" });
  // It takes what is dropped once it says so.
  await expect(board.locator("[data-drop-target-for-element]")).toBeVisible();
  await tool.dragTo(board, { targetPosition: { x: 360, y: 240 } });
  const node = page.getByRole("button", { name: "greet", exact: true });
  await expect(node).toBeVisible();
  const distance = async () => {
    const [frame, box] = [await board.boundingBox(), await node.boundingBox()];
    if (!frame || !box) return Number.POSITIVE_INFINITY;
    return Math.hypot(box.x + box.width / 2 - frame.x - 360, box.y + box.height / 2 - frame.y - 240);
  };
  await expect.poll(distance).toBeLessThan(4);
  await page.getByLabel("Name of the plan").fill("Dragged");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page).toHaveURL(/plans\/(?!new)/);
  await page.reload();
  await expect.poll(distance).toBeLessThan(4);
});
