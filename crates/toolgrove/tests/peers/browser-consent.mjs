// A person with a browser, whom a client sends to the hub: signs in, reads who asks, chooses one instance, allows it,
// and is back at the client, which sends them on to another origin.
//
//   node browser-consent.mjs <address to open> <redirect address> <e-mail> <password> <slug> <path to Chromium>
//
// Listens at the redirect address as the client would. Prints {back, end, asked, problems} as JSON: the address the
// browser was sent back to, the last one, what the page said, and what the browser complained about.

import { once } from "node:events";
import { createServer } from "node:http";
import { chromium } from "playwright-core";

const [visit, redirect, email, password, slug, executablePath] = process.argv.slice(2);

const elsewhere = createServer((_, response) => response.end("You may close this window.")).listen(0, "localhost");
await once(elsewhere, "listening");
const end = `http://localhost:${elsewhere.address().port}/done`;
let back;
const client = createServer((request, response) => {
  if (request.url.startsWith(new URL(redirect).pathname)) back = new URL(request.url, redirect).href;
  response.writeHead(302, { location: end }).end();
}).listen(new URL(redirect).port, "127.0.0.1");
await once(client, "listening");

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
try {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(20_000);
  const problems = [];
  page.on("console", (it) => it.type() === "error" && problems.push(it.text()));

  await page.goto(visit);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).first().click();

  await page.getByRole("heading", { name: "Allow this client?" }).waitFor();
  const asked = await page.locator("main").innerText();
  await page.getByLabel("only these").check();
  await page.getByRole("checkbox", { name: slug }).check();
  await page.getByRole("button", { name: "Allow" }).click();

  await page.waitForURL(end);
  console.log(JSON.stringify({ back, end: page.url(), asked, problems }));
} finally {
  await browser.close();
  client.close();
  elsewhere.close();
}
process.exit();
