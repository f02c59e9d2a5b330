import { act, screen } from "@testing-library/react";
import { Profiler } from "react";
import { expect, test, vi } from "vitest";
import { BASE, fakeHub, open } from "@/test-kit";

const commits = vi.hoisted(() => ({ count: 0 }));

vi.mock("./registry", async (original) => {
  const { Registry } = await original<typeof import("./registry")>();
  const counted = () => {
    commits.count++;
  };
  return {
    Registry: () => (
      <Profiler id="registry" onRender={counted}>
        <Registry />
      </Profiler>
    ),
  };
});

test("going from chat to chat commits nothing in the registry", async () => {
  const hub = fakeHub(BASE);
  const { router } = open("/chat/1");
  await screen.findByRole("treeitem", { name: /github/ });
  await screen.findByLabelText("Message");
  const asked = () => hub.sent("/api/mcp/").length;
  const before = { commits: commits.count, requests: asked() };
  expect(before.commits).toBeGreaterThan(0);
  for (const id of ["2", "3", "4"]) await act(() => router.navigate({ to: "/chat/$id", params: { id } }));
  expect(router.state.location.pathname).toContain("/4");
  expect({ commits: commits.count, requests: asked() }).toEqual(before);
});
