/** The port from a content script to the worker, which may be asleep, asleep again, or gone for good. */

import { isObject } from "./check";
import { type FromPage, PORT, type ToPage } from "./protocol";

const BACK_AFTER = 300;

export type LinkEnds = {
  hear: (message: ToPage) => void;
  /** Whether there is anything to connect for. */
  isWanted: () => boolean;
  /** A port is there, and whoever listens knows nothing yet. */
  opened: () => void;
  /** A port is gone, and with it the calls that came over it. */
  closed: () => void;
  /** The extension was taken away, or the site is no longer shared. */
  ended: () => void;
};

/** A port that is opened when there is something to say, and again when it was lost. */
export class Link {
  #port: chrome.runtime.Port | undefined;

  constructor(private readonly ends: LinkEnds) {}

  /** Sends a message if there is a port, and says whether there was one. */
  send(message: FromPage): boolean {
    try {
      this.#port?.postMessage(message);
      return this.#port !== undefined;
    } catch {
      // The browser closes ports of pages it puts aside and tells only the worker.
      this.#lost();
      return false;
    }
  }

  /** Opens a port unless there is one. */
  open(): void {
    if (this.#port) return;
    // Without an id the extension was reloaded or removed under us.
    if (!chrome.runtime?.id) return this.ends.ended();
    const port = chrome.runtime.connect({ name: PORT });
    this.#port = port;
    port.onMessage.addListener((message: unknown) => {
      if (this.#port !== port || !isObject(message)) return;
      if (message.type === "stop") this.ends.ended();
      else this.ends.hear(message as ToPage);
    });
    port.onDisconnect.addListener(() => {
      if (this.#port !== port) return;
      this.#lost();
      setTimeout(() => this.ends.isWanted() && this.open(), BACK_AFTER);
    });
    this.ends.opened();
  }

  /** The page came back from where the browser had put it: its port is dead, though nobody said so. */
  revive(): void {
    this.close();
    if (this.ends.isWanted()) this.open();
  }

  /** Lets go of the port. */
  close(): void {
    const port = this.#port;
    if (!port) return;
    this.#lost();
    try {
      port.disconnect();
    } catch {
      // It was dead already.
    }
  }

  #lost(): void {
    this.#port = undefined;
    this.ends.closed();
  }
}
