/** What is true of every page that registers its tools with `document.modelContext`, the browser's own or not. */

import { call, ERAS, expect, nameOf, test, textOf } from "./test";

/** Tests that the tools of such a page are listed and called in both eras, and never with wrong arguments. */
export function isListedCalledAndChecked(kind: "native" | "polyfill" | "global"): void {
  test(`the tools of a ${kind} page are listed and called, and arguments checked first`, async ({
    web,
    open,
    clients,
  }) => {
    const url = web.at(`/${kind}`);
    const page = await open(url, "echo");
    for (const era of ERAS) {
      const client = clients[era];
      const { tools } = await client.listTools();
      const echo = tools.find((it) => it.name === nameOf(url, "echo", 1));
      expect(echo?.description).toBe(`[localhost:${new URL(url).port} • Active] Says it again`);
      expect(echo?.annotations).toMatchObject({ readOnlyHint: true });
      expect(await call(client, nameOf(url, "echo", 1), { text: era })).toBe(`echo ${era}`);
      expect(await call(client, nameOf(url, "echo"), { text: era })).toBe(`echo ${era}`);
      expect(JSON.parse(await call(client, nameOf(url, "plain", 1), { a: 1 }))).toEqual({ got: { a: 1 } });
      const boom = await client.callTool({ name: nameOf(url, "boom", 1), arguments: {} });
      expect(boom.isError).toBe(true);

      const before = await page.evaluate("calls");
      const wrong = await client.callTool({ name: nameOf(url, "echo", 1), arguments: { text: 7 } });
      expect(wrong.isError).toBe(true);
      expect(textOf(wrong)).toMatch(/^arguments do not match/);
      expect(await page.evaluate("calls")).toBe(before);
    }
  });
}
