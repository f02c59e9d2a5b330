//! Texts of `toolgrove.toml` and what they mean.

use super::*;
use crate::import::EntryTransport;

fn env(name: &str) -> Option<String> {
    (name == "TOKEN").then(|| "t0ken".to_owned())
}

#[track_caller]
fn parse(text: &str) -> Config {
    Config::parse(text, env).unwrap()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let error = Config::parse(text, env).unwrap_err();
    assert_eq!((error.code(), error.to_string()), ("config.invalid", expected.to_owned()), "for {text}");
}

#[test]
fn an_empty_file_means_the_defaults() {
    let config = parse("");
    assert_eq!(config, Config::default());
    assert_eq!(config.listen.0.to_string(), "127.0.0.1:7430");
    assert_eq!(config.tabs.allowed_origins, ["*"]);
}

#[test]
fn every_section_is_read() {
    let config = parse(
        r#"
        mode = "cluster"
        listen = "0.0.0.0:80"
        public_url = "https://hub.example.com"
        secret_key_file = "/etc/key"
        capabilities = "always"
        [sources]
        registry = "https://registry.example.com"
        [net]
        allow_private = ["10.0.0.0/8"]
        [store]
        url = "postgres://hub:${env:TOKEN}@db/hub"
        [cluster]
        valkey = "redis://v"
        [names]
        profile = "single"
        [oauth]
        prefer = "document"
        [limits]
        body_mb = 5
        [tabs]
        relay = true
        timeouts = { "github.com" = 20000, "github.com/search" = 600000 }
        [sign_in]
        oidc_issuer = "https://id.example.com"
        client_id = "hub"
        client_secret = "${env:TOKEN}"
        [provider.local]
        kind = "openai"
        url = "http://localhost:11434/v1"
        key = "${env:TOKEN}"
        calls = "xml"
        [bud.Compare]
        system_prompt = "You compare clauses"
        model = "local/m"
        temperature = 0.2
        mcp_config = { servers = ["github"] }
        methods = [{ name = "compare", template = "{{a}}", inputSchema = { type = "object" } }]
        [server.github]
        url = "https://api.githubcopilot.com/mcp/"
        headers = { Authorization = "Bearer ${env:GITHUB_TOKEN}" }
        disabledTools = ["purge"]
        "#,
    );
    assert_eq!((config.mode, config.names), (Mode::Cluster, Profile::Single));
    assert_eq!((config.capabilities, config.oauth_prefer), (Capabilities::Always, OauthPrefer::Document));
    assert_eq!(config.store_url, Some(Secret::new("postgres://hub:t0ken@db/hub")));
    assert_eq!(config.limits, Limits { body_mb: 5, ..Limits::default() });
    assert_eq!(config.sign_in.client_secret, Some(Secret::new("t0ken")));
    let provider = &config.providers["local"];
    assert_eq!((provider.kind, provider.calls), (ProviderKind::Openai, Calls::Xml));
    let bud = &config.buds["Compare"];
    assert_eq!((bud.temperature, bud.methods[0].name.as_str()), (Some(0.2), "compare"));
    let [server] = &config.servers[..] else { panic!("one server") };
    assert_eq!((server.name.as_str(), &server.disabled_tools[..]), ("github", &["purge".to_owned()][..]));
    let EntryTransport::Http { headers, .. } = &server.transport else { panic!("http") };
    assert_eq!(headers[0].1.reveal(), "Bearer ${env:GITHUB_TOKEN}", "servers stay unresolved");
}

#[test]
fn a_misspelt_key_has_a_place_and_a_suggestion() {
    check("lisen = \"x\"", "line 1, column 1: `lisen` is not a key; did you mean `listen`?");
    check("\n[limits]\n  bodymb = 1", "line 3, column 3: `bodymb` is not a key; did you mean `body_mb`?");
    check("[net]\nzzz = 1", "line 2, column 1: `zzz` is not a key; expected `allow_private`");
    check("[bud.a]\nmodle = 5", "line 2, column 1: `modle` is not a key; did you mean `model`?");
    check("[bud.a]\ntemperature = 9", "line 1, column 1: bud `a`: `temperature` is a number from 0 to 2");
    check("[server.a]\nurl = 5", "line 1, column 1: server `a`: `url` must be a text");
    check("[server]\na = 5", "line 2, column 5: server `a`: expected a table with `url` or `command`");
}

