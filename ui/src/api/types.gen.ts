// Written by `cargo xtask types`; do not edit.

import type { Json } from "@/lib/json";

/**
 * `application/problem+json`, the face of an [`Error`] on `/api`.
 */
export type Problem = { status: number, code: string, detail: string, hint?: string, data?: Json, };

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
 * Where clients connect.
 */
endpoint: string, instances: number, tools: number, sessions: number, parked: number, me: Me, workspaces: Array<MyWorkspace>, checklist: Checklist, };

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
role: Role, };

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
 * A workspace as the API shows it.
 */
export type Workspace = { id: string, name: string, phase: "alpha" | "beta" | "gamma", 
/**
 * Hosts that servers may be at; null means any.
 */
allowlist: Array<string> | null, 
/**
 * Which of `stdio`, `unix` and `pipe` members may add.
 */
allowed_transports: Array<string>, 
/**
 * `off`, `warn` or `hold`; null holds what bundles bring and warns of the rest.
 */
pins: string | null, 
/**
 * What the caller is in it; null for an admin who is no member.
 */
role: Role | null, };

/**
 * A person as admins see them.
 */
export type Person = { id: string, name: string, email: string | null, role: Role, sign_in: SignInKind, last_seen_at: number | null, created_at: number, };

/**
 * How a person comes in.
 */
export type SignInKind = "password" | "oidc" | "local" | "invited";

/**
 * A link that lets somebody choose a password. It works once.
 */
export type Invite = { url: string, expires_at: number, };

export type InvitedPerson = { invite: Invite, id: string, name: string, email: string | null, role: Role, sign_in: SignInKind, last_seen_at: number | null, created_at: number, };

/**
 * A token as the API shows it.
 */
export type Token = { id: string, name: string, 
/**
 * `double` or `single`.
 */
names_profile: string, 
/**
 * The instances it may use; null means all of its person.
 */
grants: Array<TokenGrant> | null, last_used_at: number | null, created_at: number, };

export type TokenGrant = { instance_id: string, slug: string, };

/**
 * The only time anybody sees what opens the doors.
 */
export type NewToken = { token: string, id: string, name: string, 
/**
 * `double` or `single`.
 */
names_profile: string, 
/**
 * The instances it may use; null means all of its person.
 */
grants: Array<TokenGrant> | null, last_used_at: number | null, created_at: number, };

/**
 * A browser in which the caller is signed in.
 */
export type Browser = { id: string, agent: string, 
/**
 * Whether it is the one that asks.
 */
current: boolean, last_seen_at: number, expires_at: number, created_at: number, };

/**
 * Everything about a person's tabs.
 */
export type TabsView = { browsers: Array<PairedBrowser>, tabs: Array<OpenTab>, remembered: Array<RememberedTool>, 
/**
 * The id of the extension that may connect.
 */
extension: string, relay: RelayState, };

export type PairedBrowser = { id: string, 
/**
 * What it calls itself: `Chromium/156`.
 */
name: string, connected: boolean, 
/**
 * Unix milliseconds.
 */
last_seen: number, created_at: number, };

export type OpenTab = { 
/**
 * The browser it is in; none for a page that embeds the relay.
 */
browser: string | null, domain: string, origin: string, 
/**
 * Its number within the domain.
 */
tab: number, title: string | null, url: string | null, active: boolean, incognito: boolean, 
/**
 * An origin the page only says it has.
 */
claims: string | null, last_updated: number, tools: Array<TabTool>, };

export type TabTool = { 
/**
 * The public name.
 */
name: string, 
/**
 * The page's own name.
 */
own_name: string, description: string, remembered: boolean, };

export type RememberedTool = { name: string, domain: string, own_name: string, url: string | null, };

/**
 * Whether pages that embed the relay can connect.
 */
export type RelayState = { "state": "off" } | { "state": "on", port: number, note: string | null, } | { "state": "failed", problem: string, };

/**
 * A way to pair one browser.
 */
export type Pairing = { code: string, 
/**
 * What to paste into the extension: the hub's address and the code.
 */
paste: string, 
/**
 * A page of the extension that pairs with one click.
 */
link: string, seconds: number, };

/**
 * What a page asks in the middle of a call whose client cannot be asked.
 */
export type TabQuestion = { id: string, domain: string, 
/**
 * The page's own name of the tool that asks.
 */
tool: string, message: string, 
/**
 * A JSON Schema of the answer.
 */
schema: unknown, 
/**
 * Unix milliseconds.
 */
asked_at: number, };

