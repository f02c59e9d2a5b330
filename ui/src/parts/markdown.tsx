/** What a model wrote, as it meant it to look. Its words are a stranger's: no markup of theirs, no fetching, links that say their host. */

import { ExternalLink } from "lucide-react";
import { createElement, memo } from "react";
import { type Block, blocksOf, type Inline } from "@/lib/markdown";
import { CopyButton } from "./copy-button";
import { Foreign } from "./foreign";
import { ScrollBox } from "./scroll-box";

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div dir="auto" className="space-y-2.5">
      <Blocks blocks={blocksOf(text)} />
    </div>
  );
});

function Blocks({ blocks }: { blocks: Block[] }) {
  return blocks.map((it, index) => <BlockView key={index} block={it} />);
}

function BlockView({ block }: { block: Block }) {
  switch (block.kind) {
    case "paragraph":
      return (
        <p className="whitespace-pre-line">
          <Inlines inner={block.inner} />
        </p>
      );
    case "heading":
      // Under the page's own headings.
      return createElement(
        `h${Math.min(block.level + 1, 6)}`,
        { className: "pt-1 font-semibold text-lg" },
        <Inlines inner={block.inner} />,
      );
    case "code":
      return <CodeView text={block.text} language={block.language} />;
    case "quote":
      return (
        <blockquote className="space-y-2 border-line-strong border-l-2 pl-3 text-muted">
          <Blocks blocks={block.blocks} />
        </blockquote>
      );
    case "list": {
      const items = block.items.map((it, index) => (
        <li key={index} className="space-y-1.5">
          <Blocks blocks={it} />
        </li>
      ));
      return block.start === undefined ? (
        <ul className="list-disc space-y-1 pl-5">{items}</ul>
      ) : (
        <ol start={block.start} className="list-decimal space-y-1 pl-6">
          {items}
        </ol>
      );
    }
    case "table":
      return <TableView head={block.head} rows={block.rows} />;
    case "rule":
      return <hr />;
  }
}

function CodeView({ text, language }: { text: string; language: string }) {
  return (
    <div className="rounded-md border bg-sunken">
      <p className="flex h-7 items-center gap-2 border-b pr-0.5 pl-3 text-muted text-sm">
        <Foreign text={language || "Text"} plain className="min-w-0 flex-1 truncate" />
        <CopyButton text={text} label="Copy the code" />
      </p>
      <ScrollBox label="Code" className="max-h-[60vh]">
        <pre className="w-max min-w-full p-3 text-sm leading-5">
          <Foreign text={text} plain />
        </pre>
      </ScrollBox>
    </div>
  );
}

function TableView({ head, rows }: { head: Inline[][]; rows: Inline[][][] }) {
  return (
    <ScrollBox label="Table" className="rounded-md border">
      <table className="w-full border-collapse text-left">
        <thead className="bg-sunken">
          <tr>
            {head.map((it, index) => (
              <th key={index} className="border-b px-2.5 py-1.5 font-medium">
                <Inlines inner={it} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index} className="border-b last:border-b-0">
              {row.map((it, place) => (
                <td key={place} className="px-2.5 py-1.5 align-top">
                  <Inlines inner={it} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}

function Inlines({ inner, plain = false }: { inner: Inline[]; plain?: boolean }) {
  return inner.map((it, index) => <InlineView key={index} piece={it} plain={plain} />);
}

/** `plain` inside a link, where no other may be. */
function InlineView({ piece, plain }: { piece: Inline; plain: boolean }) {
  switch (piece.kind) {
    case "text":
      return <Foreign text={piece.text} plain={plain} />;
    case "code":
      return (
        <code className="rounded-sm bg-hover px-1">
          <Foreign text={piece.text} plain />
        </code>
      );
    case "strong":
      return (
        <strong className="font-semibold">
          <Inlines inner={piece.inner} plain={plain} />
        </strong>
      );
    case "em":
      return (
        <em>
          <Inlines inner={piece.inner} plain={plain} />
        </em>
      );
    case "del":
      return (
        <del>
          <Inlines inner={piece.inner} plain={plain} />
        </del>
      );
    case "link":
      if (plain) return <Inlines inner={piece.inner} plain />;
      return (
        <a
          href={piece.href}
          target="_blank"
          rel="noopener noreferrer nofollow"
          className="text-accent underline underline-offset-2 hover:no-underline"
        >
          <Inlines inner={piece.inner} plain />
          <span className="ml-1 inline-flex items-center gap-0.5 rounded-sm bg-hover px-1 text-muted text-xs no-underline">
            <ExternalLink aria-hidden className="size-3" />
            {piece.host}
          </span>
        </a>
      );
  }
}