#[test]
fn a_wrong_value_says_what_was_expected() {
    check(
        "mode = \"tema\"",
        "line 1, column 8: `tema` is not possible here; expected `solo`, `team` or `cluster`",
    );
    check(
        "listen = \"7430\"",
        "line 1, column 10: `listen` is an address and a port, such as `127.0.0.1:7430`",
    );
    check("public_url = \"ftp://x\"", "line 1, column 14: `public_url` must be an http or https URL");
    check("listen = 5", "line 1, column 10: invalid type: integer `5`, expected a string");
    check("[limits]\nbody_mb = 0", "line 2, column 11: invalid value: integer `0`, expected a nonzero u64");
    check(
        "[tabs]\ntimeouts = { \"github.com\" = 600001 }",
        "line 2, column 29: `tabs.timeouts` of `github.com` must be 1 to 600000 ms, not 600001",
    );
    check("mode = \"cluster\"", "cluster mode needs `store.url` to be a `postgres://` URL");
    let text = "mode = \"cluster\"\n[store]\nurl = \"postgres://x\"";
    check(text, "cluster mode needs `cluster.valkey`");
}

#[test]
fn a_solo_hub_listens_to_this_machine_only() {
    let problem = r#"in solo mode `listen` must be a loopback address; set `mode = "team"` to serve others"#;
    for address in ["0.0.0.0:7430", "[::]:7430", "192.168.1.5:80"] {
        check(&format!("listen = \"{address}\""), &format!("line 1, column 10: {problem}"));
        parse(&format!("mode = \"team\"\nlisten = \"{address}\""));
    }
    for address in ["127.0.0.1:0", "[::1]:7430", "127.8.8.8:1"] {
        parse(&format!("listen = \"{address}\""));
    }
}

#[test]
fn the_environment_is_for_secrets_and_secrets_are_in_the_environment() {
    check(
        "public_url = \"https://${env:TOKEN}/\"",
        "line 1, column 14: `public_url` is not a secret, so it cannot use `${env:…}`",
    );
    check(
        "[sign_in]\nclient_secret = \"hunter2\"",
        "line 2, column 17: `sign_in.client_secret` is a secret: write `\"${env:NAME}\"` and set that variable",
    );
    check(
        "[provider.a]\nkind = \"openai\"\nkey = \"${env:NOPE}\"",
        "line 3, column 7: `provider.a.key` needs the variable `NOPE`",
    );
}

/// The words serde would accept in a section, learnt from its complaint about one that it does not.
fn known_keys(section: &str) -> Vec<String> {
    let error = toml::from_str::<raw::RawConfig>(&format!("{section}\n\"?\" = 1")).err().unwrap();
    let words = error.message().strip_prefix("unknown field").unwrap_or_default();
    words.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_key_is_documented() {
    let mut known = Vec::new();
    for key in known_keys("") {
        match key.as_str() {
            "server" => known.push("server.<name>".to_owned()),
            "provider" => {
                known.extend(known_keys("[provider.x]").iter().map(|it| format!("provider.<name>.{it}")));
            }
            "bud" => known.extend(known_keys("[bud.x]").iter().map(|it| format!("bud.<name>.{it}"))),
            section => match known_keys(&format!("[{section}]")) {
                // A key that is no section complains about the table itself.
                keys if keys.is_empty() => known.push(key),
                keys => known.extend(keys.iter().map(|it| format!("{section}.{it}"))),
            },
        }
    }
    known.sort();
    let mut documented: Vec<_> = KEYS.iter().map(|it| it.key).collect();
    documented.sort_unstable();
    assert_eq!(known, documented);
}

#[test]
fn documented_defaults_are_the_real_ones() {
    for key in KEYS.iter().filter(|it| !it.default.is_empty() && !it.key.contains('<')) {
        let config = parse(&format!("{} = {}", key.key, key.default));
        let expected = match key.key {
            "secret_key_file" => {
                Config { secret_key_file: Some("<data>/secret.key".into()), ..Config::default() }
            }
            _ => Config::default(),
        };
        assert_eq!(config, expected, "`{}`", key.key);
    }
}
