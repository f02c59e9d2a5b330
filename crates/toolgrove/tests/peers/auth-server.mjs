// An authorization server (oidc-provider) and an MCP server (TypeScript SDK v2) that takes its tokens, on two ports of
// 127.0.0.1, for the hub to sign in to.
//
//   node auth-server.mjs [--path /tenant] [--prompt-free]
//
// Prints `listening on http://127.0.0.1:PORT/mcp`. The issuer is `http://127.0.0.1:PORT2[/tenant]`: registration, PKCE,
// resource indicators, refresh tokens that are used once. People sign in under any name on its own pages.
//
// `POST /control` of the MCP server takes JSON and answers with what happened so far:
//   ttl        seconds that access tokens live
//   fail       what the token endpoint does with the next requests: a list of "503", "reset", "hold" (answers, but the
//              answer is kept back), "drop-client" (the client is forgotten first)
//   revoke     "access": tokens given so far are refused by the MCP server; "grants": the provider forgets all grants
//   need       scopes that the tool `write` needs
//   metadata   false: the protected-resource metadata is gone
//   visit      an address: somebody (`login`, else ada) goes there, signs in and consents; the answer's `location` is where
//              they are sent. Everybody has the address `<login>@example.com`, checked unless it begins with `unchecked`

import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { createLocalJWKSet, jwtVerify } from "jose";
import Provider from "oidc-provider";
import * as z from "zod";

const { values } = parseArgs({ options: { path: { type: "string", default: "" } } });

const state = { ttl: 3600, fail: [], need: ["mcp:tools"], refuseBefore: 0, metadata: true };
const seen = { tokens: [], registrations: 0, calls: 0, refused: 0 };
const held = [];
const grants = new Set();

const listen = (handle) =>
  new Promise((resolve) => {
    const server = createServer(handle);
    server.listen(0, "127.0.0.1", () => resolve([server, `http://127.0.0.1:${server.address().port}`]));
  });

const body = async (req) => {
  const parts = [];
  for await (const part of req) parts.push(part);
  return Buffer.concat(parts).toString();
};

// ── the provider ──

let provide = (_, res) => res.writeHead(503).end();
const [, authority] = await listen((req, res) => provide(req, res));
const issuer = `${authority}${values.path}`;
let mcp;

const provider = new Provider(issuer, {
  clientAuthMethods: ["none", "client_secret_basic", "client_secret_post"],
  clients: [
    {
      client_id: "entered",
      client_secret: "entered-secret-of-an-admin",
      application_type: "native",
      redirect_uris: ["http://127.0.0.1/ui/auth/mcp/callback"],
      grant_types: ["authorization_code", "refresh_token"],
    },
    {
      // For people who sign in to the hub itself.
      client_id: "sign-in",
      client_secret: "sign-in-secret-of-the-hub",
      application_type: "native",
      redirect_uris: ["http://127.0.0.1/ui/login/return"],
      grant_types: ["authorization_code"],
    },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"] },
  cookies: { keys: ["for tests"] },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      getResourceServerInfo: (_, resource) => {
        if (resource !== `${mcp}/mcp`) throw new Error(`unknown resource ${resource}`);
        return {
          scope: "mcp:tools mcp:write",
          audience: resource,
          accessTokenFormat: "jwt",
          accessTokenTTL: state.ttl,
          jwt: { sign: { alg: "RS256" } },
        };
      },
    },
    revocation: { enabled: true },
  },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: !id.startsWith("unchecked") }),
  }),
  rotateRefreshToken: () => true,
  ttl: { Grant: 86400, Interaction: 3600, RefreshToken: 86400, Session: 86400 },
});
provider.on("grant.success", (ctx) => grants.add(ctx.oidc.entities.Grant.jti));
provider.on("registration_create.success", () => (seen.registrations += 1));

const answer = provider.callback();
provide = async (req, res) => {
  if (!req.url.startsWith(values.path)) return res.writeHead(404).end();
  req.originalUrl = req.url;
  req.url = req.url.slice(values.path.length) || "/";
  if (req.method !== "POST" || new URL(req.url, issuer).pathname !== "/token") return answer(req, res);
  const form = new URLSearchParams(await body(req));
  req.body = Object.fromEntries(form);
  const how = state.fail.shift();
  const entry = { ...req.body, basic: req.headers.authorization?.startsWith("Basic ") ?? false, accept: req.headers.accept };
  seen.tokens.push(entry);
  entry.status = how ?? 0;
  if (how === "503") return res.writeHead(503).end("come back later");
  if (how === "reset") return req.socket.destroy();
  if (how === "drop-client") await provider.Client.adapter.destroy(req.body.client_id);
  if (how === "hold") {
    // What was decided stays decided; only nobody hears of it.
    const { end } = res;
    res.end = (...rest) => {
      entry.status = res.statusCode;
      held.push(() => end.apply(res, rest));
    };
  } else res.on("finish", () => (entry.status = res.statusCode));
  return answer(req, res);
};

