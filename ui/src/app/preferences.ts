/** What a person likes, kept in this browser. */

import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
export type Preferences = {
  theme: Theme;
  /** Single-letter shortcuts. */
  letters: boolean;
  registryWidth: number;
  /** Whether the registry is open on the pages that work with it, and on the others. */
  registryHere: boolean;
  registryElsewhere: boolean;
};

const DEFAULTS: Preferences = {
  theme: "system",
  letters: true,
  registryWidth: 264,
  registryHere: true,
  registryElsewhere: false,
};
/** The inline script in `index.html` reads the same entry before the first paint. */
const ENTRY = "toolgrove";

let current = read();
const listeners = new Set<() => void>();

function read(): Preferences {
  try {
    return { ...DEFAULTS, ...JSON.parse(localStorage.getItem(ENTRY) ?? "{}") };
  } catch {
    return DEFAULTS;
  }
}

export function setPreference<K extends keyof Preferences>(key: K, value: Preferences[K]): void {
  current = { ...current, [key]: value };
  try {
    localStorage.setItem(ENTRY, JSON.stringify(current));
  } catch {
    // A browser that keeps nothing still shows what was chosen.
  }
  if (key === "theme") applyTheme(current.theme);
  for (const it of listeners) it();
}

function applyTheme(theme: Theme): void {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
}

export const preferences = () => current;

export function usePreference<K extends keyof Preferences>(key: K): Preferences[K] {
  return useSyncExternalStore(subscribe, () => current[key]);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
