/** Text boxes, text areas and choices: the browser's own, dressed. */

import { ChevronDown } from "lucide-react";
import type { ComponentProps } from "react";
import { cn } from "@/lib/class";

const box =
  "w-full rounded-md border border-line-strong/70 bg-surface px-2.5 transition-colors hover:border-line-strong focus-visible:outline-offset-0 disabled:opacity-60 aria-invalid:border-bad";

export function Input({ className, ...props }: ComponentProps<"input">) {
  return <input className={cn(box, "h-8 min-w-0", className)} {...props} />;
}

export function Textarea({ className, ...props }: ComponentProps<"textarea">) {
  return <textarea className={cn(box, "thin-scroll block min-h-16 resize-y py-1.5", className)} {...props} />;
}

export function Select({ className, children, ...props }: ComponentProps<"select">) {
  return (
    <span className={cn("relative inline-block", className)}>
      <select className={cn(box, "h-full min-h-8 appearance-none pr-7")} {...props}>
        {children}
      </select>
      <ChevronDown
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-2 size-3.5 -translate-y-1/2 text-muted"
      />
    </span>
  );
}

export function Checkbox({ className, children, ...props }: ComponentProps<"input">) {
  return (
    <label className={cn("flex min-h-6 items-center gap-2", className)}>
      <input type="checkbox" className="size-4 shrink-0 accent-accent" {...props} />
      {children}
    </label>
  );
}
