/** Whether a tool may be called. */

import type { Permission } from "@/api/types";
import { cn } from "@/lib/class";
import { Select } from "@/ui/input";

type Props = { tool: string; value: Permission; onChange: (value: Permission) => void; small?: boolean };

export function PermissionSelect({ tool, value, onChange, small }: Props) {
  return (
    <Select
      aria-label={`May ${tool} be called`}
      value={value}
      onChange={(event) => onChange(event.target.value as Permission)}
      className={cn(
        small &&
          "text-muted text-sm [&_select]:h-7 [&_select]:min-h-7 [&_select]:border-transparent [&_select]:bg-transparent",
        value === "block" && "text-bad!",
      )}
    >
      <option value="allow">Allow</option>
      {value === "ask" && <option value="ask">Ask</option>}
      <option value="block">Block</option>
    </Select>
  );
}
