/** Pictures that go with what is said. */

import { Plus, X } from "lucide-react";
import { useRef } from "react";
import type { Picture } from "@/api/types.gen";
import { dataUrl } from "@/lib/untrusted";
import { Button } from "@/ui/button";

export function Pictures({ images, onRemove }: { images: Picture[]; onRemove: (at: number) => void }) {
  if (images.length === 0) return null;
  return (
    <ul aria-label="Attached" className="flex flex-wrap gap-2 px-3 pt-2.5">
      {images.map((it, index) => (
        <li key={index} className="relative">
          <img
            src={dataUrl("image", it.mimeType, it.data)}
            alt={`Attached ${index + 1}`}
            className="size-16 rounded-md border object-cover"
          />
          <Button
            size="icon-sm"
            className="-top-1.5 -right-1.5 absolute size-6!"
            aria-label={`Take picture ${index + 1} out`}
            onClick={() => onRemove(index)}
          >
            <X />
          </Button>
        </li>
      ))}
    </ul>
  );
}

export function PictureButton({ onFiles }: { onFiles: (files: Iterable<File>) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        accept="image/*"
        multiple
        hidden
        aria-label="Pictures"
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
      <Button
        variant="ghost"
        size="icon-sm"
        aria-label="Attach pictures"
        onClick={() => input.current?.click()}
      >
        <Plus />
      </Button>
    </>
  );
}

export function pictureOf(file: File): Promise<Picture> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () =>
      resolve({ mimeType: file.type, data: String(reader.result).split(",", 2)[1] ?? "" });
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
