/** What somebody pasted: an address, a command line, a configuration, a `server.json`. Always ends as JSON for import. */

import { isObject, type Json, type JsonObject, member } from "./json";
import { splitWords } from "./shell-words";

export type Kind = "nothing" | "url" | "command" | "json" | "server.json" | "unknown";

export type Pasted = {
  kind: Kind;
  /** What is shown beside the box while typing. */
  says: string;
  /** Names of the servers, as far as the page can read them; the hub decides. */
  names: string[];
  /** The text for `POST /api/mcp/import`; absent while there is nothing to send. */
  text?: string;
  /** What will run or be reached, for the preview. */
  preview: { name: string; target: string; kind: "command" | "url" }[];
  /** The entries by name, where the page can read them. */
  servers?: JsonObject;
};

/** The same paste with its only server called otherwise, and with headers. */
export function renamed(pasted: Pasted, name: string, headers: [string, string][]): Pasted {
  const [old] = pasted.names;
  const server = old === undefined ? undefined : pasted.servers?.[old];
  if (pasted.names.length !== 1 || !isObject(server)) return pasted;
  const sent = headers.filter(([key]) => key !== "");
  const whole = sent.length > 0 ? { ...server, headers: Object.fromEntries(sent) } : server;
  const servers = { [name]: whole };
  return {
    ...pasted,
    names: [name],
    servers,
    text: JSON.stringify(servers, null, 2),
    preview: pasted.preview.map((it) => ({ ...it, name })),
  };
}

/** The text for another try with some of the servers only. */
export function onlyNamed(pasted: Pasted, names: string[]): string | undefined {
  const entries = Object.entries(pasted.servers ?? {}).filter(([name]) => names.includes(name));
  return entries.length === names.length ? JSON.stringify(Object.fromEntries(entries), null, 2) : pasted.text;
}

