/**
 * WebMCP as the browser has it. The isolated world sees the page's own `document.modelContext`; what a script of the
 * page put there it does not see, so whatever is here is native. README.md has the table of versions.
 */

import { isObject, parsed } from "../check";
import type { Json, Result, Tool } from "../protocol";
import { failure, noArguments, type PageSource, type Running } from "./source";

/** A tool as the browser lists it: a `window` from Chrome 149 on, a schema as text until 153. */
export type RegisteredTool = {
  name: string;
  title?: string;
  description?: string;
  inputSchema?: unknown;
  annotations?: object;
  window?: unknown;
};

/** `document.modelContext` of Chrome 149 and newer. */
export type ModelContext = EventTarget & {
  getTools: () => Promise<RegisteredTool[]>;
  executeTool: (tool: RegisteredTool, input: unknown, options?: { signal: AbortSignal }) => Promise<unknown>;
};

/** `navigator.modelContextTesting` of Chrome 146 to 148. */
export type TestingContext = Partial<EventTarget> & {
  listTools: () => RegisteredTool[] | Promise<RegisteredTool[]>;
  executeTool: (name: string, input: string, options?: { signal: AbortSignal }) => Promise<unknown>;
};

/** The page's window, as far as it is needed here. */
export type Host = {
  document: { modelContext?: unknown };
  navigator: { modelContext?: unknown; modelContextTesting?: unknown };
};

/** The tools of the browser's own WebMCP; nothing where there is none. */
export function nativeSource(host: Host, changed: () => void): PageSource | undefined {
  const { document, navigator } = host;
  const context = [document.modelContext, navigator.modelContext].find(isModelContext);
  if (context) return listen(context, () => context.getTools(), callModern(context), host, changed);
  const testing = navigator.modelContextTesting;
  if (!isTestingContext(testing)) return undefined;
  return listen(testing, async () => testing.listTools(), callTesting(testing), host, changed);
}

type Call = (tool: RegisteredTool, args: Json, signal: AbortSignal) => Promise<unknown>;

function callModern(context: ModelContext): Call {
  // Whether arguments are an object or text depends on the version, and trying both would call twice.
  const takesText = context.executeTool.length >= 2;
  return (tool, args, signal) =>
    context.executeTool(tool, takesText ? JSON.stringify(args) : args, { signal });
}

function callTesting(context: TestingContext): Call {
  return (tool, args, signal) => context.executeTool(tool.name, JSON.stringify(args), { signal });
}

function listen(
  events: Partial<EventTarget>,
  list: () => Promise<RegisteredTool[]>,
  execute: Call,
  host: Host,
  changed: () => void,
): PageSource {
  let registered = new Map<string, RegisteredTool>();
  let tools: Tool[] = [];
  let isStopped = false;
  let isListing = false;
  let isStale = false;

  const refresh = async () => {
    isStale = true;
    if (isListing) return;
    isListing = true;
    while (isStale && !isStopped) {
      isStale = false;
      // A page may forbid its tools (`Permissions-Policy: tools=()`): then it has none.
      const found = await list().catch(() => []);
      registered = named(found, host);
      tools = [...registered].map(([name, it]) => asTool(name, it));
      if (!isStopped) changed();
    }
    isListing = false;
  };
  const onChange = () => void refresh();
  events.addEventListener?.("toolchange", onChange);
  onChange();

  return {
    source: "native",
    get tools() {
      return tools;
    },
    call: async (name: string, args: Json, { signal }: Running): Promise<Result> => {
      const tool = registered.get(name);
      if (!tool) return { success: false, payload: `this page has no tool \`${name}\`` };
      try {
        return nativeResult(await execute(tool, args, signal));
      } catch (error) {
        return failure(error);
      }
    },
    stop: () => {
      isStopped = true;
      events.removeEventListener?.("toolchange", onChange);
    },
  };
}

/** Frames of the same origin are listed too and may repeat a name: the page keeps it, frames get a number. */
export function named(found: RegisteredTool[], host: unknown): Map<string, RegisteredTool> {
  const isOfPage = (it: RegisteredTool) => it.window === undefined || it.window === host;
  const taken = new Set(found.map((it) => it.name));
  const names = new Map<string, RegisteredTool>();
  for (const it of [...found.filter(isOfPage), ...found.filter((it) => !isOfPage(it))]) {
    let { name } = it;
    for (let number = 2; names.has(name); number++) {
      const next = `${it.name}_${number}`;
      if (!taken.has(next)) name = next;
    }
    names.set(name, it);
  }
  return names;
}

function asTool(name: string, { title, description, inputSchema, annotations }: RegisteredTool): Tool {
  const schema = typeof inputSchema === "string" ? parsed(inputSchema) : inputSchema;
  return {
    name,
    ...(title && { title }),
    ...(description && { description }),
    inputSchema: isObject(schema) ? schema : noArguments(),
    ...(annotations && { annotations: { ...annotations } }),
  };
}

/** What a native tool returned: always text, JSON unless the tool returned text itself. */
export function nativeResult(raw: unknown): Result {
  if (raw === null) return result("the tool navigated away before it had a result", { isError: true });
  if (raw === undefined || raw === "undefined") return { success: true, payload: { content: [] } };
  const text = typeof raw === "string" ? raw : JSON.stringify(raw);
  const value = typeof raw === "string" ? parsed(raw) : raw;
  if (!isObject(value)) return result(typeof value === "string" ? value : text, {});
  if (Array.isArray(value.content)) return { success: true, payload: value };
  return result(text, { structuredContent: value });
}

function result(text: string, more: Json): Result {
  return { success: true, payload: { content: [{ type: "text", text }], ...more } };
}

function isModelContext(value: unknown): value is ModelContext {
  const it = value as Partial<ModelContext> | null | undefined;
  return typeof it?.getTools === "function" && typeof it.executeTool === "function";
}

function isTestingContext(value: unknown): value is TestingContext {
  const it = value as Partial<TestingContext> | null | undefined;
  return typeof it?.listTools === "function" && typeof it.executeTool === "function";
}
