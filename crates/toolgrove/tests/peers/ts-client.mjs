// An MCP client on the TypeScript SDK v2: connects, lists every tool, calls one if asked.
//
//   node ts-client.mjs URL [TOOL [JSON-ARGS]] [--era legacy|modern|auto] [--key KEY] [--progress]
//   node ts-client.mjs --stdio [TOOL [JSON-ARGS]] [--era …] -- COMMAND ARG…
//
// Prints one JSON line {protocol, tools, result, progress}: the negotiated revision, the sorted tool names, the result
// of the call (null without one) and the progress values seen. A failure is {error: {code, message, data}} and exit 1.

import { parseArgs } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const ERAS = { legacy: "legacy", modern: { pin: "2026-07-28" }, auto: "auto" };

const split = process.argv.indexOf("--");
const own = process.argv.slice(2, split < 0 ? undefined : split);
const child = split < 0 ? [] : process.argv.slice(split + 1);
const { values, positionals } = parseArgs({
  args: own,
  allowPositionals: true,
  options: {
    era: { type: "string", default: "auto" },
    key: { type: "string" },
    stdio: { type: "boolean", default: false },
    progress: { type: "boolean", default: false },
  },
});

const url = values.stdio ? undefined : positionals.shift();
const [tool, json = "{}"] = positionals;
const mode = ERAS[values.era];
if (mode === undefined || (values.stdio ? child.length === 0 : url === undefined)) {
  console.error("usage: ts-client.mjs URL [TOOL [JSON-ARGS]] [--era legacy|modern|auto] [--key KEY] [--progress]");
  process.exit(2);
}

const transport = values.stdio
  ? new StdioClientTransport({ command: child[0], args: child.slice(1), env: process.env, stderr: "inherit" })
  : new StreamableHTTPClientTransport(new URL(url), {
      requestInit: values.key ? { headers: { Authorization: `Bearer ${values.key}` } } : undefined,
    });
const client = new Client({ name: "ts-peer", version: "1.0.0" }, { versionNegotiation: { mode } });

try {
  await client.connect(transport);
  const { tools } = await client.listTools();
  const progress = [];
  const onprogress = values.progress ? (it) => progress.push(it.progress) : undefined;
  const result = tool ? await client.callTool({ name: tool, arguments: JSON.parse(json) }, { onprogress }) : null;
  const protocol = client.getNegotiatedProtocolVersion();
  console.log(JSON.stringify({ protocol, tools: tools.map((it) => it.name).sort(), result, progress }));
} catch (error) {
  console.log(JSON.stringify({ error: { code: error.code, message: error.message, data: error.data } }));
  process.exitCode = 1;
} finally {
  await client.close().catch(() => {});
}