/**
 * One line of the tab log.
 */
export type TabLogLine = { at: number, browser: string, tabId: number, domain: string, 
/**
 * `registered`, `updated`, `called`, `left` or `closed`.
 */
event: string, tool: string | null, outcome: string, };

/**
 * A registry entry as the API shows it.
 */
export type Server = { id: string, workspace_id: string | null, name: string, description: string, endpoint: string, transport: string, origin: string, enabled: boolean, protocol: string | null, era: string, era_verdict: Verdict | null, rate_limit: Json, enabled_instances: number, disabled_instances: number, created_at: number, updated_at: number, };

/**
 * An instance as the API shows it.
 */
export type Instance = { id: string, server_id: string, server_name: string, slug: string, name: string, description: string, enabled: boolean, transport: string, 
/**
 * `external` or `builtin`.
 */
kind: string, auth_type: string, 
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
export type Tool = { name: string, public_name: string, description: string, enabled: boolean, permission: Permission, icon?: string, input_schema: Json, output_schema?: Json, title?: string, 
/**
 * What the server says of it: `readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint`.
 */
annotations?: { [key in string]?: Json }, 
/**
 * What was approved and what the server says now, when they differ and nobody has decided.
 */
changed?: ToolChanged, };

export type ToolChanged = { before: Json, after: Json, };

export type InstanceDetail = { era: Verdict | null, auth_config_id: string | null, 
/**
 * What the admin has named and the person fills in. Values are never shown.
 */
credentials: Array<NamedValue>, tool_list: Array<Tool>, id: string, server_id: string, server_name: string, slug: string, name: string, description: string, enabled: boolean, transport: string, 
/**
 * `external` or `builtin`.
 */
kind: string, auth_type: string, 
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

export type RegistryInstance = { id: string, slug: string, name: string, enabled: boolean, status: InstanceStatus, 
/**
 * Why it does not work, if it does not.
 */
failure: string | null, };

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
signature: string, inputSchema: Json, };

/**
 * What became of it.
 */
export type ImportAnswer = { added: Array<ImportAdded>, failed: Array<ImportFailed>, message_success?: string, message_error?: string, };

export type ImportAdded = { id: string, name: string, slug: string, 
/**
 * None when the server wants a sign-in first, or could not be asked.
 */
tools: number | null, warning?: string, 
/**
 * What it is now, for who would ask next.
 */
instance?: Instance, };

/**
 * A server of the text that was not taken, and why: an item of `failed` in the answer of an import.
 */
export type ImportFailed = { name: string, error: string, };

/**
 * A step on the way to one of the servers, told as it is taken.
 */
export type ImportStep = { server: string, step: DoctorStep, };

/**
 * One step, how it went, and how long it took.
 */
export type DoctorStep = { name: string, ok: boolean, detail: string, ms: number, };

/**
 * What the doctor found.
 */
export type Diagnosis = { slug: string, steps: Array<DoctorStep>, 
/**
 * What to do, in a sentence.
 */
advice: string, };

/**
 * What the server's process last wrote to stderr.
 */
export type LogLines = { slug: string, lines: Array<string>, 
/**
 * How many lines there were before the first of these.
 */
from: number, };

/**
 * The same as the API shows it: whether there is a value, never which.
 */
export type NamedValue = { 
/**
 * `header`, `query` or `env`.
 */
in: string, key: string, has_value: boolean, };

/**
 * The three ways.
 */
export type AuthType = "public" | "header" | "oauth";

/**
 * Where a value stands in a request.
 */
export type AuthPlace = "header" | "query";

/**
 * One named place.
 */
export type AuthEntry = { in: AuthPlace, key: string, };

/**
 * A config as the API shows it.
 */
export type AuthConfig = { id: string, server_id: string, type: AuthType, name: string, entries: Array<AuthEntry>, 
/**
 * Separated by spaces.
 */
scopes: string | null, 
/**
 * Who we are at which provider, if an admin has entered that.
 */
endpoints: EnteredClient | null, };

/**
 * A client that an admin has entered. Its secret is never shown.
 */
export type EnteredClient = { issuer: string, client_id: string, has_client_secret: boolean, };

/**
 * What was found.
 */
export type Preview = { server_id: string, ok: boolean, 
/**
 * Why nothing could be asked at all.
 */
error?: Problem, era: Verdict | null, capabilities: Json, server_info?: Json, instructions?: string, tools: PreviewList, resources: PreviewList, resource_templates: PreviewList, prompts: PreviewList, 
/**
 * Public names as they would be listed.
 */
names: Array<PublicName>, 
/**
 * List entries that could not be used, and why.
 */
warnings: Array<string>, 
/**
 * What the tools cost a model that is shown all of them, roughly.
 */
tokens: number, };

export type PreviewList = { 
/**
 * As the server sent them.
 */
items: Array<{ [key in string]?: Json }>, error?: Problem, };

export type PublicName = { tool: string, public_name: string, 
/**
 * Another tool had the name already.
 */
collides?: boolean, };

/**
 * Who is signed in to an instance, without anything secret.
 */
export type SignIn = { issuer: string, client_id: string, scope: string | null, 
/**
 * Unix milliseconds.
 */
signed_in_at: number, expires_at: number | null, has_refresh_token: boolean, };

/**
 * Somebody in a workspace.
 */
export type Member = { person_id: string, name: string, email: string | null, role: Role, };

/**
 * A tool of somebody, or a server of which they have none.
 */
export type SeenTool = { server: string, 
/**
 * Null: the whole server.
 */
tool: string | null, 
/**
 * What they call it by.
 */
public_name: string | null, 
/**
 * Why they cannot.
 */
reason: string | null, };

/**
 * One change somebody made.
 */
export type AdminNote = { id: string, at: number, person_id: string, 
/**
 * What the person is called now; absent when they are gone.
 */
person: string | null, 
/**
 * A dotted verb, such as `server.add`.
 */
action: string, subject: string, detail: Json, };

/**
 * A client that the caller let in.
 */
export type ConnectedClient = { id: string, client_id: string, name: string, 
/**
 * Where answers to it go: a host, or the scheme of an app.
 */
place: string, 
/**
 * The path that its tokens are for; empty for the whole hub.
 */
resource: string, scope: string, 
/**
 * The instances it may use; null means all of its person.
 */
grants: Array<TokenGrant> | null, last_used_at: number | null, 
/**
 * When it is over if it is not used from now on.
 */
expires_at: number, created_at: number, };

/**
 * A client that may ask people to let it in.
 */
export type KnownClient = { client_id: string, 
/**
 * `registered` or `document`.
 */
kind: string, name: string, redirect_uris: Array<string>, 
/**
 * How many times people let it in.
 */
connections: number, last_used_at: number | null, created_at: number, };

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
client: string | null, 
/**
 * The browser tab it went to.
 */
tab: TabOfCall | null, };

