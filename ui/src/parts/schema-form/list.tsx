/** The entries of a list. */

import { Plus, X } from "lucide-react";
import type { Json, Path } from "@/lib/json";
import type { Field } from "@/lib/schema";
import { blank } from "@/lib/schema-value";
import { Button } from "@/ui/button";
import { useForm } from "./context";
import { FieldView } from "./field-view";

export function ListFields({ items, value, path }: { items: Field; value: Json | undefined; path: Path }) {
  const { set } = useForm();
  const list = Array.isArray(value) ? value : [];
  return (
    <>
      {list.map((entry, index) => (
        <div key={index} className="flex items-start gap-2">
          <div className="min-w-0 flex-1">
            <FieldView
              field={items}
              value={entry}
              path={[...path, index]}
              required
              label={String(index + 1)}
            />
          </div>
          <Button
            variant="ghost"
            size="icon-sm"
            aria-label={`Remove entry ${index + 1}`}
            onClick={() => set([...path, index], undefined)}
          >
            <X />
          </Button>
        </div>
      ))}
      <Button size="sm" onClick={() => set(path, [...list, blank(items)])}>
        <Plus />
        Add entry
      </Button>
    </>
  );
}
