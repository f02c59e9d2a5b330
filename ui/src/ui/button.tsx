/** Buttons. Verbs inside, at least 24 px high. */

import { cva, type VariantProps } from "class-variance-authority";
import { Slot } from "radix-ui";
import type { ComponentProps } from "react";
import { cn } from "@/lib/class";

const look = cva(
  "inline-flex shrink-0 select-none items-center justify-center gap-1.5 whitespace-nowrap rounded-md font-medium transition-colors duration-150 disabled:pointer-events-none disabled:opacity-50 aria-disabled:opacity-50 [&_svg]:size-4 [&_svg]:shrink-0",
  {
    variants: {
      variant: {
        primary: "bg-accent text-on-accent hover:bg-accent-hover",
        secondary: "border border-line-strong/60 bg-surface hover:bg-hover",
        ghost: "text-muted hover:bg-hover hover:text-text",
        danger: "border border-bad/50 bg-surface text-bad hover:bg-bad-soft",
        link: "h-auto! px-0! text-accent underline-offset-4 hover:underline",
      },
      size: {
        sm: "h-7 px-2.5 text-sm [&_svg]:size-3.5",
        md: "h-8 px-3",
        icon: "size-8",
        "icon-sm": "size-7 [&_svg]:size-3.5",
      },
    },
    defaultVariants: { variant: "secondary", size: "md" },
  },
);

type Props = ComponentProps<"button"> & VariantProps<typeof look> & { asChild?: boolean };

export function Button({ className, variant, size, asChild, type = "button", ...props }: Props) {
  const Component = asChild ? Slot.Root : "button";
  return (
    <Component {...(asChild ? {} : { type })} className={cn(look({ variant, size }), className)} {...props} />
  );
}
