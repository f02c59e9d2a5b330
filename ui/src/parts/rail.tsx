/** Details beside a list; on a narrow page a sheet above it. */

import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useCommand } from "@/app/commands";
import { useWide } from "@/app/wide";
import { Button } from "@/ui/button";
import { Dialog, DialogContent } from "@/ui/dialog";

type Props = { title: string; onClose: () => void; children: ReactNode };

export function Rail({ title, onClose, children }: Props) {
  const isWide = useWide();
  useCommand("rail", onClose);
  if (!isWide) {
    return (
      <Dialog open onOpenChange={(open) => !open && onClose()}>
        <DialogContent side="right" title={title}>
          <div className="thin-scroll min-h-0 flex-1 overflow-y-auto">{children}</div>
        </DialogContent>
      </Dialog>
    );
  }
  return (
    <aside
      aria-label={title}
      className="sticky top-0 flex h-[calc(100dvh-2.75rem)] w-[28rem] shrink-0 flex-col border-l bg-surface"
    >
      <header className="flex items-center gap-2 border-b px-4 py-2">
        <h2 className="min-w-0 flex-1 truncate font-semibold text-lg">{title}</h2>
        <Button variant="ghost" size="icon-sm" aria-label="Close the details" onClick={onClose}>
          <X />
        </Button>
      </header>
      <div className="thin-scroll min-h-0 flex-1 overflow-y-auto">{children}</div>
    </aside>
  );
}
