/** The shape of what is coming. Shows after 150 ms, so that fast answers do not flicker. */

import { cn } from "@/lib/class";

export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden="true" className={cn("skeleton rounded-sm", className)} />;
}

/** Rows of a list that is being fetched. */
export function SkeletonRows({ rows = 5, className }: { rows?: number; className?: string }) {
  const widths = ["w-2/5", "w-3/5", "w-1/2", "w-2/3", "w-1/3"];
  return (
    <div role="status" className={cn("space-y-3 p-4", className)}>
      <span className="sr-only">Loading</span>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="flex items-center gap-3">
          <Skeleton className="size-4 shrink-0 rounded-full!" />
          <Skeleton className={`h-4 ${widths[index % widths.length]}`} />
        </div>
      ))}
    </div>
  );
}
