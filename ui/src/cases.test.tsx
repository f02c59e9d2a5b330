/** Examples of `/cases` that are about the page, by their id. The hub's tests look here for those they leave out. */

import { cleanup, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { BASE, entry, fakeHub, open } from "@/test-kit";
import file from "../../cases/instances.json";

type Case = { id: string; expect: string };

const cases = file.cases as unknown as Case[];

const SCENARIOS: Record<string, (expected: string) => Promise<void>> = {
  "icon-labels": async (expected) => {
    const names = [...expected.matchAll(/'([^']+)'/g)].map((it) => it[1] ?? "");
    expect(names).toEqual(["MCP tool", "Toolset tool"]);
    const method = (name: string) => [{ name, description: "", signature: `${name}()`, inputSchema: {} }];
    const meta = (name: string) => ({
      ...entry(name),
      fetched_at: 0,
      age_s: 1,
      methods: method(`use_${name}`),
    });
    fakeHub({
      ...BASE,
      "GET /api/mcp/registry": [entry("github"), entry("own", { kind: "builtin" })],
      "GET /api/mcp/meta/s-github": meta("github"),
      "GET /api/mcp/meta/s-own": { ...meta("own"), kind: "builtin" },
    });
    open("/mcp");
    const shapes = new Set<string>();
    for (const [server, name] of [
      ["github", names[0]],
      ["own", names[1]],
    ]) {
      await userEvent.click(await screen.findByRole("treeitem", { name: new RegExp(`${server}`) }));
      const row = within(await screen.findByRole("treeitem", { name: new RegExp(`use_${server}`) }));
      shapes.add(row.getByRole("img", { name }).innerHTML);
    }
    expect(shapes.size, "drawn differently, not only coloured").toBe(2);
  },
  "forms-offer-http-only": async (expected) => {
    expect(expected).toContain("streamable_http");
    const hub = fakeHub(BASE);
    for (const [path, field, button] of [
      ["/mcp?add=", "Configuration", "Add & Discover Tools"],
      ["/admin/mcp?add=", "URL", "Add"],
    ] as const) {
      open(path);
      const box = await screen.findByLabelText(field);
      const form = within(box.closest<HTMLElement>("form, [role=dialog]") as HTMLElement);
      expect(form.getByRole("button", { name: button })).toBeTruthy();
      for (const role of ["combobox", "radio", "listbox"])
        expect(form.queryAllByRole(role), role).toEqual([]);
      expect(form.queryByText(/\bsse\b|server-sent/i)).toBeNull();
      if (button === "Add") {
        await userEvent.type(box, "https://api.example.com/mcp");
        await userEvent.click(form.getByRole("button", { name: button }));
        const sent = hub.requests.find((it) => it.what === "POST /api/mcp/servers");
        // No transport is named, and an https address is streamable HTTP to the hub.
        expect(Object.keys(JSON.parse(sent?.body ?? "{}"))).toEqual(["workspaceId", "name", "endpoint"]);
      }
      cleanup();
    }
  },
};

for (const [id, run] of Object.entries(SCENARIOS)) {
  test(`instances ${id}`, async () => {
    const found = cases.find((it) => it.id === id);
    expect(found).toBeTruthy();
    await run(found?.expect ?? "");
  });
}
