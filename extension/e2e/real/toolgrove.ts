/** The real hub on a folder of its own, and official MCP clients for it. */

import { deepEqual } from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const root = resolve(import.meta.dirname, "../../..");
const PROGRAM = process.env.TOOLGROVE_BIN ?? join(root, "target/debug/toolgrove");
const PEERS = process.env.TOOLGROVE_TEST_PEERS ?? join(root, "crates/toolgrove/tests/peers");
/** What is installed for the peers of the hub's own tests: this folder has no client of its own. */
export const peer = createRequire(join(PEERS, "package.json"));

export type Json = Record<string, unknown>;
export type Tool = { name: string; description?: string; annotations?: Json };
export type Result = { isError?: boolean; content: { type: string; text?: string; mimeType?: string }[] };
/** The part of the official client that is used here. */
export type Client = {
  connect: (transport: unknown) => Promise<void>;
  close: () => Promise<void>;
  listTools: () => Promise<{ tools: Tool[] }>;
  callTool: (call: { name: string; arguments?: Json }, options?: Json) => Promise<Result>;
  getServerCapabilities: () => Json | undefined;
  getProtocolEra: () => Era | undefined;
  getNegotiatedProtocolVersion: () => string | undefined;
  setRequestHandler: (method: string, answer: (request: { params: Json }) => Json) => void;
};

export type Era = "legacy" | "modern";
export const ERAS: Era[] = ["legacy", "modern"];
const VERSIONS: Record<Era, string> = { legacy: "2025-11-25", modern: "2026-07-28" };

/** A hub that is started, stopped and started again on the same folder. */
export class Toolgrove {
  readonly folder = mkdtempSync(join(tmpdir(), "toolgrove-hub-"));
  readonly #environment = {
    ...process.env,
    TOOLGROVE_DATA: join(this.folder, "data"),
    TOOLGROVE_CONFIG: join(this.folder, "toolgrove.toml"),
    HOME: join(this.folder, "home"),
    XDG_CONFIG_HOME: "",
  };
  #child: ChildProcess | undefined;
  url = "";

  /** `more` are further lines of the configuration. */
  constructor(private readonly more = "") {
    mkdirSync(this.#environment.HOME);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  get key(): string {
    return readFileSync(join(this.folder, "data/key"), "utf8").trim();
  }

  /** Starts on a port of the system's choice, or on the one that is given. */
  async start(port = 0): Promise<void> {
    writeFileSync(this.#environment.TOOLGROVE_CONFIG, `listen = "127.0.0.1:${port}"\n${this.more}`);
    const child = spawn(PROGRAM, ["serve"], { env: this.#environment });
    this.#child = child;
    const said = await firstWords(child);
    this.url = /http:\/\/[\d.]+:\d+(?=\/mcp)/.exec(said)?.[0] ?? "";
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise((done) => child.once("exit", done));
    child.kill("SIGTERM");
    await ended;
  }

  /** Stops and leaves nothing behind. */
  async end(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs the command line against this hub, and gives what it printed. */
  async run(...args: string[]): Promise<string> {
    return (await promisify(execFile)(PROGRAM, args, { env: this.#environment })).stdout;
  }

  async api<T>(path: string, method = "GET"): Promise<T> {
    const headers = { Authorization: `Bearer ${this.key}`, "Content-Type": "application/json" };
    const answer = await fetch(this.url + path, { method, headers });
    return (answer.status === 204 ? undefined : await answer.json()) as T;
  }

  /** An official client, connected, and truly in this era; `answer` is what its person says when asked. */
  async client(era: Era = "modern", answer?: (params: Json) => Json): Promise<Client> {
    const sdk = peer("@modelcontextprotocol/client");
    const mode = era === "legacy" ? era : { pin: VERSIONS.modern };
    const capabilities = answer ? { elicitation: { form: {} } } : {};
    const client: Client = new sdk.Client(
      { name: "e2e", version: "1.0.0" },
      { versionNegotiation: { mode }, capabilities },
    );
    if (answer) client.setRequestHandler("elicitation/create", (request) => answer(request.params));
    const requestInit = { headers: { Authorization: `Bearer ${this.key}` } };
    await client.connect(new sdk.StreamableHTTPClientTransport(new URL(`${this.url}/mcp`), { requestInit }));
    const spoken = [client.getProtocolEra(), client.getNegotiatedProtocolVersion()];
    deepEqual(spoken, [era, VERSIONS[era]]);
    return client;
  }
}

/** What the hub says until it has said where its page is. */
function firstWords(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const hear = (piece: Buffer) => {
      said += piece.toString();
      if (/ui\/login\?\S+\s/.test(said)) resolve(said);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
    child.once("exit", (code) => reject(new Error(`the hub ended with ${code}: ${said}`)));
  });
}