/** Goes to the provider as a browser would, signs in, consents, and says where it was sent in the end. */
async function visit(start, login) {
  const cookies = new Map();
  const go = async (url, form) => {
    const response = await fetch(url, {
      method: form ? "POST" : "GET",
      body: form && new URLSearchParams(form),
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (value) cookies.set(name, value);
      else cookies.delete(name);
    }
    return response;
  };
  let url = start;
  for (let step = 0; step < 20; step++) {
    const response = await go(url);
    let location = response.headers.get("location");
    if (!location) {
      const page = await response.text();
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
      if (!prompt) return { status: response.status, page };
      const action = /action="([^"]+)"/.exec(page)[1];
      const form = prompt === "login" ? { prompt, login, password: "any" } : { prompt };
      location = (await go(new URL(action, url), form)).headers.get("location");
    }
    url = new URL(location, url).href;
    if (!url.startsWith(authority)) return { location: url };
  }
  return { status: 508 };
}

// ── the MCP server ──

const text = (it) => ({ content: [{ type: "text", text: it }] });

function grove() {
  const server = new McpServer({ name: "guarded", version: "1.0.0" });
  const add = { description: "Adds two numbers", inputSchema: z.object({ a: z.number(), b: z.number() }) };
  server.registerTool("add", { ...add, annotations: { readOnlyHint: true } }, ({ a, b }) => text(String(a + b)));
  server.registerTool("write", { description: "Needs more", inputSchema: z.object({}) }, () => text("written"));
  return server;
}

const handle = toNodeHandler(createMcpHandler(grove, { legacy: "stateless" }));
const keys = async () => createLocalJWKSet(await (await fetch(`${issuer}/jwks`)).json());

const challenge = (res, status, parameters) => {
  const metadata = `${mcp}/.well-known/oauth-protected-resource/mcp`;
  const all = { resource_metadata: metadata, ...parameters };
  const line = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
  seen.refused += 1;
  res.writeHead(status, { "www-authenticate": `Bearer ${line.join(", ")}`, "content-type": "application/json" });
  res.end(JSON.stringify({ error: parameters.error ?? "invalid_token" }));
};

/** The claims of a good token; none if it is not good. */
async function claims(req) {
  const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? "")?.[1];
  if (!token) return undefined;
  try {
    const { payload } = await jwtVerify(token, await keys(), { issuer, audience: `${mcp}/mcp` });
    return payload.jti && !refusedTokens.has(payload.jti) ? (known.add(payload.jti), payload) : undefined;
  } catch {
    return undefined;
  }
}
const known = new Set();
const refusedTokens = new Set();

async function control(req, res) {
  const order = JSON.parse((await body(req)) || "{}");
  for (const key of ["ttl", "fail", "need", "metadata"]) if (key in order) state[key] = order[key];
  if (order.revoke === "access") for (const it of known) refusedTokens.add(it);
  if (order.revoke === "grants") {
    for (const jti of grants) {
      await provider.RefreshToken.revokeByGrantId(jti);
      await (await provider.Grant.find(jti))?.destroy();
    }
  }
  if (order.release) for (const end of held.splice(0)) end();
  const visited = order.visit ? await visit(order.visit, order.login ?? "ada") : {};
  res.writeHead(200, { "content-type": "application/json" });
  res.end(JSON.stringify({ issuer, ...seen, held: held.length, ...visited }));
}

const [, place] = await listen(async (req, res) => {
  const { pathname } = new URL(req.url, "http://localhost");
  if (pathname === "/control") return control(req, res);
  if (pathname === "/.well-known/oauth-protected-resource/mcp" && state.metadata) {
    res.writeHead(200, { "content-type": "application/json" });
    const document = { resource: `${mcp}/mcp`, authorization_servers: [issuer], scopes_supported: ["mcp:tools"] };
    return res.end(JSON.stringify(document));
  }
  if (pathname !== "/mcp") return res.writeHead(404).end();
  const who = await claims(req);
  if (!who) return challenge(res, 401, { scope: "mcp:tools" });
  const message = req.method === "POST" ? await body(req) : "";
  const { method, params } = message ? JSON.parse(message) : {};
  if (method === "tools/call") {
    seen.calls += 1;
    const has = new Set((who.scope ?? "").split(" "));
    const missing = params.name === "write" && state.need.some((it) => !has.has(it));
    if (missing) return challenge(res, 403, { error: "insufficient_scope", scope: state.need.join(" ") });
  }
  req.body = message ? JSON.parse(message) : undefined;
  handle(req, res, req.body);
});
mcp = place;
console.log(`listening on ${mcp}/mcp`);
