/** An emoji, or a small picture that is kept inside the bud. */

import { X } from "lucide-react";
import { useState } from "react";
import { FormField } from "@/parts/form-field";
import { Button } from "@/ui/button";
import { Input } from "@/ui/input";

const MOST_BYTES = 64 * 1024;

type Props = { value: string; problem: string | undefined; onChange: (value: string) => void };

export function AvatarField({ value, problem, onChange }: Props) {
  const [refused, setRefused] = useState<string>();
  const isPicture = value.startsWith("data:image/");
  const read = (file: File | undefined) => {
    if (!file) return;
    if (file.size > MOST_BYTES) {
      setRefused("A picture may have at most 64 kB");
      return;
    }
    const reader = new FileReader();
    reader.onload = () => {
      setRefused(undefined);
      onChange(String(reader.result));
    };
    reader.readAsDataURL(file);
  };
  return (
    <FormField label="Avatar" optional problem={refused ?? problem} about="An emoji, or a picture.">
      {(props) => (
        <div className="flex flex-wrap items-center gap-3">
          {isPicture ? (
            <>
              <img src={value} alt="The avatar" className="size-10 rounded-md border object-cover" />
              <Button {...props} size="sm" onClick={() => onChange("")}>
                <X />
                Take it out
              </Button>
            </>
          ) : (
            <>
              <Input
                {...props}
                className="w-20!"
                placeholder="🌱"
                value={value}
                onChange={(event) => onChange(event.target.value)}
              />
              <input
                type="file"
                aria-label="Picture as avatar"
                accept="image/png,image/jpeg,image/gif,image/webp,image/avif"
                onChange={(event) => read(event.target.files?.[0])}
                className="block min-w-0 flex-1 text-muted file:mr-3 file:h-8 file:rounded-md file:border file:border-line-strong/60 file:bg-surface file:px-3 file:text-text"
              />
            </>
          )}
        </div>
      )}
    </FormField>
  );
}
