// An MCP server on the TypeScript SDK v2 whose tools need something of the client, over Streamable HTTP on 127.0.0.1.
//
//   node ts-ask-server.mjs [--port N] [--era both|modern]
//
// Prints `listening on http://127.0.0.1:PORT/mcp`. Tools: `ask` (a form), `sample` (a model), `slow` (reports progress
// until it is done or cancelled), `cancelled` (how many were).

import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { acceptedContent, createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";

const { values } = parseArgs({
  options: { port: { type: "string", default: "0" }, era: { type: "string", default: "modern" } },
});

const text = (it) => ({ content: [{ type: "text", text: it }] });
let cancelled = 0;

function grove() {
  const server = new McpServer({ name: "ts-ask", version: "1.0.0" });

  const person = z.object({ name: z.string() });
  server.registerTool("ask", { description: "Asks for a name", inputSchema: z.object({}) }, (_args, ctx) => {
    const answer = ctx.mcpReq.inputResponses?.who;
    if (answer === undefined) {
      return inputRequired({
        inputRequests: { who: inputRequired.elicit({ message: "Who are you?", requestedSchema: person }) },
      });
    }
    const content = acceptedContent(ctx.mcpReq.inputResponses, "who", person);
    return text(content ? `Hello, ${content.name}!` : `No name: ${answer.action}`);
  });

  server.registerTool("sample", { description: "Asks the model", inputSchema: z.object({}) }, (_args, ctx) => {
    const answer = ctx.mcpReq.inputResponses?.thought;
    if (answer === undefined) {
      const messages = [{ role: "user", content: { type: "text", text: "What is it?" } }];
      return inputRequired({
        inputRequests: { thought: inputRequired.createMessage({ messages, maxTokens: 100 }) },
      });
    }
    return text(`${answer.model} says ${answer.content.text}`);
  });

  server.registerTool(
    "slow",
    { description: "Reports progress, then answers", inputSchema: z.object({ steps: z.number().int(), ms: z.number().int() }) },
    async ({ steps, ms }, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (let step = 1; step <= steps; step++) {
        await new Promise((resolve) => setTimeout(resolve, ms));
        if (ctx.mcpReq.signal.aborted) {
          cancelled += 1;
          break;
        }
        if (progressToken === undefined) continue;
        const params = { progressToken, progress: step, total: steps };
        await ctx.mcpReq.notify({ method: "notifications/progress", params });
      }
      return text(`done after ${steps} steps`);
    },
  );

  server.registerTool("cancelled", { description: "How many were cancelled", inputSchema: z.object({}) }, () => text(String(cancelled)));

  return server;
}

const answer = toNodeHandler(createMcpHandler(grove, { legacy: values.era === "modern" ? "reject" : "stateless" }));
const http = createServer((req, res) => answer(req, res));
http.listen(Number(values.port), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${http.address().port}/mcp`);
});
