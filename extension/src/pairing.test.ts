import { describe, expect, it } from "vitest";
import { patternOf, siteName, siteOf } from "./address";
import { browserName, hubAddress, readHostAnswer, readInvitation } from "./pairing";

const CODE = "7HQ2-M4XK-93PD";

describe("what is pasted", () => {
  it.each([
    [CODE, { hub: "ws://127.0.0.1:7430", code: CODE }],
    [`  ${CODE}\n`, { hub: "ws://127.0.0.1:7430", code: CODE }],
    [`127.0.0.1:7431#${CODE}`, { hub: "ws://127.0.0.1:7431", code: CODE }],
    [`http://localhost:7431#${CODE}`, { hub: "ws://localhost:7431", code: CODE }],
    [`https://hub.example.com#${CODE}`, { hub: "wss://hub.example.com", code: CODE }],
    [`http://hub.example.com#${CODE}`, { problem: "a hub on another machine has to be reached over https" }],
    ["", { problem: "this is no pairing code" }],
    ["https://hub.example.com", { problem: "this is no pairing code" }],
  ])("%j", (text, expected) => expect(readInvitation(text)).toEqual(expected));
});

it.each([
  ["ws://[::1]:7430", "ws://[::1]:7430"],
  ["https://hub.example.com/path", "wss://hub.example.com"],
  ["http://10.0.0.7:7430", undefined],
  ["http://127.0.0.1.example.com", undefined],
  ["http://user:word@127.0.0.1", undefined],
  ["ftp://127.0.0.1", undefined],
  ["127.0.0.1:", "ws://127.0.0.1"],
  ["", undefined],
])("a hub at %j is reached at %j", (text, expected) => expect(hubAddress(text)).toBe(expected));

it.each([
  [
    { port: 7430, token: "t" },
    { hub: "ws://127.0.0.1:7430", secret: "t", isCode: false },
  ],
  [{ port: 0, token: "t" }, undefined],
  [{ port: 7430.5, token: "t" }, undefined],
  [{ port: "7430", token: "t" }, undefined],
  [{ port: 7430 }, undefined],
  [{ error: "the hub is not running" }, undefined],
  [null, undefined],
])("the host answered %j", (answer, expected) => expect(readHostAnswer(answer)).toEqual(expected));

it.each([
  [
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
    "Chromium/156",
  ],
  ["… HeadlessChrome/156.0.0.0 Safari/537.36", "Chromium/156"],
  ["… Chrome/156.0.0.0 Safari/537.36 Edg/156.0.0.0", "Edge/156"],
  ["something else", "unknown"],
])("%s is %s", (userAgent, expected) => expect(browserName(userAgent)).toBe(expected));

it.each([
  ["https://example.com/shop?x#y", "https://example.com", "example.com"],
  ["http://localhost:3000/", "http://localhost:3000", "http://localhost:3000"],
  ["file:///home/me/b.html", "file://", "Files on this computer"],
])("%s belongs to %s, said %s", (url, site, name) => {
  expect(siteOf(url)).toBe(site);
  expect(siteName(site)).toBe(name);
  expect(patternOf(site)).toBe(`${site}/*`);
});

it.each([
  "chrome://version",
  "about:blank",
  "data:text/html,x",
  "chrome-extension://abc/x.html",
  "",
  undefined,
])("%j belongs to no site", (url) => expect(siteOf(url)).toBeUndefined());
