/** How each client is connected to the hub: the text to paste, where it goes, and a link where there is one. */

export type ClientId =
  | "claude-code"
  | "claude-desktop"
  | "cursor"
  | "vscode"
  | "chatgpt"
  | "codex"
  | "goose"
  | "lmstudio"
  | "curl";

/** `oauth`: the client signs in by itself. `key`: it sends a key or a token. */
export type Access = { endpoint: string; by: "oauth" | "key"; secret: string };

export type ClientSnippet = {
  text: string;
  /** The file or place the text belongs to. */
  where: string;
  language: "json" | "toml" | "yaml" | "shell" | "text";
  /** Opens the client with the entry filled in. Never carries a secret. */
  link?: string;
  note?: string;
};

export const CLIENTS: { id: ClientId; name: string }[] = [
  { id: "claude-code", name: "Claude Code" },
  { id: "claude-desktop", name: "Claude Desktop" },
  { id: "cursor", name: "Cursor" },
  { id: "vscode", name: "VS Code" },
  { id: "chatgpt", name: "ChatGPT" },
  { id: "codex", name: "Codex" },
  { id: "goose", name: "Goose" },
  { id: "lmstudio", name: "LM Studio" },
  { id: "curl", name: "curl" },
];

/** A client on the same machine can start the hub's other end itself, which needs no key. */
const PROCESS = { command: "toolgrove", args: ["stdio"] };

export function clientSnippet(client: ClientId, access: Access): ClientSnippet {
  const { endpoint, by, secret } = access;
  const bearer = `Bearer ${secret}`;
  const headers = by === "key" ? { headers: { Authorization: bearer } } : {};
  const json = (value: unknown) => JSON.stringify(value, null, 2);
  const entry = by === "oauth" ? { url: endpoint } : PROCESS;
  const base64 = btoa(JSON.stringify(entry));
  switch (client) {
    case "claude-code":
      return {
        text: `claude mcp add --transport http toolgrove ${endpoint}${by === "key" ? ` \\\n  --header "Authorization: ${bearer}"` : ""}`,
        where: "In a terminal",
        language: "shell",
      };
    case "claude-desktop":
      return by === "oauth"
        ? { text: endpoint, where: "Settings → Connectors → Add custom connector", language: "text" }
        : {
            text: json({ mcpServers: { toolgrove: PROCESS } }),
            where: "claude_desktop_config.json",
            language: "json",
            note: "Claude Desktop starts a process, so it needs no key.",
          };
    case "cursor":
      return {
        text: json({ mcpServers: { toolgrove: { url: endpoint, ...headers } } }),
        where: "~/.cursor/mcp.json",
        language: "json",
        link: `cursor://anysphere.cursor-deeplink/mcp/install?name=toolgrove&config=${encodeURIComponent(base64)}`,
      };
    case "vscode":
      return {
        text: json({ servers: { toolgrove: { type: "http", url: endpoint, ...headers } } }),
        where: ".vscode/mcp.json",
        language: "json",
        link: `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: "toolgrove", ...(by === "oauth" ? { type: "http" } : {}), ...entry }))}`,
      };
    case "chatgpt":
      return {
        text: endpoint,
        where: "Settings → Apps & Connectors → Create, in developer mode",
        language: "text",
        note: "ChatGPT reaches the hub over the internet, so it needs an https address that others can open.",
      };
    case "codex":
      return {
        text: [
          `[mcp_servers.toolgrove]`,
          `url = ${JSON.stringify(endpoint)}`,
          ...(by === "key" ? [`http_headers = { Authorization = ${JSON.stringify(bearer)} }`] : []),
        ].join("\n"),
        where: "~/.codex/config.toml",
        language: "toml",
      };
    case "goose":
      return {
        text: [
          "extensions:",
          "  toolgrove:",
          "    enabled: true",
          "    type: streamable_http",
          "    name: toolgrove",
          `    uri: ${endpoint}`,
          ...(by === "key" ? ["    headers:", `      Authorization: ${bearer}`] : []),
        ].join("\n"),
        where: "~/.config/goose/config.yaml",
        language: "yaml",
        ...(by === "key"
          ? {
              link: "goose://extension?cmd=toolgrove&arg=stdio&id=toolgrove&name=Toolgrove&description=Every%20tool%20of%20your%20hub",
            }
          : {}),
      };
    case "lmstudio":
      return {
        text: json({ mcpServers: { toolgrove: { url: endpoint, ...headers } } }),
        where: "mcp.json, from Program → Install → Edit mcp.json",
        language: "json",
        link: `lmstudio://add_mcp?name=toolgrove&config=${encodeURIComponent(base64)}`,
      };
    case "curl":
      return {
        text: `curl ${endpoint.replace(/\/mcp$/, "/api/mcp/tools")} \\\n  -H "Authorization: ${bearer}"`,
        where: "In a terminal",
        language: "shell",
      };
  }
}