export function recognise(pasted: string): Pasted {
  const text = pasted.trim();
  if (text === "") return { kind: "nothing", says: "", names: [], preview: [] };
  if (/^[{["/]/.test(text) && !text.startsWith("/")) return fromJson(text);
  if (text.startsWith("//") || text.startsWith("/*")) return fromJson(text);
  if (/^(https?|unix|pipe):\/\/\S+$/i.test(text)) return fromUrl(text);
  return fromCommand(text);
}

function fromUrl(url: string): Pasted {
  const name = nameFromUrl(url);
  return entry("url", "URL", name, { url }, url);
}

function entry(
  kind: "url" | "command",
  says: string,
  name: string,
  server: JsonObject,
  target: string,
): Pasted {
  const servers = { [name]: server };
  return {
    kind,
    says,
    names: [name],
    servers,
    text: JSON.stringify(servers, null, 2),
    preview: [{ name, target, kind }],
  };
}

/** `https://api.github.com/mcp` → `github`: the label before the ending, which the person may change. */
export function nameFromUrl(url: string): string {
  const socket = /^(?:unix|pipe):\/\/([^#?]*)/i.exec(url)?.[1];
  if (socket !== undefined)
    return slugify(
      socket
        .split("/")
        .at(-1)
        ?.replace(/\.[^.]*$/, "") ?? "",
    );
  let host = "";
  try {
    host = new URL(url).hostname;
  } catch {
    return "server";
  }
  if (/^[\d.]+$|:/.test(host)) return slugify(host);
  const labels = host.split(".");
  const hasTwoPartEnding =
    labels.length > 2 &&
    /^(co|com|net|org|gov|ac|edu)$/.test(labels.at(-2) ?? "") &&
    labels.at(-1)?.length === 2;
  return slugify(labels.length === 1 ? host : (labels.at(hasTwoPartEnding ? -3 : -2) ?? host));
}

function slugify(text: string): string {
  const slug = text
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return slug.slice(0, 24).replace(/-+$/, "") || "server";
}

/** `FOO=1 npx -y @scope/server-github --flag`, as it stands in a README. */
function fromCommand(text: string): Pasted {
  const line = text.replace(/^\$\s+/, "");
  const words = splitWords(line);
  if (!words || words.length === 0 || /\n\S/.test(line.replaceAll("\\\n", " "))) {
    return { kind: "unknown", says: "Not a URL, a command line or JSON", names: [], preview: [] };
  }
  const env: JsonObject = {};
  while (words[0] && /^[A-Za-z_]\w*=/.test(words[0])) {
    const [key, ...value] = (words.shift() as string).split("=");
    env[key as string] = value.join("=");
  }
  const [command, ...args] = words;
  if (command === undefined) return { kind: "unknown", says: "Not a command line", names: [], preview: [] };
  const server: JsonObject = { command, args, ...(Object.keys(env).length > 0 ? { env } : {}) };
  return entry("command", "Command line", nameFromWords(words), server, line);
}

/** The word that names the program best: the package of a runner, else the program itself. */
function nameFromWords(words: string[]): string {
  const [program = "", ...rest] = words;
  const base = program.split(/[\\/]/).at(-1) ?? program;
  const isRunner = /^(npx|bunx|pnpm|yarn|uvx|uv|pipx|node|python3?|deno|docker|bun)(\.exe)?$/.test(base);
  const skipped = new Set(["run", "exec", "dlx", "tool", "-y", "--yes", "-m", "x"]);
  const named = isRunner ? rest.find((it) => !it.startsWith("-") && !skipped.has(it)) : base;
  const word =
    (named ?? base)
      .split("/")
      .at(-1)
      ?.replace(/(?<=.)@.*$/, "")
      .replace(/\.\w+$/, "") ?? base;
  return slugify(
    word.replace(/^(mcp-server-|server-|mcp-)(?=.)/, "").replace(/-mcp(-server)?$|-server$/, ""),
  );
}

function fromJson(text: string): Pasted {
  const value = parseLoose(text);
  // The hub reads JSON with comments; a text that this page cannot read is still the hub's to judge.
  if (value === undefined) return { kind: "json", says: "JSON", names: [], text, preview: [] };
  const registry = fromServerJson(value);
  if (registry) return registry;
  const servers = serversOf(value);
  const preview = Object.entries(servers).flatMap(([name, it]) => previewOf(name, it));
  const names = Object.keys(servers);
  const says =
    names.length === 0 ? "JSON" : `JSON · ${names.length === 1 ? "1 server" : `${names.length} servers`}`;
  return { kind: "json", says, names, servers, text, preview };
}

function previewOf(name: string, server: Json): Pasted["preview"] {
  const url = member(server, "url") ?? member(server, "serverUrl");
  if (typeof url === "string") return [{ name, target: url, kind: "url" }];
  const command = member(server, "command");
  if (typeof command !== "string") return [];
  const args = member(server, "args");
  const words = Array.isArray(args) ? args.map(String) : [];
  return [{ name, target: [command, ...words].join(" "), kind: "command" }];
}

function serversOf(value: Json): JsonObject {
  for (const key of ["mcpServers", "servers"]) {
    const inner = member(value, key);
    const isServer = ["url", "serverUrl", "command"].some((it) => typeof member(inner, it) === "string");
    if (isObject(inner) && !isServer) return inner;
  }
  return isObject(value) ? value : {};
}

function parseLoose(text: string): Json | undefined {
  const bare = text.replace(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (_, quoted) => quoted ?? "");
  try {
    return JSON.parse(
      bare.replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g, (_, quoted) => quoted ?? ""),
    ) as Json;
  } catch {
    return undefined;
  }
}

/** A registry's `server.json`: its first remote, else its first package. Secrets are left for the person to fill in. */
function fromServerJson(value: Json): Pasted | undefined {
  const name = member(value, "name");
  const remotes = member(value, "remotes");
  const packages = member(value, "packages");
  if (typeof name !== "string" || (!Array.isArray(remotes) && !Array.isArray(packages))) return undefined;
  const short = slugify((name.split("/").at(-1) ?? name).replace(/^(mcp-server-|server-|mcp-)(?=.)/, ""));
  const remote = Array.isArray(remotes)
    ? remotes.find((it) => typeof member(it, "url") === "string")
    : undefined;
  const url = member(remote, "url");
  if (typeof url === "string")
    return { ...entry("url", "server.json", short, { url }, url), kind: "server.json" };
  const server = Array.isArray(packages) ? packages.map(commandOf).find((it) => it !== undefined) : undefined;
  if (!server)
    return {
      kind: "unknown",
      says: "server.json without a remote or a package that can run",
      names: [],
      preview: [],
    };
  const target = [server.command, ...server.args].join(" ");
  return { ...entry("command", "server.json", short, server, target), kind: "server.json" };
}

function commandOf(entry: Json): { command: string; args: string[]; env?: JsonObject } | undefined {
  const type = String(
    member(entry, "registryType") ?? member(entry, "registry_type") ?? member(entry, "registry_name") ?? "",
  );
  const id = member(entry, "identifier") ?? member(entry, "name");
  const version = member(entry, "version");
  if (typeof id !== "string") return undefined;
  const pin = typeof version === "string" && version !== "" ? version : undefined;
  const extra = [member(entry, "packageArguments") ?? []].flat().flatMap(argumentWords);
  const env = environment(member(entry, "environmentVariables"));
  const run = (command: string, ...args: string[]) => ({ command, args: [...args, ...extra], ...env });
  if (type === "npm") return run("npx", "-y", pin ? `${id}@${pin}` : id);
  if (type === "pypi") return run("uvx", pin ? `${id}==${pin}` : id);
  if (type === "oci" || type === "docker")
    return run("docker", "run", "-i", "--rm", pin && !id.includes(":") ? `${id}:${pin}` : id);
  return undefined;
}

function argumentWords(argument: Json): string[] {
  const value = member(argument, "value") ?? member(argument, "default");
  const name = member(argument, "name");
  const words = typeof value === "string" ? [value] : [];
  return member(argument, "type") === "named" && typeof name === "string" ? [name, ...words] : words;
}

function environment(variables: Json | undefined): { env?: JsonObject } {
  if (!Array.isArray(variables) || variables.length === 0) return {};
  const env: JsonObject = {};
  for (const it of variables) {
    const name = member(it, "name");
    if (typeof name === "string") env[name] = member(it, "value") ?? member(it, "default") ?? "";
  }
  return { env };
}