/**
 * Where in a browser a call has run.
 */
export type TabOfCall = { 
/**
 * The browser's own number of the tab.
 */
id: number, domain: string, };

/**
 * A call with everything that is known of it.
 */
export type CallDetail = { 
/**
 * Where the time went, in order.
 */
parts: Array<CallPart>, ticks: Array<CallTick>, 
/**
 * Calls that this one has made, and those that they have made.
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
client: string | null, 
/**
 * The browser tab it went to.
 */
tab: TabOfCall | null, };

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
 * A bundle that is installed.
 */
export type Bundle = { id: string, version: string, name: string, description: string, author: string | null, source: string, 
/**
 * `user`, `workspace` or `repository`.
 */
scope: string, 
/**
 * The file its servers are in, if any.
 */
file: string | null, sha256: string | null, installed_at: number, servers: Array<BundleServer>, };

/**
 * One of its servers, as the hub has it.
 */
export type BundleServer = { id: string, name: string, 
/**
 * As the bundle calls it.
 */
server: string, identity: string | null, endpoint: string, 
/**
 * `active`, `off` or `duplicate`.
 */
state: "active" | "off" | "duplicate", 
/**
 * The server that does the same and stays.
 */
duplicate_of: string | null, instance: string | null, slug: string | null, tools: number, 
/**
 * Tools that changed, and that nobody has decided on.
 */
changed: number, health: Health | null, };

/**
 * A page of what the registry has.
 */
export type Hits = { servers: Array<Hit>, cursor: string | null, };

/**
 * One entry of the registry, as a list of them shows it.
 */
