/** Single keys and `g` sequences. Nothing here fires while somebody types. */

export type Command =
  | "palette"
  | "shortcuts"
  | "search"
  | "registry"
  | "rail"
  | "toggle-json"
  | "again"
  | "copy-link"
  | "add"
  | "next"
  | "previous"
  | `go-${"home" | "mcp" | "discover" | "chat" | "activity" | "settings"}`;

type Pressed = { key: string; metaKey: boolean; ctrlKey: boolean; altKey: boolean };

const SINGLE: Record<string, Command> = {
  "?": "shortcuts",
  "/": "search",
  "[": "registry",
  "]": "rail",
  e: "toggle-json",
  r: "again",
  y: "copy-link",
  n: "add",
  j: "next",
  k: "previous",
};
const AFTER_G: Record<string, Command> = {
  h: "go-home",
  m: "go-mcp",
  d: "go-discover",
  c: "go-chat",
  a: "go-activity",
  s: "go-settings",
};

/** How long the second key of a sequence may take. */
export const SEQUENCE_MS = 1200;

export type KeyState = { waitingSince: number | undefined };
export type KeyContext = { typing: boolean; letters: boolean; now: number };

/** What a pressed key means. Letters count only outside text fields, and not at all once they are turned off. */
export function press(
  state: KeyState,
  pressed: Pressed,
  { typing, letters, now }: KeyContext,
): { state: KeyState; command?: Command } {
  const idle = { waitingSince: undefined };
  const { key, metaKey, ctrlKey, altKey } = pressed;
  if ((metaKey || ctrlKey) && !altKey && key.toLowerCase() === "k")
    return { state: idle, command: "palette" };
  if (metaKey || ctrlKey || altKey || typing || !letters) return { state: idle };
  const inSequence = state.waitingSince !== undefined && now - state.waitingSince <= SEQUENCE_MS;
  const command = inSequence ? AFTER_G[key] : SINGLE[key];
  if (command) return { state: idle, command };
  return { state: !inSequence && key === "g" ? { waitingSince: now } : idle };
}

/** Whether keys typed into an element are text. */
export function isTextTarget(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.tagName === "TEXTAREA" || target.tagName === "SELECT") return true;
  if (target.tagName !== "INPUT") return false;
  return !["checkbox", "radio", "button", "submit", "file"].includes((target as HTMLInputElement).type);
}
