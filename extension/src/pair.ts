/** The page behind a pairing link. Web pages cannot open it, and it does nothing without a click. */

import { hubAddress } from "./pairing";
import { type Command, POPUP_PORT, type ToPopup } from "./view";

const given = new URLSearchParams(location.search);
const hub = given.get("hub") ?? `127.0.0.1:${given.get("port") ?? ""}`;
const code = given.get("code") ?? "";
const port = chrome.runtime.connect({ name: POPUP_PORT });

const question = document.getElementById("question");
const outcome = document.getElementById("outcome");
const yes = document.getElementById("yes") as HTMLButtonElement | null;

function say(text: string): void {
  if (outcome) outcome.textContent = text;
}

let isAsked = false;
port.onMessage.addListener((message: ToPopup) => {
  if (!isAsked) return;
  if (message.type === "problem") return say(message.text);
  const { state } = message.view;
  if (state === "open") say("Paired. You can close this tab.");
  else if (state === "refused") say("The hub refused: the code is used or too old. Ask for a new one.");
  else if (state === "impostor") say("What answers there is not your hub.");
  else if (state === "outdated") say("The hub speaks another version: update the extension.");
  else if (state === "lost") say("No hub answers there.");
});

if (question) {
  question.textContent = hubAddress(hub)
    ? `The hub at ${hub} wants to use the tools of pages you share.`
    : "This link names no hub that can be paired with.";
}
if (yes) yes.disabled = !hubAddress(hub) || code === "";
yes?.addEventListener("click", () => {
  isAsked = true;
  say("Pairing");
  port.postMessage({ type: "pair", text: `${hub}#${code}` } satisfies Command);
});
document.getElementById("no")?.addEventListener("click", () => window.close());
