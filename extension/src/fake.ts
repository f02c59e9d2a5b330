/** A browser for tests that need none: what is granted, stored and injected, and events to fire. */

type Grant = { origins?: string[]; permissions?: string[] };

/** An event of the browser, which a test fires. */
export function fakeEvent<Args extends unknown[]>() {
  const listeners = new Set<(...args: Args) => void>();
  return {
    addListener: (it: (...args: Args) => void) => void listeners.add(it),
    fire: (...args: Args) => {
      for (const it of listeners) it(...args);
    },
  };
}

/** The parts of the browser that consent lives in. What is required cannot be given back. */
export function fakeBrowser(granted: Set<string>, required = new Set<string>()) {
  const covers = (it: string) => granted.has(it) || (granted.has("<all_urls>") && it.includes("://"));
  const area = () => {
    const stored: Record<string, unknown> = {};
    return {
      get: async (key: string) => (key in stored ? { [key]: stored[key] } : {}),
      set: async (items: object) => void Object.assign(stored, items),
      remove: async (key: string) => void delete stored[key],
      setAccessLevel: async () => {},
    };
  };
  const onAdded = fakeEvent();
  const onRemoved = fakeEvent();
  const scripts = new Map<string, object>();
  const keep = async (all: { id: string }[]) => {
    for (const it of all) scripts.set(it.id, it);
  };
  return {
    storage: { local: area(), session: area() },
    permissions: {
      onAdded,
      onRemoved,
      contains: async ({ origins = [], permissions = [] }: Grant) =>
        permissions.length === 0 && origins.every(covers),
      getAll: async () => ({ origins: [...granted] }),
      request: async ({ origins = [] }: Grant) => {
        for (const it of origins) granted.add(it);
        onAdded.fire();
        return true;
      },
      remove: async ({ origins = [] }: Grant) => {
        if (origins.some((it) => required.has(it)))
          throw new Error("You cannot remove required permissions.");
        const isGone = origins.every((it) => granted.delete(it));
        onRemoved.fire();
        return isGone;
      },
    },
    scripting: {
      getRegisteredContentScripts: async () => [...scripts.values()],
      registerContentScripts: keep,
      updateContentScripts: keep,
      unregisterContentScripts: async () => scripts.clear(),
    },
  };
}
