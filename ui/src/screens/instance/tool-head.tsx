/** A tool's name, what it says it does, and whether it may be called. */

import { asProblem } from "@/api/http";
import { useSwitchTool } from "@/api/mutations";
import type { Permission, Tool, WholeInstance } from "@/api/types";
import { CopyButton } from "@/parts/copy-button";
import { Foreign } from "@/parts/foreign";
import { Hints } from "@/parts/hints";
import { ProblemView } from "@/parts/problem";
import { Badge } from "@/ui/badge";
import { Switch } from "@/ui/switch";
import { PermissionSelect } from "./permission-select";

export function ToolHead({ instance, tool }: { instance: WholeInstance; tool: Tool }) {
  const change = useSwitchTool(instance.id);
  const enabled = change.isPending ? (change.variables.enabled ?? tool.enabled) : tool.enabled;
  const permission: Permission = change.isPending
    ? (change.variables.permission ?? tool.permission)
    : tool.permission;
  return (
    <header className="space-y-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h2 className="min-w-0 font-mono font-semibold text-lg">
          <Foreign text={tool.name} plain />
        </h2>
        <Hints annotations={tool.annotations} />
        {tool.changed && <Badge tone="warn">changed</Badge>}
      </div>
      <p className="flex min-w-0 items-center gap-1 text-muted text-sm">
        <Foreign text={tool.public_name} plain className="min-w-0 font-mono" />
        <CopyButton text={tool.public_name} label="Copy the name clients see" />
      </p>
      {tool.description && <Foreign text={tool.description} block className="max-w-[72ch]" />}
      <div className="flex flex-wrap items-center gap-x-5 gap-y-2">
        <span className="flex items-center gap-2">
          <Switch
            checked={enabled}
            onCheckedChange={(wanted) => change.mutate({ tool: tool.name, enabled: wanted })}
            aria-label={`${tool.name} is on`}
          />
          {enabled ? "On" : "Off"}
        </span>
        <PermissionSelect
          tool={tool.name}
          value={permission}
          onChange={(wanted) => change.mutate({ tool: tool.name, permission: wanted })}
        />
      </div>
      {change.error && <ProblemView problem={asProblem(change.error)} />}
    </header>
  );
}
