/** A text to copy, with its secret masked on screen. */

import { Eye, EyeOff } from "lucide-react";
import { useState } from "react";
import { Button } from "@/ui/button";
import { CopyButton } from "./copy-button";
import { ScrollBox } from "./scroll-box";

type Props = { text: string; label: string; secret?: string };

export function SnippetView({ text, label, secret }: Props) {
  const [isShown, setShown] = useState(false);
  const masked = secret && !isShown ? text.replaceAll(secret, "••••••••") : text;
  return (
    <div className="relative rounded-md border bg-sunken">
      <ScrollBox label={label} className="rounded-md">
        <pre className="w-max min-w-full p-3 pr-20 text-sm leading-5">{masked}</pre>
      </ScrollBox>
      <div className="absolute top-1.5 right-1.5 flex rounded-md bg-sunken">
        {secret && (
          <Button
            variant="ghost"
            size="icon-sm"
            onClick={() => setShown(!isShown)}
            aria-label={isShown ? "Hide the key" : "Show the key"}
            aria-pressed={isShown}
          >
            {isShown ? <EyeOff /> : <Eye />}
          </Button>
        )}
        <CopyButton text={text} label={`Copy ${label}`} />
      </div>
    </div>
  );
}
