import { expect, test } from "vitest";
import { CLIENTS, clientSnippet } from "./snippets";

const solo = { endpoint: "http://127.0.0.1:7430/mcp", by: "key", secret: "s3cret" } as const;
const team = { endpoint: "https://hub.example.com/mcp", by: "oauth", secret: "s3cret" } as const;

test("there are at least eight clients, each with a text and a place for it", () => {
  expect(CLIENTS.length).toBeGreaterThanOrEqual(8);
  for (const { id } of CLIENTS) {
    const snippet = clientSnippet(id, solo);
    expect(snippet.text.length).toBeGreaterThan(10);
    expect(snippet.where).not.toBe("");
  }
});

test("a link never carries the secret, and leads to an entry that works without one", () => {
  for (const { id } of CLIENTS) {
    for (const access of [solo, team]) {
      const { link } = clientSnippet(id, access);
      if (link) expect(decodeURIComponent(link) + decodeBase64(link)).not.toContain("s3cret");
    }
  }
  expect(decodeBase64(clientSnippet("cursor", solo).link ?? "")).toBe(
    '{"command":"toolgrove","args":["stdio"]}',
  );
  expect(decodeBase64(clientSnippet("lmstudio", team).link ?? "")).toBe(
    '{"url":"https://hub.example.com/mcp"}',
  );
});

test("where a client can sign in by itself, no secret is shown but to curl", () => {
  const shown = CLIENTS.filter(({ id }) => clientSnippet(id, team).text.includes("s3cret")).map(
    (it) => it.id,
  );
  expect(shown).toEqual(["curl"]);
});

test("JSON is JSON", () => {
  for (const { id } of CLIENTS) {
    const { language, text } = clientSnippet(id, solo);
    if (language === "json") expect(() => JSON.parse(text)).not.toThrow();
  }
});

function decodeBase64(link: string): string {
  const config = new URLSearchParams(link.slice(link.indexOf("?"))).get("config");
  return config ? atob(config) : "";
}
