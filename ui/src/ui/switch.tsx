/** On or off, at once. The label says what; the switch sends the wanted state. */

import { Switch as Primitive } from "radix-ui";
import type { ComponentProps } from "react";
import { cn } from "@/lib/class";

export function Switch({ className, ...props }: ComponentProps<typeof Primitive.Root>) {
  return (
    <Primitive.Root
      className={cn(
        "group inline-flex h-6 w-9 shrink-0 items-center rounded-full disabled:opacity-50",
        className,
      )}
      {...props}
    >
      <span className="flex h-5 w-9 items-center rounded-full border border-line-strong bg-sunken px-0.5 transition-colors group-data-[state=checked]:border-accent group-data-[state=checked]:bg-accent">
        <Primitive.Thumb className="size-3.5 rounded-full bg-line-strong transition-transform duration-150 data-[state=checked]:translate-x-4 data-[state=checked]:bg-on-accent forced-colors:bg-[ButtonText]" />
      </span>
    </Primitive.Root>
  );
}
