// Written by `cargo xtask types`; do not edit.

/**
 * `application/problem+json`, the face of an [`Error`] on `/api`.
 */
export type Problem = { status: number, code: string, detail: string, hint?: string, data?: unknown, };

export type HealthLevel = "ok" | "info" | "warn" | "bad" | "off";

export type HealthState = "ready" | "idle" | "starting" | "sign_in" | "reauth" | "setup" | "changed" | "slow" | "failed" | "duplicate" | "closed" | "disabled";

export type HealthActionKind = "cancel" | "sign_in" | "reconnect" | "set_up" | "review" | "show_log" | "restart" | "show_other" | "open_tab" | "turn_on";

/**
 * What a person can do about it, with the words of the button.
 */
export type HealthAction = { kind: HealthActionKind, label: string, };

/**
 * The verdict, as every face shows it.
 */
export type Health = { level: HealthLevel, state: HealthState, summary: string, action?: HealthAction, };

/**
 * The three words that the API's `status` knows.
 */
export type InstanceStatus = "not_ready" | "ready" | "needs_reauth";

/**
 * How a call ended.
 */
export type CallEnd = "done" | "tool_error" | "failed" | "cancelled" | "input_required";

/**
 * How the last call that a server answered went.
 */
export type LastCall = { took_ms: number, 
/**
 * Unix milliseconds.
 */
at_ms: number, outcome: CallEnd, };

export type Era = "modern" | "legacy";

/**
 * What was found out about a server's era, and from what.
 */
export type Verdict = { era: Era, 
/**
 * The revision agreed on.
 */
version: string, evidence: string, 
/**
 * Unix milliseconds.
 */
at: number, };

/**
 * Who the hub is for.
 */
export type Mode = "solo" | "team" | "cluster";

/**
 * What a person may change beyond their own things: the highest role they hold anywhere.
 */
export type Role = "member" | "workspace-admin" | "admin";

export type Permission = "allow" | "ask" | "block";

export type HubStatus = { name: string, version: string, mode: Mode, 
/**
 * Where clients connect, if the hub is known under a public address; else it is where this was asked.
 */
public_url: string | null, instances: number, tools: number, sessions: number, parked: number, me: Me, workspaces: Array<MyWorkspace>, checklist: Checklist, };

/**
 * Who asks.
 */
export type Me = { id: string, name: string, email: string | null, role: Role, };

/**
 * A workspace the caller is a member of.
 */
export type MyWorkspace = { id: string, name: string, 
/**
 * `alpha`, `beta` or `gamma`.
 */
phase: string, 
/**
 * What they are in it.
 */
role: string, };

/**
 * The three steps of the first day.
 */
export type Checklist = { 
/**
 * Has a server.
 */
server: boolean, 
/**
 * A client has connected.
 */
client: boolean, 
/**
 * Something was called.
 */
call: boolean, };

/**
 * A registry entry as the API shows it.
 */
export type Server = { id: string, workspace_id: string | null, name: string, description: string, endpoint: string, transport: string, origin: string, enabled: boolean, protocol: string | null, era: string, era_verdict: Verdict | null, rate_limit: unknown, enabled_instances: number, disabled_instances: number, created_at: number, updated_at: number, };

/**
 * An instance as the API shows it.
 */
export type Instance = { id: string, server_id: string, server_name: string, slug: string, name: string, description: string, enabled: boolean, transport: string, auth_type: string, 
/**
 * `not_ready`, `ready` or `needs_reauth`.
 */
status: InstanceStatus, health: Health, last_error: string | null, tools: number, tools_off: number, 
/**
 * Age of the catalogue in seconds.
 */
age_s: number | null, 
/**
 * List entries that could not be used.
 */
problems: Array<string>, last_call: LastCall | null, };

/**
 * One tool of an instance.
 */
export type Tool = { name: string, public_name: string, description: string, enabled: boolean, permission: string, icon?: string, input_schema: unknown, };

export type InstanceDetail = { era: Verdict | null, tool_list: Array<Tool>, id: string, server_id: string, server_name: string, slug: string, name: string, description: string, enabled: boolean, transport: string, auth_type: string, 
/**
 * `not_ready`, `ready` or `needs_reauth`.
 */
status: InstanceStatus, health: Health, last_error: string | null, tools: number, tools_off: number, 
/**
 * Age of the catalogue in seconds.
 */
age_s: number | null, 
/**
 * List entries that could not be used.
 */
problems: Array<string>, last_call: LastCall | null, };

/**
 * What a server is to a person.
 */
export type ServerKind = "bud" | "builtin" | "external" | "tab" | "wasm";

/**
 * One server in the sidebar.
 */
