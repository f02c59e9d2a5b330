/** Whether the page hears of changes right now. */

import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { type Live, listen } from "@/api/events";

let current: Live = "connecting";
const listeners = new Set<() => void>();

export function startListening(client: QueryClient): () => void {
  return listen(client, {
    onState: (state) => {
      current = state;
      for (const it of listeners) it();
    },
  });
}

export function useLive(): Live {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}
