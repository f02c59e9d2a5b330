/** Secrets that a hub was shown, and the search for them in all it leaves behind. */

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { BrowserContext, Request } from "@playwright/test";

/** The files whose purpose is a secret. */
const KEYS = ["key", "secret.key", "tabs.json"];
/** Shorter ones would be found by chance. */
const SHORTEST = 8;
/** Members that hold a secret wherever they stand, and those all of whose values are secrets. */
const MEMBERS = ["password", "current", "new", "token", "access_token", "refresh_token", "client_secret"];
const MAPS = ["credentials", "env", "headers"];

export class Watch {
  #known = new Set<string>();

  constructor(
    private data: string,
    private log: string,
  ) {
    for (const name of KEYS) {
      const file = this.#files().find((it) => basename(it) === name);
      if (file && name !== "tabs.json") this.hide(readFileSync(file, "latin1").trim());
    }
  }

  /** From now on this stands nowhere. */
  hide(secret: string): void {
    if (secret.length >= SHORTEST && !secret.includes("${")) this.#known.add(secret);
  }

  /** Learns from all that a browser sends. */
  follow(context: BrowserContext): void {
    context.on("request", (request) => this.#learnRequest(request));
  }

  /** Fails if one of them stands where it must not. */
  search(): void {
    const places = this.#files().filter((it) => !KEYS.includes(basename(it)));
    for (const place of [...places, this.log]) {
      const text = readFileSync(place, "latin1");
      for (const secret of this.#known) {
        const at = text.indexOf(secret);
        if (at >= 0)
          throw new Error(
            `${basename(place)}: a secret stands after ${text.slice(Math.max(at - 200, 0), at)}`,
          );
      }
    }
  }

  #learnRequest(request: Request): void {
    const body = request.postData();
    if (!body) return;
    try {
      this.#learn(JSON.parse(body));
    } catch {
      for (const [name, value] of new URLSearchParams(body)) {
        if (name === "password") this.hide(value);
      }
    }
  }

  #learn(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (typeof inner === "string" && MEMBERS.includes(name)) this.hide(inner);
      else if (typeof inner === "object" && inner !== null && MAPS.includes(name))
        Object.values(inner).forEach((it) => {
          if (typeof it === "string") this.hide(it);
        });
      else this.#learn(inner);
    }
  }

  #files(): string[] {
    const all = readdirSync(this.data, { recursive: true, withFileTypes: true });
    return all.filter((it) => it.isFile()).map((it) => join(it.parentPath, it.name));
  }
}
