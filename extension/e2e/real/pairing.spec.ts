/** How a browser gets to know the real hub, each way on its own profile, and how the hub forgets it. */

import type { BrowserContext } from "@playwright/test";
import { EXTENSION_ID } from "../id";
import {
  call,
  connected,
  expect,
  gone,
  launch,
  listed,
  nameOf,
  newProfile,
  removeProfile,
  test,
} from "./test";

// These browsers find the hub by themselves, so nothing can stand between.
test.use({ world: "pairing", recorded: false });

type Pairing = { paste: string; link: string };
type Seen = { browsers: { id: string; name: string; connected: boolean }[] };

const openPopup = async (context: BrowserContext) => {
  const popup = await context.newPage();
  await popup.goto(`chrome-extension://${EXTENSION_ID}/popup.html`);
  return popup;
};

test("the native-messaging host names the hub, and names it anew when it is elsewhere", async ({
  hub,
  web,
}) => {
  const profile = await newProfile(hub);
  const context = await launch(profile);
  await connected(hub);
  const url = web.byHand();
  await (await context.newPage()).goto(url);
  const { port } = hub;
  await listed(await hub.client(), nameOf(url, "getCart", 1));

  await hub.stop();
  await hub.start();
  expect(hub.port).not.toBe(port);
  const client = await hub.client();
  await listed(client, nameOf(url, "getCart", 1));
  expect(await call(client, nameOf(url, "getCart", 1))).toBe("getCart {}");
  expect(await hub.run("tabs", "list")).toMatch(/Chromium\/\d+ +connected/);
  await client.close();
  await context.close();
  await removeProfile(profile);
});

for (const way of ["pasted", "link"] as const) {
  test(`a code pairs once (${way}), and a browser that is forgotten stays out`, async ({
    hub,
    web,
    client,
  }) => {
    const profile = await newProfile();
    const context = await launch(profile);
    const { paste, link } = await hub.api<Pairing>("/api/tabs/pair", "POST");
    const popup = await openPopup(context);
    await expect(popup.getByRole("status")).toHaveText("Not paired");
    if (way === "pasted") {
      await popup.getByRole("textbox").fill(paste);
      await popup.getByRole("button", { name: "Pair", exact: true }).click();
    } else {
      const page = await context.newPage();
      await page.goto(link);
      await page.getByRole("button", { name: "Pair" }).click();
      await expect(page.getByRole("status")).toHaveText("Paired. You can close this tab.");
    }
    await expect(popup.getByRole("status")).toHaveText(`Connected to 127.0.0.1:${hub.port}`);
    const url = web.byHand();
    await (await context.newPage()).goto(url);
    await listed(client, nameOf(url, "getCart", 1));
    expect(await call(client, nameOf(url, "getCart", 1))).toBe("getCart {}");

    const here = async () => (await hub.api<Seen>("/api/tabs")).browsers.filter((it) => it.connected);
    const [browser] = await here();
    await hub.api(`/api/tabs/browsers/${browser?.id}`, "DELETE");
    await expect(popup.getByRole("status")).toHaveText("Unknown to the hub");
    await gone(client, nameOf(url, "getCart", 1));

    await popup.getByRole("textbox").fill(paste);
    await popup.getByRole("button", { name: "Pair", exact: true }).click();
    await expect(popup.getByRole("alert")).toContainText("the code is used or too old");
    expect(await here()).toEqual([]);
    await context.close();
    await removeProfile(profile);
  });
}
