/** Somebody without a mouse, on a narrow screen: only keys, and whatever has the focus is seen. */

import type { Page } from "@playwright/test";
import type { Hub, HubOptions } from "./hub";
import { expect, expectAccessible, expectNoSideScroll, expectReadable, test } from "./test";

type Role = Parameters<Page["getByRole"]>[0];
type Name = string | RegExp;
type Theme = "light" | "dark";

/** As often as somebody would put up with, no further. */
const MOST_TABS = 40;

export class Keys {
  constructor(
    readonly page: Page,
    readonly hub: Hub,
    private theme: Theme = "light",
  ) {}

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  async type(text: string): Promise<void> {
    await this.page.keyboard.type(text);
  }

  /** Walks with Tab, or back with Shift and Tab, to what has this role and name. Every stop on the way is seen. */
  async tabTo(role: Role, name: Name, { back = false } = {}): Promise<void> {
    const target = this.#find(role, name);
    await target.first().waitFor();
    const passed: string[] = [];
    const hasFocus = async () => (await target.and(this.page.locator(":focus")).count()) > 0;
    while (!(await hasFocus())) {
      if (passed.length >= MOST_TABS)
        throw new Error(`Tab did not come to the ${role} ${name}, but to:\n${passed.join("\n")}`);
      await this.press(back ? "Shift+Tab" : "Tab");
      passed.push(await this.expectSeen());
    }
    await this.expectSeen();
  }

  /** Walks with an arrow to what has this role and name. Where the focus goes is seen before the next press. */
  async arrowTo(role: Role, name: Name, key = "ArrowDown"): Promise<void> {
    const target = this.#find(role, name);
    await target.waitFor();
    const where = async () => (await this.page.evaluate(focused)).what;
    for (let i = 0; i < MOST_TABS; i++) {
      if ((await target.and(this.page.locator(":focus")).count()) > 0) break;
      const before = await where();
      await this.press(key);
      await expect.poll(where).not.toBe(before);
    }
    await this.expectFocus(role, name);
  }

  /** To something, and presses it. */
  async open(role: Role, name: Name, options = {}): Promise<void> {
    await this.tabTo(role, name, options);
    await this.press(role === "switch" || role === "checkbox" ? "Space" : "Enter");
  }

  /** Into a text box, in the place of what stands there. */
  async write(name: Name, text: string, options = {}): Promise<void> {
    await this.tabTo("textbox", name, options);
    await this.press("Control+a");
    await this.type(text);
  }

  /** An item of the menu that is open. */
  async choose(name: Name): Promise<void> {
    await expect(this.page.locator("[role=menuitem]:focus")).toBeVisible();
    await this.arrowTo("menuitem", name);
    await this.press("Enter");
  }

  /** To a place or a thing, by the palette. */
  async goTo(words: string, url: RegExp): Promise<void> {
    await this.press("Control+k");
    await this.expectFocus("combobox", "Search");
    await this.type(words);
    await expect(this.page.getByRole("option", { selected: true })).toContainText(words);
    await this.press("Enter");
    await expect(this.page).toHaveURL(url);
    await expect(this.page.getByRole("combobox", { name: "Search" })).toBeHidden();
  }

  async expectFocus(role: Role, name: Name): Promise<void> {
    await expect(this.#find(role, name).and(this.page.locator(":focus"))).toBeVisible();
    await this.expectSeen();
  }

  /** Closes the window that has the focus. */
  async escape(): Promise<void> {
    await this.expectWindow();
    await this.press("Escape");
    await expect(this.page.getByRole("dialog")).toBeHidden();
  }

  /** A window is open and has taken the focus. */
  async expectWindow(): Promise<void> {
    const inside = this.page.locator("[role=dialog] :focus, [role=dialog]:focus");
    await expect(inside).toHaveCount(1);
  }

  /** A window keeps the focus: Tab goes round in it. */
  async expectTrapped(): Promise<void> {
    await this.expectWindow();
    const stops = await this.page.getByRole("dialog").locator("a, button, input, select, textarea").count();
    for (let i = 0; i <= stops; i++) {
      await this.press("Tab");
      await this.expectSeen();
    }
  }

  /** The screen in both themes, as everybody can use it; the journey goes on in the other one. */
  async look(): Promise<void> {
    await expectAccessible(this.page);
    await expectNoSideScroll(this.page);
    this.theme = this.theme === "light" ? "dark" : "light";
    await expectReadable(this.page, this.theme);
    await this.expectSeen();
  }

  /** What has the focus, in words. It is in view, not covered, marked, and inside the window if there is one. */
  async expectSeen(): Promise<string> {
    const { what, problem } = await this.page.evaluate(focused);
    expect(problem && `${what} ${problem}`).toBeUndefined();
    return what;
  }

  #find(role: Role, name: Name) {
    return this.page.getByRole(role, { name, exact: typeof name === "string" });
  }
}

