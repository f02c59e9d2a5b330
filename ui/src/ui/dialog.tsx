/** Windows above the page: a dialog in the middle, or a sheet at a side. Focus is trapped and given back. */

import { cva, type VariantProps } from "class-variance-authority";
import { X } from "lucide-react";
import { Dialog as Primitive } from "radix-ui";
import { type ComponentProps, type ReactNode, useState } from "react";
import { cn } from "@/lib/class";
import { Button } from "./button";

export const Dialog = Primitive.Root;
export const DialogTrigger = Primitive.Trigger;
export const DialogClose = Primitive.Close;

const place = cva(
  "fixed z-50 flex max-h-dvh flex-col bg-surface text-text shadow-pop outline-none focus-visible:outline-none",
  {
    variants: {
      side: {
        middle:
          "top-[min(12vh,6rem)] left-1/2 max-h-[min(80vh,44rem)] w-[min(calc(100vw-1.5rem),32rem)] -translate-x-1/2 animate-in rounded-lg border",
        right: "inset-y-0 right-0 w-[min(100vw,36rem)] animate-sheet border-l",
        left: "inset-y-0 left-0 w-[min(88vw,20rem)] animate-sheet border-r [--from:-12px]",
      },
    },
    defaultVariants: { side: "middle" },
  },
);

type Props = Omit<ComponentProps<typeof Primitive.Content>, "title"> &
  VariantProps<typeof place> & { title: ReactNode; description?: ReactNode; bare?: boolean };

export function DialogContent(props: Props) {
  return (
    <Primitive.Portal>
      <Primitive.Overlay className="fixed inset-0 z-40 animate-in bg-shade" />
      <Window {...props} />
    </Primitive.Portal>
  );
}

/** Drawn only while it is open. Most windows have no trigger, so it remembers itself who had the focus. */
function Window({ className, side, title, description, bare, children, ...props }: Props) {
  const [before] = useState(() => document.activeElement);
  const described = description === undefined ? { "aria-describedby": undefined } : {};
  return (
    <Primitive.Content
      className={cn(place({ side }), className)}
      onCloseAutoFocus={(event) => {
        event.preventDefault();
        giveBack(before);
      }}
      {...described}
      {...props}
    >
      {bare ? (
        <Primitive.Title className="sr-only">{title}</Primitive.Title>
      ) : (
        <div className="flex items-start gap-3 border-b px-4 py-3">
          <div className="min-w-0 flex-1">
            <Primitive.Title className="font-semibold text-lg">{title}</Primitive.Title>
            {description !== undefined && (
              <Primitive.Description className="mt-0.5 text-muted">{description}</Primitive.Description>
            )}
          </div>
          <Primitive.Close asChild>
            <Button variant="ghost" size="icon-sm" aria-label="Close">
              <X />
            </Button>
          </Primitive.Close>
        </div>
      )}
      {children}
    </Primitive.Content>
  );
}

/** To whoever had the focus; for an item of a menu, to the button of the menu; if both are gone, to the page. */
function giveBack(before: Element | null): void {
  // Whoever took it meanwhile keeps it: another window, or a screen that was gone to.
  if (document.activeElement !== document.body) return;
  const menu = before?.closest("[role=menu]")?.getAttribute("aria-labelledby");
  const wanted = menu ? document.getElementById(menu) : before;
  const taker = wanted?.isConnected && wanted !== document.body ? wanted : document.getElementById("main");
  (taker as HTMLElement | null)?.focus();
}

export function DialogBody({ className, ...props }: ComponentProps<"div">) {
  return <div className={cn("thin-scroll min-h-0 flex-1 overflow-y-auto px-4 py-4", className)} {...props} />;
}

export function DialogFooter({ className, ...props }: ComponentProps<"div">) {
  return (
    <div
      className={cn("flex flex-wrap items-center justify-end gap-2 border-t px-4 py-3", className)}
      {...props}
    />
  );
}
