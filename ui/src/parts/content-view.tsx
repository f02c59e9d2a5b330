/** The parts of a result, each as what it is. Nothing in them runs, and nothing is fetched. */

import { Download, FileText } from "lucide-react";
import { useState } from "react";
import { jsonOf, type Part } from "@/lib/content";
import { bytes, count } from "@/lib/format";
import { dataUrl, safeLink } from "@/lib/untrusted";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Foreign } from "./foreign";
import { JsonView } from "./json-view";

const LIMIT = 4000;

export function ContentView({ part }: { part: Part }) {
  switch (part.kind) {
    case "text":
      return <TextView text={part.text} />;
    case "image":
    case "audio":
      return <MediaView kind={part.kind} mimeType={part.mimeType} data={part.data} />;
    case "resource":
      return <ResourceView part={part} />;
    case "link":
      return <LinkView part={part} />;
    case "unknown":
      return <JsonView value={part.value} />;
  }
}

export function TextView({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  const json = jsonOf(text);
  if (json !== undefined) return <JsonView value={json} />;
  const shown = isWhole ? text : text.slice(0, LIMIT);
  return (
    <div>
      <Foreign text={shown} block />
      {shown.length < text.length && (
        <Button size="sm" className="mt-2" onClick={() => setWhole(true)}>
          Expand, {count(text.length)} characters
        </Button>
      )}
    </div>
  );
}

function MediaView({ kind, mimeType, data }: { kind: "image" | "audio"; mimeType: string; data: string }) {
  const url = dataUrl(kind, mimeType, data);
  const about = `${mimeType || "unknown type"}, ${bytes(Math.floor((data.length * 3) / 4))}`;
  if (!url) return <p className="text-muted">Not shown: {about}</p>;
  return (
    <figure className="space-y-1">
      {kind === "image" ? (
        <img
          src={url}
          alt={`From the tool, ${about}`}
          className="max-h-96 max-w-full rounded-md border bg-sunken object-contain [image-rendering:auto]"
        />
      ) : (
        // biome-ignore lint/a11y/useMediaCaption: a tool sends no captions
        <audio controls src={url} className="w-full" />
      )}
      <figcaption className="text-muted text-sm">{about}</figcaption>
    </figure>
  );
}

function ResourceView({ part }: { part: Extract<Part, { kind: "resource" }> }) {
  const { uri, mimeType, text, blob } = part;
  const isImage = blob !== undefined && mimeType.startsWith("image/");
  return (
    <div className="rounded-md border">
      <p className="flex flex-wrap items-center gap-2 border-b bg-sunken px-3 py-1.5">
        <FileText aria-hidden className="size-4 shrink-0 text-muted" />
        <Foreign text={uri} plain className="min-w-0 flex-1 font-mono text-sm" />
        {mimeType && <Badge>{mimeType}</Badge>}
        {blob !== undefined && <SaveButton blob={blob} mimeType={mimeType} name={uri} />}
      </p>
      <div className="p-3">
        {text !== undefined && <TextView text={text} />}
        {isImage && <MediaView kind="image" mimeType={mimeType} data={blob} />}
        {blob !== undefined && !isImage && (
          <p className="text-muted">{bytes(Math.floor((blob.length * 3) / 4))}</p>
        )}
      </div>
    </div>
  );
}

function SaveButton({ blob, mimeType, name }: { blob: string; mimeType: string; name: string }) {
  const save = () => {
    const binary = atob(blob);
    const url = URL.createObjectURL(
      new Blob([Uint8Array.from(binary, (it) => it.charCodeAt(0))], {
        type: mimeType || "application/octet-stream",
      }),
    );
    const link = document.createElement("a");
    link.href = url;
    link.download =
      name
        .split("/")
        .at(-1)
        ?.replace(/[^\w.-]/g, "_") || "resource";
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <Button variant="ghost" size="icon-sm" aria-label="Save the resource" onClick={save}>
      <Download />
    </Button>
  );
}

function LinkView({ part }: { part: Extract<Part, { kind: "link" }> }) {
  const link = safeLink(part.uri);
  return (
    <div className="rounded-md border px-3 py-2">
      <p className="flex flex-wrap items-center gap-2">
        <Foreign text={part.name} plain className="font-medium" />
        {part.mimeType && <Badge>{part.mimeType}</Badge>}
      </p>
      {part.description && <Foreign text={part.description} block className="text-muted" />}
      <p className="font-mono text-sm">
        <Foreign text={part.uri} plain={link === undefined} />
      </p>
    </div>
  );
}
