/** A name for what has only an icon. */

import { Tooltip as Primitive } from "radix-ui";
import type { ReactNode } from "react";

export const TooltipProvider = Primitive.Provider;

export function Tooltip({
  text,
  children,
  side = "bottom",
}: {
  text: ReactNode;
  children: ReactNode;
  side?: "bottom" | "right" | "top" | "left";
}) {
  return (
    <Primitive.Root>
      <Primitive.Trigger asChild>{children}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content
          side={side}
          sideOffset={6}
          className="z-50 max-w-72 animate-in rounded-md bg-text px-2 py-1 text-bg text-sm shadow-pop"
        >
          {text}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
