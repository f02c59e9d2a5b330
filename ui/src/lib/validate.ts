/** Checks a value against a schema without `eval` and says what is wrong where, in words. */

import { type OutputUnit, type SchemaDraft, Validator } from "@cfworker/json-schema";
import { isObject, type Json, member } from "./json";

export type Problem = { pointer: string; text: string };

export function problems(schema: unknown, value: Json): Problem[] {
  if (!isObject(schema)) return [];
  try {
    const checked = new Validator(schema, draftOf(schema), false).validate(value);
    return checked.valid ? [] : phrase(checked.errors, schema);
  } catch {
    // A schema that cannot be followed (a reference to elsewhere) checks nothing here; the hub checks again.
    return [];
  }
}

function draftOf(schema: unknown): SchemaDraft {
  const named = String(member(schema, "$schema") ?? "");
  if (named.includes("draft-04")) return "4";
  if (named.includes("draft-07") || named.includes("draft-06")) return "7";
  return named.includes("2019-09") ? "2019-09" : "2020-12";
}

/** Keywords that only say that something inside them failed. */
const OUTER = new Set([
  "properties",
  "items",
  "prefixItems",
  "additionalProperties",
  "allOf",
  "$ref",
  "then",
  "else",
  "if",
]);

function phrase(errors: OutputUnit[], schema: unknown): Problem[] {
  const found = new Map<string, Problem>();
  const inUnion = errors.filter((it) => it.keyword === "anyOf" || it.keyword === "oneOf");
  for (const error of errors) {
    if (OUTER.has(error.keyword)) continue;
    // What failed inside an alternative is said once, by the alternative.
    const covered = inUnion.some(
      (it) => it !== error && error.keywordLocation.startsWith(`${it.keywordLocation}/`),
    );
    if (covered || (error.keyword === "type" && !isType(lookUp(schema, error.keywordLocation)))) continue;
    const problem = sentence(error, schema);
    found.set(`${problem.pointer} ${problem.text}`, problem);
  }
  return [...found.values()];
}

function sentence(error: OutputUnit, schema: unknown): Problem {
  const pointer = error.instanceLocation.replace(/^#/, "");
  const wanted = lookUp(schema, error.keywordLocation);
  switch (error.keyword) {
    case "required": {
      const key = /"(.*)"\.?$/.exec(error.error)?.[1] ?? "";
      return {
        pointer: `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`,
        text: "is required",
      };
    }
    case "type":
      return { pointer, text: `expected ${[wanted].flat().join(" or ")}` };
    case "enum":
      return { pointer, text: `must be one of ${list(wanted)}` };
    case "const":
      return { pointer, text: `must be ${JSON.stringify(wanted)}` };
    case "minLength":
      return { pointer, text: `needs at least ${wanted} characters` };
    case "maxLength":
      return { pointer, text: `may have at most ${wanted} characters` };
    case "minimum":
      return { pointer, text: `must be at least ${wanted}` };
    case "maximum":
      return { pointer, text: `must be at most ${wanted}` };
    case "exclusiveMinimum":
      return { pointer, text: `must be more than ${wanted}` };
    case "exclusiveMaximum":
      return { pointer, text: `must be less than ${wanted}` };
    case "minItems":
      return { pointer, text: `needs at least ${wanted} entries` };
    case "maxItems":
      return { pointer, text: `may have at most ${wanted} entries` };
    case "pattern":
      return { pointer, text: `must match ${wanted}` };
    case "format":
      return { pointer, text: `is not a valid ${wanted}` };
    case "false":
      return { pointer, text: "is not known here" };
    case "anyOf":
    case "oneOf":
      return { pointer, text: "fits none of the alternatives" };
    default:
      return { pointer, text: error.error };
  }
}

/** A schema whose own `type` is wrong says nothing about a value. */
function isType(wanted: unknown): boolean {
  return [wanted].flat().every((it) => typeof it === "string");
}

function list(wanted: unknown): string {
  return Array.isArray(wanted) ? wanted.map((it) => JSON.stringify(it)).join(", ") : String(wanted);
}

function lookUp(schema: unknown, location: string): unknown {
  const steps = location.replace(/^#\/?/, "").split("/").filter(Boolean);
  return steps.reduce<unknown>((here, step) => {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    return Array.isArray(here) ? here[Number(key)] : member(here, key);
  }, schema);
}
