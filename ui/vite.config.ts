import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import type { ProxyOptions } from "vite";

import { defineConfig } from "vitest/config";

/** A running hub that `npm run dev` and `npm run preview` pass requests on to. */
const hub = process.env.HUB ?? "http://127.0.0.1:7430";

/** The hub accepts its own page only, so requests of the dev server are sent as if they came from it. */
const toHub: ProxyOptions = {
  target: hub,
  changeOrigin: true,
  configure: (proxy) => proxy.on("proxyReq", (request) => request.setHeader("origin", new URL(hub).origin)),
};
const proxy = { "/api": toHub, "/mcp": toHub, "/ui/login": toHub, "/ui/auth": toHub, "/oauth": toHub };

/** Libraries that every page needs lie in one file; the others come with what uses them. */
const LATER =
  /cmdk|sonner|pragmatic-drag-and-drop|bind-event-listener|raf-schd|@babel\/runtime|@cfworker|@xyflow|@dagrejs|markdown/;
const isShell = (id: string) => id.includes("/node_modules/") && !LATER.test(id);

export default defineConfig({
  base: "/ui/",
  plugins: [react(), tailwindcss()],
  resolve: { alias: { "@": fileURLToPath(new URL("src", import.meta.url)) } },
  server: { proxy },
  preview: { proxy },
  build: {
    manifest: true,
    // The hub compresses once, at build time; inlined files would defeat its content security policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "shell", test: isShell }] } } },
    target: "es2023",
  },
  test: {
    restoreMocks: true,
    projects: [
      {
        extends: true,
        test: {
          name: "lib",
          environment: "node",
          include: ["src/**/*.test.ts"],
          css: { include: [/app\.css/] },
        },
      },
      {
        extends: true,
        test: {
          name: "parts",
          environment: "happy-dom",
          include: ["src/**/*.test.tsx"],
          testTimeout: 30_000,
          setupFiles: ["src/test-setup.ts"],
        },
      },
    ],
  },
});
