/** How long it takes with many calls and many tools. The figures are printed; what fails is far off. */

import { Recorder } from "./recorder";
import { call, expect, nameOf, test } from "./test";

test.use({ world: "speed", recorded: false });

const say = (text: string) => process.stdout.write(`    ${text}\n`);

test("a hundred calls at once are all answered", async ({ web, open, client }) => {
  const [one, two, native] = [web.byHand({ n: 1 }), web.byHand({ n: 2 }), web.at("/native")];
  await open(one, "getCart", 1);
  await open(two, "getCart", 2);
  await open(native, "plain", 3);
  const targets = [nameOf(one, "getCart", 1), nameOf(two, "getCart", 2), nameOf(native, "plain", 3)];
  const started = performance.now();
  const said = await Promise.all(
    Array.from({ length: 100 }, (_, at) => call(client, targets[at % 3] ?? "", { at })),
  );
  say(`100 calls at once: ${(performance.now() - started).toFixed(0)} ms`);
  expect(said.map((it, at) => it.includes(`"at":${at}}`))).toEqual(Array(100).fill(true));
});

test("ten tools are listed soon after the extension told of them", async ({ hub, web, client }) => {
  const { newProfile, divert, launch, removeProfile, connected } = await import("./test");
  const recorder = new Recorder(hub);
  await recorder.start();
  const profile = await newProfile(hub);
  divert(profile, recorder.port);
  const context = await launch(profile);
  await connected(hub);
  await expect.poll(() => recorder.methods("toHub")).toContain("browser/tabs");
  const tools = Array.from({ length: 10 }, (_, at) => `tool${at}`);
  const url = web.byHand({ tools });
  const page = await context.newPage();
  await page.goto(url);
  const wanted = tools.map((it) => nameOf(url, it, 1));
  for (;;) {
    const all = (await client.listTools()).tools.map((it) => it.name);
    if (wanted.every((it) => all.includes(it))) break;
  }
  const told = recorder.frames.find((it) => it.message.method === "browser/registerTools")?.at ?? 0;
  const took = performance.now() - told;
  say(`10 tools, from the extension's message to tools/list: ${took.toFixed(0)} ms`);
  expect(took).toBeLessThan(1000);
  await context.close();
  await recorder.stop();
  await removeProfile(profile);
});