export type Hit = { name: string, 
/**
 * Whose namespace it is in, such as `io.github.someone`.
 */
publisher: string, title: string, description: string, version: string, 
/**
 * `active` or `deprecated`.
 */
status: string, website: string | null, 
/**
 * How it can be had: `stdio` (a package that runs here), `http` or `sse`.
 */
kinds: Array<string>, 
/**
 * What has to be given first.
 */
needs: Array<string>, 
/**
 * When the registry last heard of it.
 */
updated: string | null, };

/**
 * What an install or an update does, or would do.
 */
export type BundlePlan = { id: string, version: string, name: string, description: string, author: string | null, 
/**
 * What it came from, as it was typed.
 */
source: string, 
/**
 * The version that is there now.
 */
installed: string | null, 
/**
 * What will be started or reached.
 */
servers: Array<Runs>, 
/**
 * What somebody has to say first.
 */
settings: Array<Setting>, items: Array<BundleItem>, failed: Array<LeftOut>, 
/**
 * The file that is written; none when the hub alone runs the servers.
 */
file: string | null, duplicates: Array<Duplicate>, removed: Array<string>, warnings: Array<string>, 
/**
 * The archive's.
 */
sha256: string | null, 
/**
 * Of everything here that runs: whoever agreed to it sends it along.
 */
digest: string, 
/**
 * The first setting that is missing or wrong.
 */
problem: string | null, };

/**
 * One server, as its author wrote it.
 */
export type Runs = { name: string, server: string, identity: string, 
/**
 * `stdio`, `http` or `sse`.
 */
kind: string, 
/**
 * The command line, or the address.
 */
endpoint: string, definition: { env?: { [key in string]: string }, headers?: { [key in string]: string } }, 
/**
 * Variables of the environment that go into it.
 */
env: Array<string>, flags: Array<Flag>, };

/**
 * One question. Its answer takes the place of `${user_config.<key>}`.
 */
export type Setting = { key: string, title: string, description: string, kind: SettingKind, required: boolean, 
/**
 * Kept as a secret, and never shown.
 */
sensitive: boolean, 
/**
 * Takes a list.
 */
multiple: boolean, default: Json, choices: Array<string>, min: number | null, max: number | null, };

export type SettingKind = "string" | "number" | "boolean" | "directory" | "file";

export type BundleItem = { path: string, kind: string, };

/**
 * A server that cannot be installed, and why.
 */
export type LeftOut = { server: string, error: string, };

/**
 * A duplicate as it is reported.
 */
export type Duplicate = { serverName: string, duplicateOf: string, bundleId: string, originalBundleId: string, };

/**
 * What was installed or updated, and how its servers took it.
 */
export type BundleDone = { started: Array<Started>, id: string, version: string, name: string, description: string, author: string | null, 
/**
 * What it came from, as it was typed.
 */
source: string, 
/**
 * The version that is there now.
 */
installed: string | null, 
/**
 * What will be started or reached.
 */
servers: Array<Runs>, 
/**
 * What somebody has to say first.
 */
settings: Array<Setting>, items: Array<BundleItem>, failed: Array<LeftOut>, 
/**
 * The file that is written; none when the hub alone runs the servers.
 */
file: string | null, duplicates: Array<Duplicate>, removed: Array<string>, warnings: Array<string>, 
/**
 * The archive's.
 */
sha256: string | null, 
/**
 * Of everything here that runs: whoever agreed to it sends it along.
 */
digest: string, 
/**
 * The first setting that is missing or wrong.
 */
problem: string | null, };

export type Started = { server: string, slug: string, instance: string, 
/**
 * None: it was not asked, or did not answer.
 */
tools: number | null, error: string | null, };

/**
 * One tool that somebody has to look at.
 */
export type ChangedTool = { instance: string, slug: string, server: string, 
/**
 * As its server calls it.
 */
tool: string, 
/**
 * As clients call it.
 */
public_name: string, 
/**
 * `changed`, `renamed` or `new`.
 */
is: "changed" | "renamed" | "new", renamed_from: string | null, 
/**
 * Calls are refused until somebody decides.
 */
held: boolean, rejected: boolean, 
/**
 * Of the new definition: whoever decides sends it along.
 */
digest: string, diff: Array<Difference>, 
/**
 * What is odd about the whole new definition, changed or not.
 */
flags: Array<Flag>, };

/**
 * One place where two definitions differ.
 */
