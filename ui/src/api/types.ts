/** What the hub's API sends and takes, in the shape of its Rust structs. */

import type { Json } from "@/lib/json";

export type Problem = {
  status: number;
  code: string;
  detail: string;
  hint?: string;
  data?: Json;
};

export type Level = "ok" | "info" | "warn" | "bad" | "off";
export type State =
  | "ready"
  | "idle"
  | "starting"
  | "sign_in"
  | "reauth"
  | "setup"
  | "changed"
  | "slow"
  | "failed"
  | "duplicate"
  | "closed"
  | "disabled";
export type ActionKind =
  | "cancel"
  | "sign_in"
  | "reconnect"
  | "set_up"
  | "review"
  | "show_log"
  | "restart"
  | "show_other"
  | "open_tab"
  | "turn_on";

/** Computed by the hub; the page only draws it. */
export type Health = {
  level: Level;
  state: State;
  summary: string;
  action?: { kind: ActionKind; label: string };
};

export type Role = "admin" | "workspace-admin" | "member";
export type Mode = "solo" | "team" | "cluster";

export type Person = { id: string; name: string; email: string | null; role: Role };

export type HubStatus = {
  name: string;
  version: string;
  mode: Mode;
  instances: number;
  tools: number;
  sessions: number;
  parked: number;
  /** Who is looking. */
  me: Person;
  /** Where clients reach the hub; null when that is where the page comes from. */
  endpoint: string | null;
  /** The three steps of a beginning, as far as they were really taken. */
  checklist: { server: boolean; client: boolean; call: boolean };
};

export type Transport =
  | "streamable_http"
  | "sse"
  | "stdio"
  | "unix"
  | "pipe"
  | "bud"
  | "tab"
  | "wasm"
  | "builtin";

export type Instance = {
  id: string;
  server_id: string;
  server_name: string;
  slug: string;
  name: string;
  description: string;
  enabled: boolean;
  transport: Transport;
  kind?: "external" | "builtin";
  auth_type: "public" | "header" | "oauth";
  status: "not_ready" | "ready" | "needs_reauth";
  health: Health;
  last_error: string | null;
  tools: number;
  tools_off: number;
  /** Age of the catalogue in seconds. */
  age_s: number | null;
  /** List entries that could not be used. */
  problems: string[];
  last_call?: { took_ms: number; at_ms: number } | null;
};

export type Permission = "allow" | "ask" | "block";

export type ToolAnnotations = {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
};

export type Tool = {
  name: string;
  public_name: string;
  title?: string;
  description: string;
  enabled: boolean;
  permission: Permission;
  icon?: string;
  input_schema: Json;
  output_schema?: Json;
  annotations?: ToolAnnotations;
  /** What was approved, when the tool differs from it. */
  changed?: { before: Json; after: Json };
};

export type Era = { era: "modern" | "legacy"; version: string; evidence: string; at: number };

/** An instance with everything its page shows. */
export type WholeInstance = Instance & {
  era: Era | null;
  tool_list: Tool[];
  auth_config_id?: string | null;
  /** What the admin has named and the person fills in; values are never sent. */
  credentials?: { in: "header" | "query" | "env"; key: string; has_value: boolean }[];
};

/** Who is signed in to an instance's server, without anything secret. */
export type SignIn = {
  issuer: string;
  client_id: string;
  scope: string | null;
  signed_in_at: number;
  expires_at: number | null;
  has_refresh_token: boolean;
};

export type RegistryKind = "bud" | "external" | "builtin" | "tab" | "wasm";

export type RegistryInstance = {
  id: string;
  slug: string;
  name: string;
  enabled: boolean;
  status: "not_ready" | "ready" | "needs_reauth";
};

/** A row of the registry sidebar. */
export type RegistryEntry = {
  id: string;
  name: string;
  kind: RegistryKind;
  transport: Transport;
  /** An address of the hub that begins with `/`, or a name of the page's own icons. */
  icon: string;
  description: string;
  tools: number;
  status: "not_ready" | "ready" | "needs_reauth" | null;
  /** The caller's instance that would be used. */
  instance: RegistryInstance | null;
  instances: RegistryInstance[];
  /** Why nothing of it can be called here yet. */
  reason: string | null;
};

export type Method = { name: string; description: string; signature: string; inputSchema: Json };

/** The cached discovery document of a server. */
export type Meta = {
  id: string;
  name: string;
  description: string;
  kind: RegistryKind;
  icon: string;
  methods: Method[];
  fetched_at: number | null;
  age_s: number | null;
};

export type Server = {
  id: string;
  workspace_id: string | null;
  name: string;
  description: string;
  endpoint: string;
  transport: Transport;
  origin: string;
  enabled: boolean;
  protocol: string | null;
  era: "auto" | "modern" | "legacy";
  era_verdict: Era | null;
  rate_limit: { tok_per_sec: number; burst?: number } | null;
  enabled_instances: number;
  disabled_instances: number;
  created_at: number;
  updated_at: number;
};

