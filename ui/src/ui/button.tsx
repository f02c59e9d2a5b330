/** Buttons. Verbs inside, at least 24 px high. */

import { cva, type VariantProps } from "class-variance-authority";
import { Slot } from "radix-ui";
import { type ComponentProps, useState } from "react";
import { cn } from "@/lib/class";

const looks = cva(
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

type Props = ComponentProps<"button"> & VariantProps<typeof looks> & { asChild?: boolean };

export function Button({ className, variant, size, asChild, type = "button", ...props }: Props) {
  const look = cn(looks({ variant, size }), className);
  if (asChild) return <Slot.Root className={look} {...props} />;
  return <Native type={type} className={look} {...props} />;
}

/** Switched off while it has the focus, it keeps it until it is left: else the next key would lead nowhere. */
function Native({ disabled = false, onFocus, onBlur, onClick, ...props }: ComponentProps<"button">) {
  const [hasFocus, setFocus] = useState(false);
  const isHeld = disabled && hasFocus;
  return (
    <button
      {...props}
      disabled={disabled && !isHeld}
      aria-disabled={isHeld || props["aria-disabled"]}
      onFocus={(event) => {
        setFocus(true);
        onFocus?.(event);
      }}
      onBlur={(event) => {
        setFocus(false);
        onBlur?.(event);
      }}
      onClick={(event) => {
        if (isHeld) event.preventDefault();
        else onClick?.(event);
      }}
    />
  );
}
