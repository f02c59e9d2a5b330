import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { BASE, fakeHub, instance, json, open, tool, whole } from "@/test-kit";

const row = async (name: string) => {
  const link = await screen.findByRole("link", { name });
  return within(link.closest("tbody") as HTMLElement);
};
const bodies = (hub: ReturnType<typeof fakeHub>, what: string) =>
  hub.requests.filter((it) => it.what === what).map((it) => JSON.parse(it.body || "null"));

test("an empty page says what to do next", async () => {
  fakeHub({ ...BASE, "GET /api/mcp/instances": [] });
  open("/mcp");
  expect(await screen.findByText("No servers yet. Press + to add one.")).toBeTruthy();
});

test("an error is shown where it happened, with its code and hint", async () => {
  fakeHub({
    ...BASE,
    "GET /api/mcp/instances": () =>
      json(
        {
          status: 500,
          code: "hub.internal",
          detail: "something broke inside the hub: disk",
          hint: "read the log",
        },
        500,
      ),
  });
  open("/mcp");
  expect(await screen.findByText("hub.internal")).toBeTruthy();
  expect(screen.getByText("Read the log")).toBeTruthy();
});

test("pasting a URL sends one request, and the new row needs no second one", async () => {
  const made = instance("weather", { health: { level: "ok", state: "ready", summary: "Ready · 2 tools" } });
  const hub = fakeHub({
    ...BASE,
    "POST /api/mcp/import": {
      added: [{ id: made.id, name: "weather", slug: "weather", tools: 2, instance: made }],
      failed: [],
      message_success: "Added: weather (2 tools)",
    },
  });
  open("/mcp?add=");
  await userEvent.click(await screen.findByLabelText("Configuration"));
  await userEvent.paste("https://api.weather.example/mcp");
  expect(screen.getByText("URL")).toBeTruthy();
  await screen.findByRole("treeitem", { name: /github/, hidden: true });
  const before = hub.requests.length;
  await userEvent.click(screen.getByRole("button", { name: "Add & Discover Tools" }));
  await userEvent.click(await screen.findByRole("button", { name: "Done" }));
  expect((await row("weather")).getAllByText("Ready · 2 tools").length).toBeGreaterThan(0);
  expect(hub.requests.slice(before).map((it) => it.what)).toEqual(["POST /api/mcp/import"]);
  expect(JSON.parse(bodies(hub, "POST /api/mcp/import")[0].text)).toEqual({
    weather: { url: "https://api.weather.example/mcp" },
  });
});

