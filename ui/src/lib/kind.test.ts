import { expect, test } from "vitest";
import { kindWord, withoutFolders } from "./kind";

test.each([
  ["/usr/local/bin/toolgrove demo-server /srv/x", "toolgrove demo-server /srv/x"],
  ["npx -y @scope/server", "npx -y @scope/server"],
  ["./run", "run"],
  ["", ""],
])("%s begins with its program", (command, expected) => expect(withoutFolders(command)).toBe(expected));

test("a transport of a newer hub keeps its own word", () => {
  expect([kindWord("stdio"), kindWord("carrier-pigeon")]).toEqual(["Process", "carrier-pigeon"]);
});
