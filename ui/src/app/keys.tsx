/** Listens for shortcuts, once, for the whole page. */

import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { isTextTarget, type KeyState, press } from "@/lib/keys";
import { copy } from "./clipboard";
import { runCommand } from "./commands";
import { preferences } from "./preferences";
import { toast } from "./toast";

const PLACES = {
  "go-home": "/",
  "go-mcp": "/mcp",
  "go-discover": "/discover",
  "go-chat": "/chat",
  "go-activity": "/activity",
  "go-settings": "/settings",
} as const;

export function useKeys(): void {
  const router = useRouter();
  useEffect(() => {
    let state: KeyState = { waitingSince: undefined };
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const isDialogOpen = document.querySelector("[role=dialog]") !== null;
      const next = press(state, event, {
        typing: isTextTarget(event.target),
        letters: preferences().letters && !isDialogOpen,
        now: event.timeStamp,
      });
      state = next.state;
      const { command } = next;
      if (!command) return;
      if (command in PLACES) void router.navigate({ to: PLACES[command as keyof typeof PLACES] });
      else if (!runCommand(command) && command !== "copy-link") return;
      else if (command === "copy-link") void copyLink();
      event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [router]);
}

async function copyLink(): Promise<void> {
  const done = await copy(location.href);
  await toast(done ? "Copied a link to this view" : "This browser does not allow copying");
}
