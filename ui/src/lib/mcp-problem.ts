/** An MCP error as the `Problem` part shows it: nothing of what was said is lost. */

import type { Problem } from "@/api/types";
import { type Json, member } from "./json";
import type { McpError } from "./mcp-request";

export function mcpProblem(error: McpError): Problem {
  const code = member(error.data, "code");
  const hint = member(error.data, "hint");
  const isOurs = typeof code === "string" && code.includes(".");
  return {
    status: 0,
    code: isOurs ? code : `MCP ${error.code}`,
    detail: error.message,
    ...(typeof hint === "string" ? { hint } : {}),
    data: {
      code: error.code,
      message: error.message,
      ...(error.data === undefined ? {} : { data: error.data }),
    } satisfies Json,
  };
}
