/** Panels of which one is shown. */

import { Tabs as Primitive } from "radix-ui";
import { type ComponentProps, useEffect, useRef } from "react";
import { cn } from "@/lib/class";

export function Tabs({ className, ...props }: ComponentProps<typeof Primitive.Root>) {
  return <Primitive.Root className={cn("flex min-h-0 flex-col", className)} {...props} />;
}

export function TabsList({ className, ...props }: ComponentProps<typeof Primitive.List>) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // On a narrow page the tab that is shown may lie beyond the edge.
    list.current
      ?.querySelector("[data-state=active]")
      ?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  });
  return (
    <Primitive.List
      ref={list}
      className={cn("thin-scroll flex shrink-0 gap-1 overflow-x-auto border-b", className)}
      {...props}
    />
  );
}

export function TabsTrigger({ className, ...props }: ComponentProps<typeof Primitive.Trigger>) {
  return (
    <Primitive.Trigger
      className={cn(
        "-mb-px h-9 shrink-0 whitespace-nowrap border-transparent border-b-2 px-2.5 text-muted transition-colors hover:text-text focus-visible:outline-offset-[-2px] data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-text",
        className,
      )}
      {...props}
    />
  );
}

export function TabsContent({ className, ...props }: ComponentProps<typeof Primitive.Content>) {
  return (
    <Primitive.Content className={cn("min-h-0 focus-visible:outline-offset-[-2px]", className)} {...props} />
  );
}
