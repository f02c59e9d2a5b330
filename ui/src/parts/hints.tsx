/** What a tool says about itself. Words of the server: nothing is decided by them. */

import type { ToolAnnotations } from "@/api/types";
import { Badge } from "@/ui/badge";

export function Hints({ annotations }: { annotations: ToolAnnotations | undefined }) {
  if (!annotations) return null;
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  return (
    <>
      {readOnlyHint && <Badge tone="accent">read-only</Badge>}
      {destructiveHint && !readOnlyHint && <Badge tone="bad">destructive</Badge>}
      {idempotentHint && !readOnlyHint && <Badge>idempotent</Badge>}
      {openWorldHint && <Badge tone="info">open-world</Badge>}
    </>
  );
}
