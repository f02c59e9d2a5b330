/** More about what is under the pointer or in focus, for the eyes; nothing in it can be pressed. */

import { HoverCard as Primitive } from "radix-ui";
import type { ComponentProps } from "react";
import { cn } from "@/lib/class";

export const HoverCard = Primitive.Root;
export const HoverCardTrigger = Primitive.Trigger;

export function HoverCardContent({ className, ...props }: ComponentProps<typeof Primitive.Content>) {
  return (
    <Primitive.Portal>
      <Primitive.Content
        aria-hidden
        side="right"
        align="start"
        sideOffset={8}
        className={cn(
          "z-50 w-80 max-w-[90vw] animate-in rounded-lg border bg-surface p-3 shadow-pop",
          className,
        )}
        {...props}
      />
    </Primitive.Portal>
  );
}
