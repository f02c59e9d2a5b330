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
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it a keyboard could not scroll
    <section aria-label={label} tabIndex={0} className={cn("thin-scroll overflow-auto", className)}>
      {children}
    </section>
  );
}
