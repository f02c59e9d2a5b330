// An MCP server on the TypeScript SDK v2 over stdio, as a yardstick: `echo`, and as many tools like it as are wanted.
//
//   node ts-server.mjs [TOOLS]
//
// The SDK is looked for in the folder of the test peers, named by TOOLGROVE_TEST_PEERS.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const from = createRequire(join(process.env.TOOLGROVE_TEST_PEERS, "package.json"));
const load = (name) => import(pathToFileURL(from.resolve(name)).href);
const { McpServer } = await load("@modelcontextprotocol/server");
const { StdioServerTransport } = await load("@modelcontextprotocol/server/stdio");
const z = await load("zod");

const tools = Number(process.argv[2] ?? 10);
const server = new McpServer({ name: "ts-yardstick", version: "1.0.0" });
for (let place = 0; place < tools; place++) {
  server.registerTool(
    place === 0 ? "echo" : `echo_${String(place).padStart(5, "0")}`,
    {
      description: "Gives back the text it is given, unchanged, and reports progress if it is asked to.",
      inputSchema: z.object({
        text: z.string().describe("What is to be given back"),
        steps: z.number().int().min(0).optional().describe("How often progress is reported"),
      }),
      annotations: { readOnlyHint: true },
    },
    ({ text }) => ({ content: [{ type: "text", text }] }),
  );
}
await server.connect(new StdioServerTransport());
