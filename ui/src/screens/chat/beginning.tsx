/** Nothing was said yet: what could be, from one's own tools. */

import { useQuery } from "@tanstack/react-query";
import { registryQuery } from "@/api/queries";
import { budWord } from "@/lib/slash";
import { Foreign } from "@/parts/foreign";
import { Button } from "@/ui/button";
import { modelsQuery } from "../bud/api";
import { NoModel } from "./no-model";

export function Beginning({ onText }: { onText: (text: string) => void }) {
  const { data: models } = useQuery(modelsQuery);
  const { data: entries } = useQuery(registryQuery);
  const usable = (entries ?? []).filter((it) => it.reason === null && it.tools > 0);
  const starters = usable.slice(0, 4).map((it) => {
    const slug = it.instance?.slug ?? it.name;
    return it.kind === "bud"
      ? { key: it.id, words: `Ask ${it.name}`, text: `${budWord(it.name)} ` }
      : { key: it.id, words: `Call a tool of ${it.name}`, text: `/call ${slug}.` };
  });
  return (
    <div className="thin-scroll min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto flex min-h-full w-full max-w-[50rem] flex-col justify-end gap-4 px-3 py-6 md:px-6">
        {models?.providers.length === 0 && <NoModel />}
        <p className="text-muted">Ask something, or call a tool.</p>
        {starters.length > 0 && (
          <ul className="grid gap-2 sm:grid-cols-2">
            {starters.map((it) => (
              <li key={it.key}>
                <Button className="w-full justify-start! overflow-hidden" onClick={() => onText(it.text)}>
                  <Foreign text={it.words} plain className="truncate" />
                </Button>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}
