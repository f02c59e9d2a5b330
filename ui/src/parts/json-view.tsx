/** JSON to read: coloured, and cut where it would drown the page. */

import { memo, useState } from "react";
import { cn } from "@/lib/class";
import { count } from "@/lib/format";
import { type Json, tokens } from "@/lib/json";
import { Button } from "@/ui/button";
import { Foreign } from "./foreign";
import { ScrollBox } from "./scroll-box";

const LIMIT = 4000;
const COLOUR = {
  key: "text-json-key",
  string: "text-json-string",
  number: "text-json-number",
  word: "text-json-word",
  plain: "",
};

export function JsonView({ value, className }: { value: Json; className?: string }) {
  return <JsonText text={JSON.stringify(value, null, 2)} {...(className ? { className } : {})} />;
}

export function JsonText({ text, className }: { text: string; className?: string }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? text : text.slice(0, LIMIT);
  return (
    <div>
      <ScrollBox label="JSON" className={cn("max-h-[60vh] rounded-md bg-sunken", className)}>
        <pre className="whitespace-pre-wrap p-3 text-sm leading-5">
          <Coloured text={shown} />
        </pre>
      </ScrollBox>
      {shown.length < text.length && (
        <Button size="sm" className="mt-2" onClick={() => setWhole(true)}>
          Expand, {count(text.length)} characters
        </Button>
      )}
    </div>
  );
}

const Coloured = memo(function Coloured({ text }: { text: string }) {
  return tokens(text).map((token, index) => (
    <span key={index} className={COLOUR[token.kind]}>
      <Foreign text={token.text} plain />
    </span>
  ));
});