export type Difference = { 
/**
 * A JSON pointer such as `/inputSchema/properties/city`.
 */
pointer: string, 
/**
 * Texts as they read, anything else as JSON. None: it was not there.
 */
before: string | null, after: string | null, 
/**
 * What is odd about the new text.
 */
flags: Array<Flag>, };

/**
 * One odd place of a text.
 */
export type Flag = { kind: FlagKind, 
/**
 * Where it begins, in characters.
 */
at: number, 
/**
 * The place with a few characters around it, hidden ones written out.
 */
excerpt: string, };

export type FlagKind = "hidden" | "instruction";

/**
 * Something a page wants to know at once.
 */
export type LiveEvent = { "type": "instance", instance: Instance, } | { "type": "instance_removed", id: string, } | { "type": "registry", rows: Array<RegistryRow>, } | { "type": "list", instance: string, list: string, } | { "type": "log", instance: string, from: number, lines: Array<string>, } | { "type": "call", call: Call, } | { "type": "progress", id: string, ms: number, progress: number, total: number | null, message: string | null, } | { "type": "client", name: string | null, } | { "type": "question", id: string, ms: number, } | { "type": "tabs", questions: number, } | { "type": "chat", chat: Chat, } | { "type": "chat_removed", id: string, };

/**
 * Whether the model has to use a tool.
 */
export type ToolChoice = "auto" | "none" | "required";

/**
 * What a bud is set up with. A server is named by id, name or slug; a tool as `server.tool` or bare.
 */
export type McpConfig = { servers: Array<string>, 
/**
 * None: all tools of these servers.
 */
available_tools: Array<string>, disabled_tools: Array<string>, tool_choice?: ToolChoice, };

/**
 * What a chat has besides.
 */
export type Overrides = { additional_servers: Array<string>, disabled_tools: Array<string>, tool_choice?: ToolChoice, };

/**
 * One way of calling a bud.
 */
export type BudMethod = { name: string, description: string, inputSchema: Json, 
/**
 * What the model is told, with `{{argument}}` where arguments go.
 */
template?: string, };

/**
 * What its author says of a bud: the columns of the table, and the keys of `[bud.<name>]`.
 */
export type BudPreset = { description: string, 
/**
 * An emoji, or a picture as a `data:` URL.
 */
avatar: string | null, system_prompt: string, 
/**
 * `<provider>/<model>`, or a model of the only provider.
 */
model: string | null, temperature: number | null, max_tokens: number | null, 
/**
 * None: `ask {message}`.
 */
methods: Array<BudMethod>, mcp_config: McpConfig, };

/**
 * A bud as the API shows it.
 */
export type Bud = { 
/**
 * Also the id of its server.
 */
id: string, workspace_id: string, owner_id: string | null, name: string, 
/**
 * `bud://<workspace>/<name>`.
 */
address: string, 
/**
 * Whether it is declared in `toolgrove.toml`.
 */
declared: boolean, 
/**
 * Whether the caller may change it.
 */
editable: boolean, created_at: number, updated_at: number, description: string, 
/**
 * An emoji, or a picture as a `data:` URL.
 */
avatar: string | null, system_prompt: string, 
/**
 * `<provider>/<model>`, or a model of the only provider.
 */
model: string | null, temperature: number | null, max_tokens: number | null, 
/**
 * None: `ask {message}`.
 */
methods: Array<BudMethod>, mcp_config: McpConfig, };

export type Models = { 
/**
 * In the order in which a model without a provider's name is looked for.
 */
providers: Array<ModelProvider>, 
/**
 * What to do when there is none.
 */
hint: string | null, };

/**
 * A place where models run. `<name>/<model>` is how a bud or a chat names one of its models.
 */
export type ModelProvider = { name: string, kind: "openai" | "anthropic", 
/**
 * How its models ask for tools.
 */
calls: "native" | "xml", 
/**
 * Whether a key is set.
 */
key: boolean, };

/**
 * A conversation.
 */
export type Chat = { id: string, workspace_id: string, bud_id: string | null, 
/**
 * The beginning of the first message, until somebody names it.
 */
title: string, 
/**
 * `<provider>/<model>`, in the place of the bud's.
 */
model: string | null, mcp_config_overrides: Overrides, 
/**
 * Whether an answer is on its way: `GET /api/chats/:id/stream` follows it.
 */
running: boolean, created_at: number, updated_at: number, };

export type MessageState = "running" | "done" | "stopped" | "failed";

