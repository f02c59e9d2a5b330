// An MCP client on the TypeScript SDK v2 that answers what it is asked.
//
//   node ts-ask-client.mjs URL TOOL [JSON-ARGS] [--era legacy|modern] [--key KEY] [--cancel] [--decline]
//
// Prints one JSON line {protocol, result, asked, progress, error}: the questions in their order, the progress values
// seen. With --cancel the call is given up at its first progress. It ends when the server has had time to notice.

import { parseArgs } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const ERAS = { legacy: "legacy", modern: { pin: "2026-07-28" } };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    era: { type: "string", default: "legacy" },
    key: { type: "string" },
    cancel: { type: "boolean", default: false },
    decline: { type: "boolean", default: false },
  },
});
const [url, tool, json = "{}"] = positionals;

const client = new Client(
  { name: "ts-ask-peer", version: "1.0.0" },
  { versionNegotiation: { mode: ERAS[values.era] }, capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} } },
);
const asked = [];
client.setRequestHandler("elicitation/create", (request) => {
  asked.push({ method: request.method, message: request.params.message });
  return values.decline ? { action: "decline" } : { action: "accept", content: { name: "Ada" } };
});
client.setRequestHandler("sampling/createMessage", (request) => {
  asked.push({ method: request.method, message: request.params.messages[0].content.text });
  return { model: "peer-model", role: "assistant", content: { type: "text", text: "forty-two" } };
});
client.setRequestHandler("roots/list", (request) => {
  asked.push({ method: request.method });
  return { roots: [{ uri: "file:///project", name: "home" }] };
});

const said = { protocol: null, result: null, asked, progress: [], error: null };
try {
  const headers = values.key ? { Authorization: `Bearer ${values.key}` } : {};
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  said.protocol = client.getNegotiatedProtocolVersion();
  const given = new AbortController();
  const onprogress = (it) => {
    said.progress.push(it.progress);
    if (values.cancel) given.abort("enough");
  };
  said.result = await client.callTool({ name: tool, arguments: JSON.parse(json) }, { onprogress, signal: given.signal });
} catch (error) {
  said.error = { code: error.code ?? null, message: String(error.message ?? error) };
} finally {
  if (values.cancel) await new Promise((resolve) => setTimeout(resolve, 300));
  console.log(JSON.stringify(said));
  await client.close().catch(() => {});
}
