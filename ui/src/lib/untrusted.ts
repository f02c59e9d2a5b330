/** Text that strangers wrote: split into pieces that are safe to show and that hide nothing. */

export type Piece =
  | { kind: "text"; text: string }
  /** A character that has no shape of its own or turns others around. */
  | { kind: "control"; code: string }
  | { kind: "link"; text: string; href: string; host: string };

/** Control characters but tab and line feed, direction marks, joiners that hide, and the invisible tag block. */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const URLS = /\bhttps?:\/\/[^\s<>"'`\\^{}|]+/gi;

export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let last = 0;
  for (const match of text.matchAll(URLS)) {
    const shown = withoutTail(match[0]);
    const link = linkOf(shown);
    if (!link) continue;
    found.push(...plain(text.slice(last, match.index)), link);
    last = match.index + shown.length;
  }
  return [...found, ...plain(text.slice(last))];
}

function plain(text: string): Piece[] {
  const found: Piece[] = [];
  let last = 0;
  // A line that ends as Windows ends it hides nothing.
  const unix = text.replaceAll("\r\n", "\n");
  for (const match of unix.matchAll(HIDDEN)) {
    if (match.index > last) found.push({ kind: "text", text: unix.slice(last, match.index) });
    found.push({ kind: "control", code: codeOf(match[0]) });
    last = match.index + match[0].length;
  }
  if (last < unix.length) found.push({ kind: "text", text: unix.slice(last) });
  return found;
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** A sentence's own punctuation is no part of a link in it. */
function withoutTail(url: string): string {
  let end = url.length;
  while (end > 0 && ".,;:!?)]…".includes(url[end - 1] ?? "")) {
    if (url[end - 1] === ")" && url.slice(0, end).split("(").length > url.slice(0, end).split(")").length - 1)
      break;
    end--;
  }
  return url.slice(0, end);
}

function linkOf(shown: string): Piece | undefined {
  HIDDEN.lastIndex = 0;
  if (HIDDEN.test(shown)) return undefined;
  const link = safeLink(shown);
  return link && { kind: "link", text: shown, ...link };
}

/** An address that may be opened, and the host it really leads to. Only the web; no names and passwords inside. */
export function safeLink(url: string): { href: string; host: string } | undefined {
  try {
    const { protocol, host, href, username, password } = new URL(url);
    if ((protocol !== "http:" && protocol !== "https:") || username !== "" || password !== "")
      return undefined;
    return { href, host };
  } catch {
    return undefined;
  }
}

const IMAGES = [
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "image/avif",
  "image/svg+xml",
  "image/bmp",
];
const SOUNDS = /^audio\/[a-z0-9.+-]+$/i;

/** A `data:` address for bytes that came inside a result. In an `<img>` nothing in them can run or load anything. */
export function dataUrl(kind: "image" | "audio", mimeType: string, base64: string): string | undefined {
  const isKnown = kind === "image" ? IMAGES.includes(mimeType.toLowerCase()) : SOUNDS.test(mimeType);
  return isKnown && /^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(base64)
    ? `data:${mimeType};base64,${base64}`
    : undefined;
}
