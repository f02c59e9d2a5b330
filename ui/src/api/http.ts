/** Requests to the hub. What it refuses becomes a `Refused` with the hub's own words. */

import type { Problem } from "./types";

export class Refused extends Error {
  constructor(
    readonly problem: Problem,
    readonly retryAfter?: number,
  ) {
    super(problem.detail);
  }
}

export const get = <T>(path: string, signal?: AbortSignal) => send<T>("GET", path, undefined, signal);
export const post = <T>(path: string, body?: unknown, signal?: AbortSignal) =>
  send<T>("POST", path, body, signal);
export const patch = <T>(path: string, body: unknown) => send<T>("PATCH", path, body);
export const remove = (path: string) => send<void>("DELETE", path);

async function send<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await ask(method, path, body, "application/json", signal);
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** The raw answer, for those that come as a stream. Anything but success is thrown. */
export async function ask(
  method: string,
  path: string,
  body: unknown,
  accept: string,
  signal?: AbortSignal,
): Promise<Response> {
  const headers: Record<string, string> = { Accept: accept };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const sent = body === undefined ? null : JSON.stringify(body);
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: sent,
      signal: signal ?? null,
      credentials: "same-origin",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused({
      status: 0,
      code: "hub.gone",
      detail: "the hub does not answer",
      hint: "start it with `toolgrove serve`",
    });
  }
  if (response.status === 401) signInAgain();
  if (!response.ok) throw await refusal(response);
  return response;
}

/** A session that ended is renewed by the hub's own page, which needs no script. */
function signInAgain() {
  location.assign(`/ui/login?next=${encodeURIComponent(location.pathname + location.search)}`);
}

export async function refusal(response: Response): Promise<Refused> {
  const wait = Number(response.headers.get("retry-after"));
  const retryAfter = Number.isFinite(wait) && wait > 0 ? wait : undefined;
  const text = await response.text().catch(() => "");
  return new Refused(readProblem(text) ?? plainProblem(response, text), retryAfter);
}

function readProblem(text: string): Problem | undefined {
  try {
    const problem = JSON.parse(text) as Partial<Problem>;
    const isProblem = typeof problem.code === "string" && typeof problem.detail === "string";
    return isProblem ? ({ status: 0, ...problem } as Problem) : undefined;
  } catch {
    return undefined;
  }
}

function plainProblem(response: Response, text: string): Problem {
  const { status, statusText } = response;
  return {
    status,
    code: `http.${status}`,
    detail: `the hub answered ${status} ${statusText}`.trim(),
    ...(text ? { data: text } : {}),
  };
}

/** Whatever was thrown, as something the `Problem` part can show. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Refused) return error.problem;
  return { status: 0, code: "page.broken", detail: error instanceof Error ? error.message : String(error) };
}
