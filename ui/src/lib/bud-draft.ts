/** A bud in the making: texts of a form, what is wrong with them, and what is sent. */

import type { Bud, BudMethod, BudPreset, ToolChoice } from "@/api/types.gen";
import { isObject, type Json, parseJson } from "./json";

export type MethodDraft = { name: string; description: string; template: string; schema: string };
export type BudDraft = {
  name: string;
  avatar: string;
  description: string;
  model: string;
  temperature: string;
  maxTokens: string;
  prompt: string;
  methods: MethodDraft[];
  servers: string[];
  tools: string;
  disabled: string;
  choice: ToolChoice | "";
};

export const EMPTY: BudDraft = {
  name: "",
  avatar: "",
  description: "",
  model: "",
  temperature: "",
  maxTokens: "",
  prompt: "",
  methods: [],
  servers: [],
  tools: "",
  disabled: "",
  choice: "",
};

const NO_ARGUMENTS = '{\n  "type": "object",\n  "properties": {}\n}';
export const NEW_METHOD: MethodDraft = { name: "", description: "", template: "", schema: NO_ARGUMENTS };

const number = (value: number | null) => (value === null ? "" : String(value));
const names = (text: string) => text.split(/[\s,]+/).filter(Boolean);

export function draftOf(bud: Bud): BudDraft {
  const { mcp_config: config } = bud;
  return {
    name: bud.name,
    avatar: bud.avatar ?? "",
    description: bud.description,
    model: bud.model ?? "",
    temperature: number(bud.temperature),
    maxTokens: number(bud.max_tokens),
    prompt: bud.system_prompt,
    methods: bud.methods.map((it) => ({
      name: it.name,
      description: it.description,
      template: it.template ?? "",
      schema: JSON.stringify(it.inputSchema, null, 2),
    })),
    servers: config.servers,
    tools: config.available_tools.join(", "),
    disabled: config.disabled_tools.join(", "),
    choice: config.tool_choice ?? "",
  };
}

/** By the place they belong to: `name`, `temperature`, `methods.0.schema` … */
export type Wrong = Record<string, string>;

export function wrongIn(draft: BudDraft): Wrong {
  const wrong: Wrong = {};
  if (draft.name.trim() === "") wrong.name = "A bud needs a name";
  else if (draft.name.length > 100) wrong.name = "At most 100 characters";
  if (draft.avatar !== "" && !isAvatar(draft.avatar)) wrong.avatar = "An emoji, or a picture";
  if (!isIn(draft.temperature, 0, 2)) wrong.temperature = "A number from 0 to 2";
  if (!isIn(draft.maxTokens, 1, 10_000_000) || !/^\d*$/.test(draft.maxTokens.trim()))
    wrong.maxTokens = "A whole number, at least 1";
  for (const [at, method] of draft.methods.entries()) {
    const place = `methods.${at}`;
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(method.name))
      wrong[`${place}.name`] = "Letters, digits, `_`, `-` and `.`";
    else if (draft.methods.some((it, other) => other < at && it.name === method.name))
      wrong[`${place}.name`] = "Another method is called that";
    const schema = parseJson(method.schema);
    if (!schema.ok)
      wrong[`${place}.schema`] = `line ${schema.line}, column ${schema.column}: ${schema.problem}`;
    else if (!isObject(schema.value)) wrong[`${place}.schema`] = "A schema is a JSON object";
    else {
      const unknown = unknownArguments(method.template, schema.value);
      if (unknown.length > 0) wrong[`${place}.template`] = `Not in the schema: ${unknown.join(", ")}`;
    }
  }
  return wrong;
}

function isIn(text: string, from: number, to: number): boolean {
  if (text.trim() === "") return true;
  const value = Number(text);
  return Number.isFinite(value) && value >= from && value <= to;
}

/** An emoji is short; a picture comes inside. */
export const isAvatar = (text: string) =>
  /^data:image\/(png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=]+$/.test(text) || [...text].length <= 8;

function unknownArguments(template: string, schema: Json): string[] {
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {};
  const used = [...template.matchAll(/\{\{\s*([^{}]+?)\s*\}\}/g)].map((it) => it[1] ?? "");
  return [...new Set(used)].filter((it) => !Object.hasOwn(properties, it.split(".")[0] ?? ""));
}

export type BudBody = { name: string } & BudPreset;

/** What is sent. Only for a draft without anything wrong. */
export function bodyOf(draft: BudDraft): BudBody {
  const given = (text: string) => (text.trim() === "" ? null : text.trim());
  const figure = (text: string) => (text.trim() === "" ? null : Number(text));
  return {
    name: draft.name.trim(),
    avatar: given(draft.avatar),
    description: draft.description.trim(),
    model: given(draft.model),
    temperature: figure(draft.temperature),
    max_tokens: figure(draft.maxTokens),
    system_prompt: draft.prompt,
    methods: draft.methods.map(
      (it): BudMethod => ({
        name: it.name,
        description: it.description,
        inputSchema: JSON.parse(it.schema),
        ...(it.template === "" ? {} : { template: it.template }),
      }),
    ),
    mcp_config: {
      servers: draft.servers,
      available_tools: names(draft.tools),
      disabled_tools: names(draft.disabled),
      ...(draft.choice === "" ? {} : { tool_choice: draft.choice }),
    },
  };
}

/** Only what an edit changed, because whatever is named takes the place of what was there. */
export function changeOf(bud: Bud, draft: BudDraft): Partial<BudBody> {
  const before = bodyOf(draftOf(bud));
  const after = bodyOf(draft);
  const changed = Object.entries(after).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key as keyof BudBody]),
  );
  return Object.fromEntries(changed);
}
