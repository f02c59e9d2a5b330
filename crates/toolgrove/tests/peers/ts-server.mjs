// An MCP server on the TypeScript SDK v2, over Streamable HTTP on 127.0.0.1, for the hub to reach out to.
//
//   node ts-server.mjs [--port N] [--era both|modern]
//
// Prints `listening on http://127.0.0.1:PORT/mcp`. Serves both eras, or with `--era modern` only the modern one.
// Tools `add`, `greet`, `slow` (reports progress), prompt `welcome`, resource `note://hello`.

import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";

const { values } = parseArgs({
  options: { port: { type: "string", default: "0" }, era: { type: "string", default: "both" } },
});

const text = (it) => ({ content: [{ type: "text", text: it }] });

/** A fresh server with the whole surface: the SDK asks for one per request. */
function grove() {
  const server = new McpServer({ name: "ts-peer", version: "1.0.0" });

  server.registerTool(
    "add",
    {
      description: "Adds two numbers",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  );

  server.registerTool(
    "greet",
    { description: "Greets someone by name", inputSchema: z.object({ name: z.string() }) },
    ({ name }) => text(`Hello, ${name}!`),
  );

  server.registerTool(
    "slow",
    {
      description: "Reports progress a few times, then answers",
      inputSchema: z.object({ steps: z.number().int().default(3), ms: z.number().int().default(50) }),
    },
    async ({ steps, ms }, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (let step = 1; step <= steps; step++) {
        await new Promise((resolve) => setTimeout(resolve, ms));
        if (ctx.mcpReq.signal.aborted) break;
        if (progressToken === undefined) continue;
        await ctx.mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress: step, total: steps, message: `step ${step}` },
        });
      }
      return text(`done after ${steps} steps`);
    },
  );

  server.registerPrompt(
    "welcome",
    { description: "A greeting to start from", argsSchema: z.object({ name: z.string() }) },
    ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `Welcome ${name} warmly.` } }] }),
  );

  server.registerResource(
    "hello",
    "note://hello",
    { description: "A short note", mimeType: "text/plain" },
    (uri) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: "Hello from the note" }] }),
  );

  return server;
}

const answer = toNodeHandler(createMcpHandler(grove, { legacy: values.era === "modern" ? "reject" : "stateless" }));
const hostIsLocal = localhostHostValidation();
const originIsLocal = localhostOriginValidation();

const http = createServer((req, res) => {
  if (!hostIsLocal(req, res) || !originIsLocal(req, res)) return;
  if (new URL(req.url, "http://localhost").pathname !== "/mcp") {
    res.writeHead(404).end();
    return;
  }
  answer(req, res);
});

http.listen(Number(values.port), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${http.address().port}/mcp`);
});
