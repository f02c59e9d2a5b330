/** A box that scrolls, and that a keyboard can reach for it. */

import type { ReactNode } from "react";
import { cn } from "@/lib/class";

export function ScrollBox({
  label,
  className,
  children,
}: {
  label: string;
  className?: string;
  children: ReactNode;
}) {
  return (
    // A group, because a page may have many and only a few landmarks.
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
    <div
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without it a keyboard could not scroll
      tabIndex={0}
      className={cn("thin-scroll overflow-auto", className)}
    >
      {children}
    </div>
  );
}