/** Runs in the page. */
function focused(): { what: string; problem?: string } {
  const it = document.activeElement;
  if (!(it instanceof HTMLElement) || it === document.body) return { what: "nothing" };
  const label = it instanceof HTMLInputElement ? it.labels?.[0] : undefined;
  const name = it.ariaLabel ?? label?.textContent ?? it.textContent ?? "";
  const what = `${it.role ?? it.tagName.toLowerCase()} “${name.trim().slice(0, 40)}”`;
  const windows = [...document.querySelectorAll("[role=dialog]")];
  if (windows.length > 0 && !windows.some((one) => one.contains(it)) && !it.closest("[role=menu]"))
    return { what, problem: "has the focus outside of the window" };
  // What takes the focus only for others, as a whole window or screen, need not be marked.
  if (it.tabIndex < 0 && it.role !== "menuitem") return { what };

  // The mark of a hidden box is at its label.
  const isHidden = it.getBoundingClientRect().width <= 1;
  const marked = isHidden && label ? label : it;
  const style = getComputedStyle(marked);
  const hasRing = style.outlineStyle !== "none" && Number.parseFloat(style.outlineWidth) > 0;
  const hasCaret = it.matches("textarea, input:not([type=checkbox], [type=radio], [type=file])");
  if (!hasRing && !hasCaret && it.role !== "menuitem") return { what, problem: "is not marked" };

  const box = marked.getBoundingClientRect();
  let [left, top, right, bottom] = [box.left, box.top, box.right, box.bottom];
  let around: HTMLElement | null = marked;
  const clip = (other: { left: number; top: number; right: number; bottom: number }) => {
    left = Math.max(left, other.left);
    top = Math.max(top, other.top);
    right = Math.min(right, other.right);
    bottom = Math.min(bottom, other.bottom);
  };
  clip({ left: 0, top: 0, right: innerWidth, bottom: innerHeight });
  while (around && style.position !== "fixed") {
    around = around.parentElement;
    if (around && getComputedStyle(around).overflow !== "visible") clip(around.getBoundingClientRect());
  }
  if (right - left < 4 || bottom - top < 4) return { what, problem: "has the focus out of view" };
  const points = [0.1, 0.5, 0.9].flatMap((x) => [0.1, 0.5, 0.9].map((y) => [x, y] as const));
  const hits = points.map(([x, y]) =>
    document.elementFromPoint(left + x * (right - left), top + y * (bottom - top)),
  );
  const isSeen = hits.some((hit) => hit && (marked.contains(hit) || hit.contains(marked)));
  return isSeen ? { what } : { what, problem: `is covered by ${hits[4]?.outerHTML.slice(0, 120)}` };
}

export type Journey = {
  screen: string;
  options?: HubOptions;
  /** What is there before, beside an empty data folder. */
  world?: (hub: Hub) => Promise<void>;
  walk: (keys: Keys, page: Page, hub: Hub) => Promise<void>;
};

/** On a narrow screen, and without motion, so that what is seen is there. */
export const NARROW = {
  viewport: { width: 320, height: 640 },
  contextOptions: { reducedMotion: "reduce" },
} as const;

export function walkThrough(journeys: Journey[]): void {
  test.use(NARROW);
  for (const { screen, options = {}, world, walk } of journeys) {
    test.describe(() => {
      test.use({ hubOptions: options });
      test(`keys alone, at 320 px, in both themes: ${screen}`, async ({ page, hub }) => {
        await world?.(hub);
        if (world) await page.goto(`${hub.url}/ui/`);
        // Keys are listened to once the page is live; a page without a script needs no ear.
        if (options.mode !== "team") await expect(page.getByText("Live", { exact: true })).toBeAttached();
        await walk(new Keys(page, hub), page, hub);
      });
    });
  }
}
