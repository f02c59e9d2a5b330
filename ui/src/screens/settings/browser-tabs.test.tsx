import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { RelayState } from "@/api/types.gen";
import { BASE, fakeHub, open } from "@/test-kit";

test.each<[RelayState, string]>([
  [{ state: "on", port: 9334, note: "port 9333 is taken" }, "port 9333 is taken"],
  [{ state: "failed", problem: "every port is in use" }, "every port is in use"],
])("what is wrong with the relay's port is said before a page has come: %j", async (relay, said) => {
  fakeHub({
    ...BASE,
    "GET /api/tokens": [],
    "GET /api/mcp/oauth-tokens": [],
    "GET /api/tabs": { browsers: [], tabs: [], remembered: [], relay },
  });
  open("/settings");
  expect(await screen.findByText(said)).toBeTruthy();
  expect(screen.getByText(/No browser is paired/)).toBeTruthy();
});