export type Usage = { input: number, output: number, };

/**
 * A tool that the model wants. The arguments are what it wrote.
 */
export type ToolUse = { id: string, name: string, arguments: string, };

export type Picture = { mimeType: string, 
/**
 * Base64.
 */
data: string, };

/**
 * What a message holds. Members that do not belong to its role are absent.
 */
export type MessageContent = { 
/**
 * What was said; of a tool, the text of its result.
 */
text: string, images?: Array<Picture>, 
/**
 * The tools an assistant wanted; each has a `tool` message of its own.
 */
uses?: Array<ToolUse>, 
/**
 * How it is with an answer or a tool; absent on what a person said.
 */
state?: MessageState, model?: string, usage?: Usage, 
/**
 * Why it failed.
 */
error: Problem, 
/**
 * Of a tool: which use of the assistant's it answers; absent when a person called it.
 */
use_id?: string, 
/**
 * Of a tool: its public name.
 */
tool?: string, 
/**
 * Of a tool: the slug of its instance.
 */
server?: string, arguments: Json, structured: Json, ms?: number, 
/**
 * The whole of a text that was cut: `GET /api/mcp/results/:id`.
 */
result_id?: string, };

/**
 * One message. `content` says all there is to draw.
 */
export type ChatMessage = { id: string, chat_id: string, role: "system" | "user" | "assistant" | "tool", content: MessageContent, 
/**
 * The call behind a `tool` message.
 */
call_id: string | null, created_at: number, };

/**
 * A question to the person.
 */
export type ChatQuestion = { id: string, 
/**
 * The `tool` message that waits for the answer.
 */
message: string | null, 
/**
 * Whether it is about permission alone: then accepting is enough.
 */
permission: boolean, text: string, 
/**
 * What to fill in; null when nothing is.
 */
schema: Json | null, 
/**
 * A page to visit.
 */
url: string | null, };

/**
 * A chat with everything said in it.
 */
export type ChatWhole = { chat: Chat, messages: Array<ChatMessage>, };

/**
 * What a turn tells, one event each, in order.
 */
export type ChatEvent = { "type": "chat", chat: Chat, } | { "type": "message", message: ChatMessage, } | { "type": "cut", from: string, } | { "type": "delta", message: string, delta: string, } | { "type": "use", message: string, use_id: string, name: string, } | { "type": "arguments", message: string, use_id: string, delta: string, } | { "type": "progress", message: string, progress: number, total: number | null, note: string | null, } | { "type": "ask", ask: ChatQuestion, } | { "type": "asked", ask: string, } | { "type": "done", state: MessageState, };

/**
 * One call.
 */
export type PlanNode = { id: string, 
/**
 * A public name, such as `mcp__weather__forecast`.
 */
tool: string, args: { [key: string]: Json }, 
/**
 * Where it is drawn.
 */
at?: [number, number], };

/**
 * `to` waits for `from`.
 */
export type PlanEdge = { from: string, to: string, };

export type PlanGraph = { nodes: Array<PlanNode>, edges: Array<PlanEdge>, };

/**
 * How far a node is.
 */
export type NodeState = "waiting" | "running" | "done" | "failed" | "skipped";

export type Plan = { id: string, workspace_id: string, name: string, graph: PlanGraph, created_at: number, updated_at: number, };

/**
 * `event: node`: a node is in another state, or says something.
 */
export type PlanEvent = { node: string, state: NodeState, 
/**
 * What it gave, or said while it runs.
 */
delta?: string, call_id?: string, error?: Problem, };

/**
 * `event: done`: how every node ended.
 */
export type PlanDone = { nodes: { [key: string]: NodeState }, };

/**
 * A tool that the model of a chat has, and what it costs to tell it of.
 */
export type ChatTool = { 
/**
 * The public name.
 */
name: string, description: string, 
/**
 * About how many tokens its description takes in every turn.
 */
tokens: number, };

/**
 * A file without its text.
 */
export type WorkspaceFile = { id: string, name: string, mime_type: string, 
/**
 * How long the text is, in characters.
 */
chars: number, 
/**
 * Whether the caller added it.
 */
is_own: boolean, 
/**
 * Whether the caller may remove it.
 */
removable: boolean, created_at: number, };

export type Converted = { name: string, description: string, methods: Array<MetaMethod>, 
/**
 * The bud it was saved as.
 */
bud_id: string | null, };
