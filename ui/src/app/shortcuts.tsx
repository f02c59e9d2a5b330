/** The sheet of shortcuts. */

import { SHEET } from "@/lib/key-sheet";
import { ScrollBox } from "@/parts/scroll-box";
import { Dialog, DialogContent } from "@/ui/dialog";

export default function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open onOpenChange={(open) => !open && onClose()}>
      <DialogContent title="Shortcuts" description="Single letters can be turned off in Settings.">
        <ScrollBox label="Shortcuts" className="min-h-0 flex-1 px-4 py-4">
          <dl className="grid grid-cols-[auto_1fr] items-center gap-x-4 gap-y-1.5">
            {SHEET.map((it) => (
              <div key={it.does} className="contents">
                <dt className="flex gap-1">
                  {it.keys.map((key) => (
                    <kbd key={key} className="rounded-sm border bg-sunken px-1.5 text-sm">
                      {key}
                    </kbd>
                  ))}
                </dt>
                <dd>{it.does}</dd>
              </div>
            ))}
          </dl>
        </ScrollBox>
      </DialogContent>
    </Dialog>
  );
}
