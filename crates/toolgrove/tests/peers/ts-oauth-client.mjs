// An MCP client on the TypeScript SDK v2 that signs in with OAuth, calls a tool, renews its token and calls it again.
//
//   node ts-oauth-client.mjs URL TOOL JSON-ARGS --state FILE --redirect URI [--document URL] [--era legacy|modern|auto]
//
// What it is given is kept in FILE, so that another run goes on where this one ended. When a person is needed it
// prints {visit: URL} and reads one line: the address the browser was sent back to. At the end it prints
// {results: [text, text]}; a failure is {error: message} and exit 1.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    state: { type: "string" },
    redirect: { type: "string" },
    document: { type: "string" },
    era: { type: "string", default: "auto" },
  },
});
const [url, tool, json] = positionals;
const mode = { legacy: "legacy", modern: { pin: "2026-07-28" }, auto: "auto" }[values.era];
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

const kept = existsSync(values.state) ? JSON.parse(readFileSync(values.state, "utf8")) : {};
function keep(name, value) {
  kept[name] = value;
  writeFileSync(values.state, JSON.stringify(kept));
}

const expected = "a state of our own";
const provider = {
  redirectUrl: values.redirect,
  clientMetadataUrl: values.document,
  clientMetadata: {
    client_name: "ts-peer",
    redirect_uris: [values.redirect],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  state: () => expected,
  clientInformation: () => kept.client,
  saveClientInformation: (it) => keep("client", it),
  tokens: () => kept.tokens,
  saveTokens: (it) => keep("tokens", it),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (it) => keep("verifier", it),
  discoveryState: () => kept.discovery,
  saveDiscoveryState: (it) => keep("discovery", it),
  invalidateCredentials: (what) => what === "tokens" && keep("tokens", undefined),
  redirectToAuthorization: (it) => console.log(JSON.stringify({ visit: it.href })),
};

async function connect() {
  const client = new Client({ name: "ts-peer", version: "1.0.0" }, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const { value, done } = await lines.next();
    if (done) throw new Error("nobody signed in");
    const { searchParams } = new URL(value);
    if (searchParams.get("state") !== expected) throw new Error("the state is not ours");
    await transport.finishAuth(searchParams);
    return await connect();
  }
}

try {
  const client = await connect();
  const call = async () => (await client.callTool({ name: tool, arguments: JSON.parse(json) })).content[0].text;
  const results = [await call()];
  // As if its hour were over: the hub does not know this token.
  keep("tokens", { ...kept.tokens, access_token: `${kept.tokens.access_token}x` });
  results.push(await call());
  await client.close();
  console.log(JSON.stringify({ results }));
} catch (error) {
  console.log(JSON.stringify({ error: error.message }));
  process.exitCode = 1;
}
process.exit();
