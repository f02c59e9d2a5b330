//! Every key of `toolgrove.toml` as data, for `docs/config.md`.

/// One key, with the line that documents it.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub key: &'static str,
    pub doc: &'static str,
    /// As it would be typed; empty when the key has none.
    pub default: &'static str,
}

const fn key(key: &'static str, default: &'static str, doc: &'static str) -> Key {
    Key { key, doc, default }
}

#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key("mode", r#""solo""#, "Who the hub is for: `solo` (one person, loopback), `team`, or `cluster` (replicas)."),
    key("listen", r#""127.0.0.1:7430""#, "Address and port; in solo mode a loopback address."),
    key("public_url", "", "The http or https address people and providers reach the hub by."),
    key("secret_key_file", r#""<data>/secret.key""#, "The key that encrypts the store (mode 0600)."),
    key("capabilities", r#""live""#, "How fresh lists are at a call: `live`, `always` (asked every time) or `cached`."),
    key("sources.registry", "", "Another MCP registry than the official one."),
    key("sources.github", "", "Another GitHub API than the public one."),
    key("sources.ca_file", "", "A PEM file of further certificate authorities."),
    key("net.allow_private", "[]", "What is not public and may be connected to all the same in team mode: hosts, `*.domains`, addresses, networks."),
    key("store.url", "", "A SQLite file, or `postgres://…`; may hold `${env:X}`. A file in the data folder when absent."),
    key("cluster.valkey", "", "The Valkey or Redis that replicas share; may hold `${env:X}`."),
    key("names.profile", r#""double""#, "The tool names that lists show: `double` (`mcp__s__t`) or `single` (`mcp_s__t`)."),
    key("oauth.prefer", r#""dynamic""#, "Which client registration is tried first: `dynamic` or `document`."),
    key("limits.body_mb", "10", "Largest request or answer body, in MiB."),
    key("limits.call_timeout_ms", "60000", "How long a call may be silent; progress restarts the clock."),
    key("limits.result_chars", "50000", "Longest result in text views; the whole stays available."),
    key("tabs.timeout_ms", "10000", "How long a tool of a browser tab may take; progress restarts the clock."),
    key(
        "tabs.timeouts",
        "{}",
        "The same for a domain or one of its tools, up to 600000: `\"github.com/search\" = 60000`.",
    ),
    key("tabs.activate", "false", "Bring a tab that the browser has frozen to the front when it is called."),
    key("tabs.allowed_origins", r#"["*"]"#, "Which pages may offer tools."),
    key("tabs.relay", "false", "Also speak the `webmcp-local-relay` protocol, for pages that embed it."),
    key("tabs.relay_timeout_ms", "65000", "How long a tool of such a page may take."),
    key("tabs.max_payload_mb", "10", "Largest message of a tab, in MiB."),
    key("sign_in.oidc_issuer", "", "The OpenID provider people sign in with."),
    key("sign_in.client_id", "", "The hub's client id at that provider."),
    key("sign_in.client_secret", "", "Its secret, as `\"${env:X}\"`."),
    key("provider.<name>.kind", "", "The wire format of a model provider: `openai` or `anthropic`."),
    key("provider.<name>.url", "", "Another address than the provider's own."),
    key("provider.<name>.key", "", "Its key, as `\"${env:X}\"`."),
    key("provider.<name>.calls", r#""native""#, "How its models ask for tools: `native` or `xml`."),
    key("bud.<name>.description", "", "What a bud is for."),
    key("bud.<name>.avatar", "", "An emoji, or a picture as a `data:` URL."),
    key("bud.<name>.system_prompt", "", "What its model is told first."),
    key("bud.<name>.model", "", "`<provider>/<model>`, or a model of the only provider."),
    key("bud.<name>.temperature", "", "From 0 to 2; the provider's own when absent."),
    key("bud.<name>.max_tokens", "", "How much it may say at most."),
    key("bud.<name>.methods", "[]", "Its methods, each with `name`, `description`, `inputSchema` and `template`; `ask {message}` when there are none."),
    key("bud.<name>.mcp_config", "{}", "Its tools: `servers`, `available_tools`, `disabled_tools`, `tool_choice`."),
    key("server.<name>", "", "A server, with the keys of a pasted configuration (`url`, `headers`, `command`, …)."),
];
