import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { metaQuery } from "@/api/queries";
import { BASE, entry, fakeHub, open, tool, whole } from "@/test-kit";

const META = {
  id: "s-github",
  name: "github",
  description: "",
  kind: "external",
  icon: "terminal",
  fetched_at: 0,
  age_s: 2,
  methods: [
    { name: "search_code", description: "Finds code", signature: "search_code(q: string)", inputSchema: {} },
  ],
};
const TABLE = {
  ...BASE,
  "GET /api/mcp/registry": [
    entry("github"),
    entry("notes"),
    entry("calculator", { kind: "builtin", id: "s-calc" }),
  ],
  "GET /api/mcp/meta/s-github": META,
  "GET /api/mcp/instances/github": whole("github", [tool("search_code", "github")]),
};

const row = (name: RegExp) => screen.findByRole("treeitem", { name });

test("the registry is asked for once, however many pages are visited", async () => {
  const hub = fakeHub(TABLE);
  const { router } = open("/mcp");
  await row(/github/);
  for (const to of ["/chat", "/mcp/$id", "/mcp"] as const) {
    await act(() => router.navigate({ to, params: { id: "github" } }));
  }
  expect(hub.sent("/api/mcp/registry")).toHaveLength(1);
});

test("staying on a server for 80 ms asks for its methods, once", async () => {
  const hub = fakeHub(TABLE);
  const { client } = open("/mcp");
  const github = await row(/github/);
  vi.useFakeTimers();
  fireEvent.pointerEnter(github);
  vi.advanceTimersByTime(79);
  expect(hub.sent("/meta/")).toEqual([]);
  fireEvent.pointerLeave(github);
  fireEvent.pointerEnter(github);
  vi.advanceTimersByTime(80);
  vi.useRealTimers();
  await waitFor(() => expect(client.getQueryData(metaQuery("s-github").queryKey)).toBeTruthy());
  fireEvent.pointerEnter(github);
  await new Promise((done) => setTimeout(done, 100));
  expect(hub.sent("/meta/")).toEqual(["GET /api/mcp/meta/s-github"]);
});

test("a server is opened and its method inserted with keys alone", async () => {
  fakeHub(TABLE);
  const { router } = open("/mcp");
  await row(/github/);
  const first = screen.getByRole("tree").querySelector<HTMLElement>("[tabindex='0']");
  act(() => first?.focus());
  await userEvent.keyboard("{ArrowDown}{ArrowRight}");
  await row(/search_code/);
  await userEvent.keyboard("{ArrowDown}{Enter}");
  const box = (await screen.findByLabelText("Message")) as HTMLTextAreaElement;
  expect(router.state.location.pathname).toBe("/chat");
  expect(box.value).toBe("/call github.search_code(…)");
  expect(box.value.slice(box.selectionStart, box.selectionEnd)).toBe("…");
});

test("tools of servers and of the hub itself have different icons with words", async () => {
  fakeHub({
    ...TABLE,
    "GET /api/mcp/meta/s-calc": {
      ...META,
      id: "s-calc",
      kind: "builtin",
      methods: [{ name: "calculator", description: "", signature: "", inputSchema: {} }],
    },
  });
  open("/mcp");
  await userEvent.click(await row(/github/));
  await userEvent.click(await row(/calculator/));
  expect(await screen.findByRole("img", { name: "MCP tool" })).toBeTruthy();
  expect(await screen.findByRole("img", { name: "Toolset tool" })).toBeTruthy();
});

test("what the workspace does not allow is listed with its reason and cannot be inserted", async () => {
  fakeHub({
    ...TABLE,
    "GET /api/mcp/registry": [
      entry("github", { reason: "external servers are not enabled in this workspace" }),
    ],
  });
  open("/mcp");
  expect((await row(/github/)).getAttribute("aria-disabled")).toBe("true");
});

test("typing into the search asks nothing", async () => {
  const hub = fakeHub(TABLE);
  open("/mcp");
  await row(/github/);
  const before = hub.requests.length;
  await userEvent.type(screen.getByLabelText("Find a server or tool"), "git");
  expect(screen.queryByRole("treeitem", { name: /notes/ })).toBeNull();
  expect(hub.requests.length).toBe(before);
});
