/** Where toasts appear. Loaded with the first one. */

import { createRoot } from "react-dom/client";
import { Toaster, toast } from "sonner";

let isMounted = false;

export function show(text: string): void {
  if (!isMounted) {
    isMounted = true;
    const place = document.createElement("div");
    document.body.append(place);
    createRoot(place).render(
      <Toaster
        position="bottom-right"
        toastOptions={{
          unstyled: true,
          classNames: { toast: "rounded-md bg-text px-3 py-2 text-bg text-base shadow-pop" },
        }}
      />,
    );
  }
  // The toaster must be there before it is told something.
  requestAnimationFrame(() => toast(text, { duration: 2500 }));
}
