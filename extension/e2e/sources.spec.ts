/** The three places where pages keep tools, with the browser's own WebMCP on and off. */

import type { Registered } from "./hub";
import { expect, test, text } from "./test";

const names = (registered: Registered) => registered.tools.map((it) => it.name);

for (const native of [true, false]) {
  test.describe(`with WebMCP ${native ? "in" : "not in"} the browser`, () => {
    test.use({ native });

    for (const kind of native ? ["native", "polyfill", "global"] : ["polyfill", "global"]) {
      test(`the tools of a ${kind} page are listed and called`, async ({ hub, web, open }) => {
        const { registered } = await open(web.at(`/${kind}`));
        expect(names(registered)).toEqual(["boom", "echo", "plain", "slow"]);
        const source = native ? "native" : kind === "global" ? "channel" : "shim";
        expect(registered.extensions.sources).toEqual({
          boom: source,
          echo: source,
          plain: source,
          slow: source,
        });
        const echo = registered.tools.find((it) => it.name === "echo");
        expect(echo).toMatchObject({ description: "Says it again", annotations: { readOnlyHint: true } });
        expect(registered.tools[2]).toMatchObject({ inputSchema: { type: "object" } });

        const started = hub.next((it) => it.method === "browser/toolStarted");
        const answer = await hub.call(registered, "echo", { text: "hi" }, "call-1");
        expect((await started).params).toEqual({ requestId: "call-1" });
        expect(answer.result?.success).toBe(true);
        expect(text(answer)).toBe("echo hi");
        expect((await hub.call(registered, "plain", { a: 1 })).result).toMatchObject({ success: true });

        const boom = await hub.call(registered, "boom");
        const payload = boom.result?.payload as { isError?: boolean } | string;
        const failed = boom.result?.success === false || (typeof payload === "object" && payload.isError);
        expect(failed).toBe(true);
      });
    }

    test("a server written by hand keeps its annotations and gets missing arguments as {}", async ({
      hub,
      web,
      open,
    }) => {
      const { registered } = await open(web.byHand());
      expect(registered.tools).toMatchObject([{ name: "getCart", annotations: { cache: true } }]);
      expect(text(await hub.call(registered, "getCart"))).toBe("getCart {}");
    });

    test("a page whose rules forbid all connections still has its tools", async ({ hub, web, open }) => {
      const { registered } = await open(web.at(`/${native ? "native" : "polyfill"}?strict`));
      expect(text(await hub.call(registered, "echo", { text: "x" }))).toBe("echo x");
    });
  });
}

test("the example of the documentation works, cache and all", async ({ hub, web, open }) => {
  const { registered } = await open(web.at("/sdk"));
  expect(registered.extensions.sources).toEqual({ addToCart: "channel" });
  expect(registered.tools).toMatchObject([
    { name: "addToCart", annotations: { cache: true }, inputSchema: { required: ["product"] } },
  ]);
  expect(text(await hub.call(registered, "addToCart", { product: "milk" }))).toBe("2 products in the cart");
});