export type AuthEntry = { in: "header" | "query"; key: string };
export type AuthConfig = {
  id: string;
  server_id: string;
  type: "public" | "header" | "oauth";
  name: string;
  entries: AuthEntry[];
  scopes: string | null;
  endpoints: { issuer?: string; client_id?: string; has_client_secret?: boolean } | null;
};

export type PreviewList = {
  items: { name: string; description?: string; inputSchema?: Json }[];
  error?: Problem;
};

/** What a server offers right now, each list with its own error. */
export type Preview = {
  server_id: string;
  ok: boolean;
  error?: Problem;
  era: Era | null;
  capabilities: Json;
  instructions?: string;
  tools: PreviewList;
  resources: PreviewList;
  prompts: PreviewList;
  /** Public names as they would be listed. */
  names: { tool: string; public_name: string; collides?: boolean }[];
  warnings: string[];
  tokens: number;
};

export type Imported = {
  added: {
    id: string;
    name: string;
    slug: string;
    tools: number | null;
    warning?: string;
    instance?: Instance;
  }[];
  failed: { name: string; error: string }[];
  message_success?: string;
  message_error?: string;
};

export type Step = { name: string; ok: boolean; detail: string; ms: number };
export type Diagnosis = { slug: string; steps: Step[]; advice: string };

export type Outcome = "done" | "tool_error" | "failed" | "cancelled" | "input_required";

export type CallRecord = {
  id: string;
  parent_id: string | null;
  person_id: string;
  token_id: string | null;
  chat_id: string | null;
  door: string;
  method: string;
  instance_id: string | null;
  tool: string;
  depth: number;
  started_at: number;
  ms: number;
  /** Null while it runs. */
  outcome: Outcome | null;
  error_code: string | null;
  bytes: number;
  /** What the client calls itself. */
  client: string | null;
};

export type CallPart = { name: "policy" | "queue" | "link" | "server"; start_ms: number; ms: number };
/** Something the server let hear before its answer; without progress it asked something. */
export type CallTick = { at_ms: number; progress: number | null; total: number | null };
/** Something that is not shown, and why. */
export type Withheld = { withheld: boolean; reason: string };

/** One call with everything that is known of it. */
export type CallDetail = CallRecord & {
  parts: CallPart[];
  ticks: CallTick[];
  nested: CallRecord[];
  arguments: Withheld;
  result: Withheld;
};

export type Slot = { calls: number; failed: number };

/** How one server did. */
export type ServerCalls = {
  instance_id: string | null;
  slug: string | null;
  calls: number;
  failed: number;
  p50_ms: number;
  p95_ms: number;
  slots: Slot[];
  latency: number[];
};

/** A stretch of time in slots, all calls together and by server. */
export type CallStats = {
  since: number;
  until: number;
  step_ms: number;
  slots: Slot[];
  latency_ms: number[];
  servers: ServerCalls[];
};

/** What the event stream tells. */
export type LiveEvent =
  | { type: "instance"; instance: Instance }
  | { type: "instance_removed"; id: string }
  | { type: "registry"; rows?: RegistryEntry[] }
  | { type: "list"; instance: string; list: string }
  | { type: "call"; call: CallRecord }
  | {
      type: "progress";
      id: string;
      ms: number;
      progress: number;
      total: number | null;
      message: string | null;
    }
  | { type: "question"; id: string; ms: number }
  | { type: "client"; name: string | null }
  | { type: "lag" };

export type Workspace = {
  id: string;
  name: string;
  phase: "alpha" | "beta" | "gamma";
  /** Hosts that servers may be at; null means any. */
  allowlist: string[] | null;
  /** Which of these members may add. */
  allowed_transports: ("stdio" | "unix" | "pipe")[];
  pins: boolean;
  /** What the caller is in it; null for an admin who is no member. */
  role: Role | null;
};

export type Member = { person_id: string; name: string; email: string | null; role: Role };

export type PersonRow = Person & {
  sign_in: "password" | "oidc" | "local" | "invited";
  last_seen_at: number | null;
  created_at: number;
};

/** Somebody who was just added, and the link by which they come in. It works once. */
export type Invited = PersonRow & { invite: { url: string; expires_at: number } };

export type Token = {
  id: string;
  name: string;
  names_profile: "double" | "single";
  /** The instances it may use; null means all. */
  grants: { instance_id: string; slug: string }[] | null;
  created_at: number;
  last_used_at: number | null;
};

/** A token right after it was made: the only time its text is known. */
export type NewToken = Token & { token: string };

/** A browser in which the caller is signed in. */
export type Browser = {
  id: string;
  agent: string;
  current: boolean;
  last_seen_at: number;
  expires_at: number;
  created_at: number;
};

export type AdminLogRow = {
  id: string;
  at: number;
  person_id: string;
  person: string | null;
  action: string;
  subject: string;
  detail: Json;
};

/** A tool as another person would see it, or why they would not. */
export type SeenTool = { server: string; tool: string; public_name: string | null; reason: string | null };

export type LogLines = { slug: string; lines: string[] };
