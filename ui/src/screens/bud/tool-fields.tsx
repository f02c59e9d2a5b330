/** What a bud may use: servers, and which of their tools. */

import { useQuery } from "@tanstack/react-query";
import { registryQuery } from "@/api/queries";
import type { ToolChoice } from "@/api/types.gen";
import type { BudDraft } from "@/lib/bud-draft";
import { plural } from "@/lib/format";
import { Foreign } from "@/parts/foreign";
import { FormField } from "@/parts/form-field";
import { ServerIcon } from "@/parts/server-icon";
import { Checkbox, Input, Select } from "@/ui/input";

type Props = { draft: BudDraft; set: (change: Partial<BudDraft>) => void };

export function ToolFields({ draft, set }: Props) {
  const { data: entries } = useQuery(registryQuery);
  const word = (it: NonNullable<typeof entries>[number]) => it.instance?.slug ?? it.name;
  const known = (entries ?? []).filter((it) => it.reason === null);
  const others = draft.servers.filter(
    (it) => !known.some((one) => [word(one), one.name, one.id].includes(it)),
  );
  return (
    <fieldset className="min-w-0 space-y-3">
      <legend className="font-semibold">Tools</legend>
      <p className="text-muted">It uses them with the rights of whoever calls it, never more.</p>
      <ul className="thin-scroll max-h-60 overflow-y-auto rounded-md border p-2">
        {known.map((it) => {
          const names = [word(it), it.name, it.id];
          const isOn = draft.servers.some((one) => names.includes(one));
          return (
            <li key={it.id}>
              <Checkbox
                checked={isOn}
                onChange={() =>
                  set({
                    servers: isOn
                      ? draft.servers.filter((one) => !names.includes(one))
                      : [...draft.servers, word(it)],
                  })
                }
              >
                <ServerIcon icon={it.icon} name={it.name} kind={it.kind} transport={it.transport} />
                <Foreign text={it.name} plain className="min-w-0 flex-1 truncate" />
                <span className="text-muted text-sm">{plural(it.tools, "tool")}</span>
              </Checkbox>
            </li>
          );
        })}
        {others.map((it) => (
          <li key={it}>
            <Checkbox checked onChange={() => set({ servers: draft.servers.filter((one) => one !== it) })}>
              <Foreign text={it} plain className="min-w-0 flex-1 truncate" />
              <span className="text-muted text-sm">not known here</span>
            </Checkbox>
          </li>
        ))}
        {entries && known.length + others.length === 0 && <li className="text-muted">No servers yet</li>}
      </ul>
      <FormField
        label="Only these tools"
        optional
        about="Names, or server.tool; empty: all of these servers."
      >
        {(props) => (
          <Input
            {...props}
            value={draft.tools}
            onChange={(event) => set({ tools: event.target.value })}
            className="font-mono"
          />
        )}
      </FormField>
      <FormField label="Without these tools" optional>
        {(props) => (
          <Input
            {...props}
            value={draft.disabled}
            onChange={(event) => set({ disabled: event.target.value })}
            className="font-mono"
          />
        )}
      </FormField>
      <FormField label="Use of tools">
        {(props) => (
          <Select
            {...props}
            value={draft.choice}
            onChange={(event) => set({ choice: event.target.value as ToolChoice | "" })}
          >
            <option value="">As the hub decides</option>
            <option value="auto">As the model likes</option>
            <option value="required">Always at least one</option>
            <option value="none">Never</option>
          </Select>
        )}
      </FormField>
    </fieldset>
  );
}
