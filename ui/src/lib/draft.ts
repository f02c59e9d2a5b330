/** Arguments in the making: a form's value or a JSON text, and how to go from one to the other. */

import { hasInexactNumber, isObject, type Json, type JsonObject, parseJson } from "./json";
import type { Field } from "./schema";
import { initial } from "./schema-value";
import { type Problem, problems } from "./validate";

export type Draft =
  | { mode: "form"; value: JsonObject; unfinished: Record<string, string> }
  /** `text` is what is sent, to the letter. */
  | { mode: "json"; text: string };

export function freshDraft(field: Field): Draft {
  const value = initial(field, true);
  return { mode: "form", value: isObject(value) ? value : {}, unfinished: {} };
}

/** A draft of arguments that came as text. A text that a form would change stays a text. */
export function draftOf(text: string): Draft {
  const parsed = parseJson(text);
  if (!parsed.ok || !isObject(parsed.value) || hasInexactNumber(text)) return { mode: "json", text };
  return { mode: "form", value: parsed.value, unfinished: {} };
}

export const textOf = (draft: Draft) =>
  draft.mode === "json" ? draft.text : JSON.stringify(draft.value, null, 2);

/** The other way of looking at the same arguments, or why that is not possible. */
export function switched(draft: Draft): Draft | { problem: string } {
  if (draft.mode === "form") return { mode: "json", text: textOf(draft) };
  const parsed = parseJson(draft.text.trim() === "" ? "{}" : draft.text);
  if (!parsed.ok) return { problem: `line ${parsed.line}, column ${parsed.column}: ${parsed.problem}` };
  if (!isObject(parsed.value)) return { problem: "arguments are a JSON object" };
  if (hasInexactNumber(draft.text))
    return { problem: "a number here is too large for a form; it is sent as it stands" };
  return { mode: "form", value: parsed.value, unfinished: {} };
}

/** What stands against sending. The text of a JSON draft that is wrong has a place in it. */
export function draftProblems(draft: Draft, schema: unknown): Problem[] {
  if (draft.mode === "form") {
    const unfinished = Object.entries(draft.unfinished).map(([pointer, text]) => ({ pointer, text }));
    return [...unfinished, ...problems(schema, draft.value)];
  }
  const text = draft.text.trim() === "" ? "{}" : draft.text;
  const parsed = parseJson(text);
  if (!parsed.ok)
    return [{ pointer: "", text: `line ${parsed.line}, column ${parsed.column}: ${parsed.problem}` }];
  if (!isObject(parsed.value)) return [{ pointer: "", text: "arguments are a JSON object" }];
  return problems(schema, parsed.value);
}

/** The arguments as text to send. */
export const sentText = (draft: Draft) => (textOf(draft).trim() === "" ? "{}" : textOf(draft));

export function argsOf(draft: Draft): Json | undefined {
  if (draft.mode === "form") return draft.value;
  const parsed = parseJson(draft.text);
  return parsed.ok ? parsed.value : undefined;
}
