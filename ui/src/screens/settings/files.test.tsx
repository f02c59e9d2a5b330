import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { WorkspaceFile } from "@/api/types.gen";
import { BASE, fakeHub, open } from "@/test-kit";

const file = (name: string, more: Partial<WorkspaceFile> = {}): WorkspaceFile => ({
  id: name,
  name,
  mime_type: "text/plain",
  chars: 14,
  is_own: true,
  removable: true,
  created_at: 0,
  ...more,
});
const TABLE = {
  ...BASE,
  "GET /api/tokens": [],
  "GET /api/mcp/oauth-tokens": [],
  "GET /api/tabs": { browsers: [], tabs: [], remembered: [], relay: { state: "off" } },
};

test("texts are added one request each, and what is no text is named and not sent", async () => {
  const hub = fakeHub({
    ...TABLE,
    "GET /api/workspaces/w/files": [],
    "POST /api/workspaces/w/files": file("oak.md"),
  });
  open("/settings");
  const picture = new File([new Uint8Array([0xff, 0xfe])], "picture.png", { type: "image/png" });
  await screen.findByText(/^No files/);
  await userEvent.upload(screen.getByLabelText("Files to add"), [
    new File(["The oak is old"], "oak.md"),
    picture,
  ]);
  expect(await screen.findByText("oak.md")).toBeTruthy();
  expect((await screen.findByRole("alert")).textContent).toBe(
    "picture.png was left out: a file is a text of at most 512 KiB",
  );
  const sent = hub.requests.filter((it) => it.what === "POST /api/workspaces/w/files");
  expect(sent.map((it) => JSON.parse(it.body))).toEqual([{ name: "oak.md", text: "The oak is old" }]);
  expect(hub.requests.filter((it) => it.what === "GET /api/workspaces/w/files")).toHaveLength(1);
});

test("a file is removed by whoever may, and nobody else is offered to", async () => {
  const hub = fakeHub({
    ...TABLE,
    "GET /api/workspaces/w/files": [file("ash.md", { is_own: false, removable: false }), file("oak.md")],
    "DELETE /api/workspaces/w/files/oak.md": undefined,
  });
  open("/settings");
  await userEvent.click(await screen.findByRole("button", { name: "Remove oak.md" }));
  expect(screen.queryByRole("button", { name: "Remove ash.md" })).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Remove" }));
  await waitFor(() => expect(screen.queryByText("oak.md")).toBeNull());
  expect(screen.getByText("ash.md")).toBeTruthy();
  expect(hub.sent("DELETE")).toEqual(["DELETE /api/workspaces/w/files/oak.md"]);
});
