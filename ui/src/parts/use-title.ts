/** The document's title follows the screen. */

import { useEffect } from "react";

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Toolgrove`;
  }, [title]);
}
