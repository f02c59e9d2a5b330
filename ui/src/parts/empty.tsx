/** Nothing here yet: one sentence, one thing to do, one thing to read. */

import type { ReactNode } from "react";

export function Empty({ sentence, children }: { sentence: ReactNode; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-3 px-4 py-14 text-center">
      <p className="max-w-[48ch] text-muted">{sentence}</p>
      {children && <div className="flex flex-wrap items-center justify-center gap-2">{children}</div>}
    </div>
  );
}
