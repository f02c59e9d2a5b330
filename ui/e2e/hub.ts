/** The real hub, on a free port with an empty data folder, and scripted servers for it. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Watch } from "./watch";

const built = (name: string) => resolve(import.meta.dirname, "../../target/debug", name);
export const HUB = process.env.TOOLGROVE_BIN ?? built("toolgrove");
export const FIXTURE = process.env.TOOLGROVE_FIXTURE ?? built("toolgrove-fixture");

/** The configuration entry of a scripted server. */
export const fixture = (...args: string[]) => ({ command: FIXTURE, args: ["stdio", ...args] });

const PAGE = /http:\S+\/ui\/(login|join)\?\S+/;

export type Hub = {
  url: string;
  /** Signs a browser in, once: the owner of a solo hub, or the first admin of a team's. */
  signIn: string;
  /** The home folder that its clients' files are in. */
  home: string;
  api: <T>(path: string, body?: unknown, method?: "POST" | "PATCH") => Promise<T>;
  /** What answers with more than one JSON text. */
  stream: (path: string, body: unknown) => Promise<Response>;
  /** Remembers the secrets it is shown; when the hub has ended, they must stand nowhere. */
  watch: Watch;
  /** Adds servers without a page. */
  add: (servers: Record<string, unknown>) => Promise<void>;
  stop: () => Promise<void>;
};

/** `more` are further lines of the configuration; `place` a folder with a name that is fit to be seen. */
export type HubOptions = { mode?: "solo" | "team"; demo?: boolean; more?: string; place?: string };

export async function startHub(options: HubOptions = {}): Promise<Hub> {
  const { mode = "solo", demo = false, more = "", place } = options;
  const folder = place ?? mkdtempSync(join(tmpdir(), "toolgrove-e2e-"));
  const config = join(folder, "toolgrove.toml");
  const data = join(folder, "data");
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true });
  writeFileSync(config, `listen = "127.0.0.1:0"\nmode = "${mode}"\n${more}`);
  const log = join(folder, "hub.log");
  const child = spawn(HUB, ["serve", ...(demo ? ["--demo"] : [])], {
    env: {
      ...process.env,
      TOOLGROVE_DATA: data,
      TOOLGROVE_CONFIG: config,
      TOOLGROVE_LOG: "trace",
      HOME: home,
      XDG_CONFIG_HOME: "",
    },
    stdio: ["ignore", "pipe", openSync(log, "w")],
  });
  const said = await firstWords(child, log);
  const url = /http:\/\/[\d.]+:\d+(?=\/mcp)/.exec(said)?.[0] ?? "";
  const signIn = PAGE.exec(said)?.[0] ?? "";
  const key = readFileSync(join(data, "key"), "utf8").trim();
  const watch = new Watch(data, log);
  const stream = (path: string, body?: unknown, method = "POST") => {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
    return fetch(
      url + path,
      body === undefined ? { headers } : { method, headers, body: JSON.stringify(body) },
    );
  };
  const api = async <T>(path: string, body?: unknown, method?: string) =>
    (await (await stream(path, body, method)).json()) as T;
  return {
    url,
    signIn,
    home,
    api,
    stream,
    watch,
    add: async (servers) => {
      await api("/api/mcp/import", { text: JSON.stringify(servers), save_anyway: true });
    },
    stop: async () => {
      const ended = new Promise((done) => child.once("exit", done));
      child.kill("SIGTERM");
      await ended;
      watch.search();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What the hub says until it has said where its page is. */
function firstWords(child: ChildProcess, log: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout?.on("data", (piece: Buffer) => {
      said += piece.toString();
      if (/ui\/(login|join)\?\S+\s/.test(said)) resolve(said);
    });
    child.once("exit", (code) =>
      reject(new Error(`the hub ended with ${code}: ${said}${readFileSync(log, "utf8")}`)),
    );
  });
}
