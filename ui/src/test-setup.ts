import { cleanup, configure } from "@testing-library/react";
import { afterEach, vi } from "vitest";

// Screens come when they are wanted, and on a busy machine that takes a moment.
configure({ asyncUtilTimeout: 8000 });

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});
