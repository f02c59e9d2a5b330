/** A file, sent as base64. */

import { X } from "lucide-react";
import { type ChangeEvent, useState } from "react";
import { bytes } from "@/lib/format";
import type { Json } from "@/lib/json";
import { Button } from "@/ui/button";

type Props = {
  id: string;
  "aria-describedby": string | undefined;
  value: Json | undefined;
  onChange: (value: string | undefined) => void;
};

export function FileBox({ value, onChange, ...props }: Props) {
  const [name, setName] = useState("");
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0];
    if (!file) return;
    setName(file.name);
    onChange(await asBase64(file));
  };
  if (typeof value === "string" && value !== "") {
    return (
      <span className="flex items-center gap-2">
        <span className="min-w-0 truncate">{name || "File"}</span>
        <span className="text-muted">{bytes(Math.floor((value.length * 3) / 4))}</span>
        <Button
          variant="ghost"
          size="icon-sm"
          aria-label="Take the file out"
          onClick={() => onChange(undefined)}
        >
          <X />
        </Button>
      </span>
    );
  }
  return (
    <input
      type="file"
      {...props}
      onChange={(event) => void read(event)}
      className="block w-full text-muted file:mr-3 file:h-8 file:rounded-md file:border file:border-line-strong/60 file:bg-surface file:px-3 file:text-text"
    />
  );
}

function asBase64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",", 2)[1] ?? "");
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
