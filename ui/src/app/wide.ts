/** Whether the page is wide enough for something beside something else. */

import { useSyncExternalStore } from "react";

const query = "(min-width: 64rem)";

export function useWide(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => matchMedia(query).matches,
  );
}
