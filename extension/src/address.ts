/** Addresses of pages: which site one belongs to, and how the browser is asked about that site. */

/** A parsed address, or nothing where the text is none. */
export function addressOf(text: string | undefined): URL | undefined {
  try {
    return new URL(text ?? "");
  } catch {
    return undefined;
  }
}

/** The site of a page: its origin, `file://` for files, nothing for pages that cannot be shared. */
export function siteOf(url: string | undefined): string | undefined {
  const address = addressOf(url);
  if (address?.protocol === "http:" || address?.protocol === "https:") return address.origin;
  return address?.protocol === "file:" ? "file://" : undefined;
}

/** The match pattern that covers a site and nothing else. */
export function patternOf(site: string): string {
  return `${site}/*`;
}

/** The site as people say it: without the scheme where it is the usual one. */
export function siteName(site: string): string {
  return site === "file://" ? "Files on this computer" : site.replace(/^https:\/\//, "");
}