export type RegistryRow = { id: string, name: string, kind: ServerKind, transport: string, 
/**
 * An address of ours that begins with `/`, or a name of the UI's own icons.
 */
icon: string, description: string, 
/**
 * Tools that can be called.
 */
tools: number, 
/**
 * How the instance is that would be used; null without one.
 */
status: InstanceStatus | null, 
/**
 * The one that would be used: the oldest that is on and ready.
 */
instance: RegistryInstance | null, 
/**
 * All that the caller has of this server, oldest first.
 */
instances: Array<RegistryInstance>, 
/**
 * Why nothing of it can be called here yet.
 */
reason: string | null, };

export type RegistryInstance = { id: string, slug: string, name: string, enabled: boolean, status: InstanceStatus, };

/**
 * What a server offers, as it was last heard of.
 */
export type Meta = { id: string, name: string, description: string, kind: ServerKind, icon: string, methods: Array<MetaMethod>, 
/**
 * Unix milliseconds; null if it was never listed.
 */
fetched_at: number | null, age_s: number | null, };

export type MetaMethod = { name: string, description: string, 
/**
 * `compareClauses(docA: string, limit?: number)`
 */
signature: string, inputSchema: unknown, };

/**
 * What became of it.
 */
export type ImportAnswer = { added: Array<ImportAdded>, failed: Array<ImportFailed>, message_success?: string, message_error?: string, };

export type ImportAdded = { id: string, name: string, slug: string, 
/**
 * None when the server wants a sign-in first, or could not be asked.
 */
tools: number | null, warning?: string, };

/**
 * A server of the text that was not taken, and why: an item of `failed` in the answer of an import.
 */
export type ImportFailed = { name: string, error: string, };

/**
 * One call as the API shows it.
 */
export type Call = { id: string, parent_id: string | null, person_id: string, token_id: string | null, chat_id: string | null, 
/**
 * `mcp`, `legacy`, `stdio`, `api`, `cli`, `xml`.
 */
door: string, 
/**
 * The MCP method.
 */
method: string, instance_id: string | null, 
/**
 * The name as the caller gave it.
 */
tool: string, depth: number, 
/**
 * Unix milliseconds.
 */
started_at: number, ms: number, 
/**
 * Null while it runs.
 */
outcome: CallEnd | null, error_code: string | null, 
/**
 * Size of the result.
 */
bytes: number, 
/**
 * What the client calls itself.
 */
client: string | null, };

/**
 * A call with everything that is known of it.
 */
export type CallDetail = { 
/**
 * Where the time went, in order.
 */
parts: Array<CallPart>, ticks: Array<CallTick>, 
/**
 * Calls that this one has made.
 */
nested: Array<Call>, arguments: Withheld, result: Withheld, id: string, parent_id: string | null, person_id: string, token_id: string | null, chat_id: string | null, 
/**
 * `mcp`, `legacy`, `stdio`, `api`, `cli`, `xml`.
 */
door: string, 
/**
 * The MCP method.
 */
method: string, instance_id: string | null, 
/**
 * The name as the caller gave it.
 */
tool: string, depth: number, 
/**
 * Unix milliseconds.
 */
started_at: number, ms: number, 
/**
 * Null while it runs.
 */
outcome: CallEnd | null, error_code: string | null, 
/**
 * Size of the result.
 */
bytes: number, 
/**
 * What the client calls itself.
 */
client: string | null, };

/**
 * A stretch of a call's time, in milliseconds after it came in.
 */
export type CallPart = { name: CallPartName, start_ms: number, ms: number, };

export type CallPartName = "policy" | "queue" | "link" | "server";

/**
 * Something the server let hear before its answer.
 */
export type CallTick = { at_ms: number, 
/**
 * Null: it asked something.
 */
progress: number | null, total: number | null, };

/**
 * Something that is not shown, and why.
 */
export type Withheld = { withheld: boolean, reason: string, };

export type CallStats = { 
/**
 * Unix milliseconds.
 */
since: number, until: number, 
/**
 * How long one slot is.
 */
step_ms: number, slots: Array<CallSlot>, 
/**
 * The upper edges of the latency classes; what took longer is in one more class.
 */
latency_ms: Array<number>, 
/**
 * Servers that were called, the busiest first.
 */
servers: Array<ServerCalls>, };

export type CallSlot = { calls: number, failed: number, };

/**
 * How one server did.
 */
export type ServerCalls = { 
/**
 * Null: calls that found no instance.
 */
instance_id: string | null, 
/**
 * Null if the instance is gone.
 */
slug: string | null, calls: number, failed: number, 
/**
 * Half of the calls, and nineteen of twenty, took at most about this long.
 */
p50_ms: number, p95_ms: number, slots: Array<CallSlot>, 
/**
 * How many calls are in each latency class.
 */
latency: Array<number>, };

/**
 * Something a page wants to know at once.
 */
export type LiveEvent = { "type": "instance", instance: Instance, } | { "type": "instance_removed", id: string, } | { "type": "registry" } | { "type": "list", instance: string, list: string, } | { "type": "call", call: Call, } | { "type": "progress", id: string, ms: number, progress: number, total: number | null, message: string | null, } | { "type": "client", name: string | null, } | { "type": "question", id: string, ms: number, };