test("steps tick while servers are asked, and a failed one can be kept anyway", async () => {
  const events = [
    'event: step\ndata: {"server":"db","step":{"name":"DNS","ok":true,"detail":"127.0.0.1","ms":2}}\n\n',
    'event: step\ndata: {"server":"db","step":{"name":"TCP","ok":false,"detail":"Connection refused","ms":1}}\n\n',
    'event: done\ndata: {"added":[],"failed":[{"name":"db","error":"cannot reach `db`: Connection refused"}],"message_error":"Failed: db: …"}\n\n',
  ];
  const hub = fakeHub({
    ...BASE,
    "POST /api/mcp/import": () =>
      new Response(events.join(""), { headers: { "content-type": "text/event-stream" } }),
  });
  open("/mcp?add=");
  await userEvent.click(await screen.findByLabelText("Configuration"));
  await userEvent.paste('{"db": {"url": "http://127.0.0.1:9/mcp"}, "ok": {"url": "http://127.0.0.1:8/mcp"}}');
  await userEvent.click(screen.getByRole("button", { name: "Add & Discover Tools" }));
  expect(await screen.findByText("TCP")).toBeTruthy();
  expect(screen.getByText("Connection refused")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Save anyway" }));
  await waitFor(() => expect(hub.sent("import")).toHaveLength(2));
  const [, again] = bodies(hub, "POST /api/mcp/import");
  expect(again).toMatchObject({ save_anyway: true });
  expect(Object.keys(JSON.parse(again.text))).toEqual(["db"]);
});

test("a link fills the form and runs nothing; a command is shown whole before it runs", async () => {
  const hub = fakeHub(BASE);
  open(`/mcp?add=${encodeURIComponent("npx -y evil --flag")}`);
  expect(await screen.findByText(/will run on the hub's machine/)).toBeTruthy();
  expect(screen.getByText("npx -y evil --flag", { selector: "li *" })).toBeTruthy();
  expect(hub.sent("import")).toEqual([]);
});

test("a switch sends the wanted state, once, and nothing is asked again", async () => {
  const off = whole("github", [], {
    enabled: false,
    health: { level: "off", state: "disabled", summary: "Off" },
  });
  const hub = fakeHub({ ...BASE, "PATCH /api/mcp/instances/i-github": off });
  open("/mcp");
  const github = await row("github");
  await screen.findByRole("treeitem", { name: /github/ });
  const before = hub.requests.length;
  await userEvent.click(github.getByRole("switch"));
  await waitFor(async () => expect((await row("github")).getAllByText("Off").length).toBeGreaterThan(0));
  expect(hub.requests.slice(before).map((it) => `${it.what} ${it.body}`)).toEqual([
    'PATCH /api/mcp/instances/i-github {"enabled":false}',
  ]);
});

test("a switch that is turned off and at once on again is on, and its server is left alone", async () => {
  let finish = () => {};
  const finished = new Promise<void>((done) => {
    finish = done;
  });
  const off = whole("github", [], {
    enabled: false,
    health: { level: "off", state: "disabled", summary: "Off" },
  });
  const hub = fakeHub({
    ...BASE,
    "PATCH /api/mcp/instances/i-github": async ({ body }: { body: string }) => {
      if (JSON.parse(body).enabled) return whole("github", []);
      await finished;
      return off;
    },
  });
  open("/mcp");
  const github = await row("github");
  await userEvent.click(github.getByRole("switch"));
  await waitFor(() => expect(github.getByRole("switch").getAttribute("aria-checked")).toBe("false"));
  await userEvent.click(github.getByRole("switch"));
  finish();
  await waitFor(() => expect(bodies(hub, "PATCH /api/mcp/instances/i-github")).toHaveLength(2));
  expect(bodies(hub, "PATCH /api/mcp/instances/i-github")).toEqual([{ enabled: false }, { enabled: true }]);
  await waitFor(() => expect(github.getByRole("switch").getAttribute("aria-checked")).toBe("true"));
  expect(hub.requests.some((it) => it.what.includes("/servers/"))).toBe(false);
});

test("tools are switched one by one", async () => {
  const hub = fakeHub({
    ...BASE,
    "GET /api/mcp/instances/i-github": whole("github", [tool("search", "github")]),
    "PATCH /api/mcp/instances/i-github/tools/search": whole("github", [
      tool("search", "github", { enabled: false }),
    ]),
  });
  open("/mcp?scope=mine");
  await userEvent.click((await row("github")).getByRole("button", { name: "Tools of github" }));
  expect(await screen.findByText(/List is|This server offers/)).toBeTruthy();
  expect(hub.sent("GET /api/mcp/instances/i-github")).toHaveLength(1);
});

test("removing asks first and sends one request", async () => {
  const hub = fakeHub({ ...BASE, "DELETE /api/mcp/instances/i-github": undefined });
  open("/mcp");
  const github = await row("github");
  await userEvent.click(github.getByRole("button", { name: "More for github" }));
  await userEvent.click(await screen.findByRole("menuitem", { name: "Remove" }));
  expect(await screen.findByText('Remove server "github"?')).toBeTruthy();
  expect(hub.sent("DELETE")).toEqual([]);
  const before = hub.requests.length;
  await userEvent.click(screen.getByRole("button", { name: "Remove" }));
  expect(await screen.findByText("No servers yet. Press + to add one.")).toBeTruthy();
  expect(hub.requests.slice(before).map((it) => it.what)).toEqual(["DELETE /api/mcp/instances/i-github"]);
});

test("signing in leaves in the same window", async () => {
  const waiting = instance("github", {
    status: "not_ready",
    health: {
      level: "warn",
      state: "sign_in",
      summary: "Sign in to use",
      action: { kind: "sign_in", label: "Sign in" },
    },
  });
  const hub = fakeHub({
    ...BASE,
    "GET /api/mcp/instances": [waiting],
    "POST /api/mcp/instances/i-github/connect": { url: "#provider" },
  });
  open("/mcp");
  const [button] = (await row("github")).getAllByRole("button", { name: "Sign in" });
  await userEvent.click(button as HTMLElement);
  await waitFor(() => expect(hub.sent("connect")).toHaveLength(1));
  await waitFor(() => expect(location.hash).toBe("#provider"));
});
