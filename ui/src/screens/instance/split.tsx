/** A list beside what is chosen from it; on a narrow page one after the other. */

import { ArrowLeft } from "lucide-react";
import type { ReactNode } from "react";
import { cn } from "@/lib/class";
import { Button } from "@/ui/button";

type Props = { list: ReactNode; detail: ReactNode; isChosen: boolean; onBack: () => void; back: string };

export function Split({ list, detail, isChosen, onBack, back }: Props) {
  return (
    <div className="@container/tab h-full">
      <div className="grid h-full min-h-0 grid-cols-1 @2xl/tab:grid-cols-[minmax(15rem,20rem)_minmax(0,1fr)]">
        <div
          className={cn(
            "thin-scroll min-h-0 overflow-y-auto bg-surface @2xl/tab:block @2xl/tab:border-r",
            isChosen && "hidden",
          )}
        >
          {list}
        </div>
        <div
          className={cn(
            "@container thin-scroll min-h-0 overflow-y-auto",
            !isChosen && "hidden @2xl/tab:block",
          )}
        >
          <Button variant="ghost" size="sm" className="m-2 @2xl/tab:hidden!" onClick={onBack}>
            <ArrowLeft />
            {back}
          </Button>
          {detail}
        </div>
      </div>
    </div>
  );
}
