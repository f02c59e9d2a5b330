/** A word in a box. */

import { cva, type VariantProps } from "class-variance-authority";
import type { ComponentProps } from "react";
import { cn } from "@/lib/class";

const look = cva(
  "inline-flex h-5 shrink-0 items-center gap-1 rounded-sm px-1.5 font-medium text-xs [&_svg]:size-3",
  {
    variants: {
      tone: {
        plain: "bg-hover text-muted",
        accent: "bg-accent-soft text-accent",
        info: "bg-info-soft text-info",
        warn: "bg-warn-soft text-warn",
        bad: "bg-bad-soft text-bad",
      },
    },
    defaultVariants: { tone: "plain" },
  },
);

export function Badge({ className, tone, ...props }: ComponentProps<"span"> & VariantProps<typeof look>) {
  return <span className={cn(look({ tone }), className)} {...props} />;
}
