/** Text that a server wrote: shown as text, with what would be invisible made visible and links that say where they lead. */

import { ExternalLink } from "lucide-react";
import { memo } from "react";
import { cn } from "@/lib/class";
import { type Piece, pieces } from "@/lib/untrusted";

type Props = {
  text: string;
  className?: string;
  /** Line breaks count. */
  block?: boolean;
  /** Links stay text, for places that are links or buttons themselves. */
  plain?: boolean;
};

export const Foreign = memo(function Foreign({ text, className, block, plain }: Props) {
  return (
    <span dir="auto" className={cn("foreign", block && "block whitespace-pre-wrap", className)}>
      {pieces(text).map((piece, index) => (
        <PieceView key={index} piece={piece} plain={plain ?? false} />
      ))}
    </span>
  );
});

function PieceView({ piece, plain }: { piece: Piece; plain: boolean }) {
  if (piece.kind === "text") return piece.text;
  if (piece.kind === "control") return <Control code={piece.code} />;
  if (plain) return piece.text;
  return (
    <a
      href={piece.href}
      target="_blank"
      rel="noopener noreferrer nofollow"
      className="text-accent underline underline-offset-2 hover:no-underline"
    >
      {piece.text}
      <span className="ml-1 inline-flex items-center gap-0.5 rounded-sm bg-hover px-1 text-muted text-xs no-underline">
        <ExternalLink aria-hidden className="size-3" />
        {piece.host}
      </span>
    </a>
  );
}

function Control({ code }: { code: string }) {
  return (
    <span
      className="mx-px rounded-sm bg-warn-soft px-1 font-mono text-warn text-xs"
      title={`hidden character ${code}`}
    >
      {code}
    </span>
  );
}
