//! What leaves can come back: every export is read by the import.

use expect_test::expect;
use proptest::prelude::*;

use super::*;
use crate::import;

fn entries(text: &str) -> Vec<Entry> {
    import::read(text).unwrap().into_iter().map(Result::unwrap).collect()
}

fn stored(entries: &[Entry]) -> impl Iterator<Item = Stored<'_>> {
    entries.iter().map(|entry| Stored { id: Uuid::nil(), entry, cached_tools: Vec::new() })
}

const EXAMPLE: &str = r#"{
    "weather": {"url": "http://w/mcp", "headers": {"X-Api-Key": "sk-1"}, "enabled": false, "disabledTools": ["purge"],
                "timeout": 5, "auth": {"CLIENT_ID": "me", "CLIENT_SECRET": "sk-2"}},
    "fs": {"command": "npx", "args": ["-y"], "env": {"TOKEN": "sk-3"}, "envFile": ".env"}
}"#;

#[test]
fn the_shape_of_mcp_json() {
    let json = mcp_json(&entries(EXAMPLE), Secrets::Included);
    expect![[r#"
        {
          "servers": {
            "weather": {
              "type": "http",
              "url": "http://w/mcp",
              "headers": {
                "X-Api-Key": "sk-1"
              },
              "disabledTools": [
                "purge"
              ],
              "timeout": 5,
              "auth": {
                "CLIENT_ID": "me",
                "CLIENT_SECRET": "sk-2"
              },
              "disabled": true
            },
            "fs": {
              "type": "stdio",
              "command": "npx",
              "args": [
                "-y"
              ],
              "env": {
                "TOKEN": "sk-3"
              },
              "envFile": ".env"
            }
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&json).unwrap());
}

#[test]
fn the_stored_shape_has_an_id_and_may_have_tools() {
    let entries = entries(r#"{"weather": {"url": "http://w/mcp"}}"#);
    let cached_tools = vec![json!({"name": "get", "odd": 1})];
    let server = Stored { id: Uuid::nil(), entry: &entries[0], cached_tools };
    expect![[
        r#"{"bouno_mcp_servers":[{"id":"00000000-0000-0000-0000-000000000000","name":"weather","type":"http","url":"http://w/mcp","enabled":true,"cachedTools":[{"name":"get","odd":1}]}]}"#
    ]]
    .assert_eq(&bouno([server], Secrets::LeftOut).to_string());
}

#[test]
fn secrets_leave_only_when_asked_for() {
    let entries = entries(EXAMPLE);
    for json in [mcp_json(&entries, Secrets::LeftOut), bouno(stored(&entries), Secrets::LeftOut)] {
        let text = json.to_string();
        assert!(!text.contains("sk-"), "{text}");
        assert!(text.contains("CLIENT_ID") && text.contains("timeout"), "{text}");
        let mut bare = entries.clone();
        for entry in &mut bare {
            if let EntryTransport::Http { headers: pairs, .. } | EntryTransport::Stdio { env: pairs, .. } =
                &mut entry.transport
            {
                pairs.clear();
            }
            entry.extra = entry
                .extra
                .iter()
                .filter_map(|(key, it)| Some((key.clone(), open(key, it, Secrets::LeftOut)?)))
                .collect();
        }
        assert_eq!(self::entries(&text), bare);
    }
}

fn secret_pairs(name: &'static str) -> impl Strategy<Value = Vec<(String, Secret)>> {
    prop::collection::btree_map(name, "[ -~]{0,12}", 0..4)
        .prop_map(|it| it.into_iter().map(|(name, value)| (name, Secret::new(value))).collect())
}

fn framing() -> impl Strategy<Value = Framing> {
    prop_oneof![Just(Framing::Http), Just(Framing::Lines)]
}

fn transport() -> impl Strategy<Value = EntryTransport> {
    let headers = || secret_pairs("x-[a-z]{1,8}");
    let socket = || ("/[a-z]{1,8}\\.sock(#/[a-z]{1,4})?", headers(), framing());
    prop_oneof![
        ("https?://[a-z]{1,9}(:[1-9][0-9]{1,3})?/[a-z$]{0,9}", headers())
            .prop_map(|(url, headers)| EntryTransport::Http { url, headers }),
        ("http://\\$\\{[A-Z]{1,5}\\}/sse", headers())
            .prop_map(|(url, headers)| EntryTransport::Sse { url, headers }),
        socket().prop_map(|(path, headers, framing)| EntryTransport::Unix {
            url: format!("unix://{path}"),
            headers,
            framing
        }),
        socket().prop_map(|(path, headers, framing)| EntryTransport::Pipe {
            url: format!("pipe://{path}"),
            headers,
            framing
        }),
        (
            "[a-z/]{1,12}",
            prop::collection::vec("[^\0]{0,8}", 0..4),
            secret_pairs("[A-Z_]{1,8}"),
            prop::option::of("[a-z.]{0,8}"),
            prop::option::of("/[a-z]{0,8}")
        )
            .prop_map(|(command, args, env, env_file, cwd)| EntryTransport::Stdio {
                command,
                args,
                env,
                env_file,
                cwd
            }),
    ]
}

fn extra() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[^\0]{0,8}".prop_map(Value::from)
    ];
    let value = leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,5}", inner, 0..4).prop_map(|it| it.into_iter().collect())
        ]
    });
    prop::collection::btree_map("x[A-Za-z_]{1,8}", value, 0..4).prop_map(|it| it.into_iter().collect())
}

fn entry() -> impl Strategy<Value = Entry> {
    let era = prop_oneof![Just(EraSetting::Auto), Just(EraSetting::Modern), Just(EraSetting::Legacy)];
    let rest = (
        any::<bool>(),
        prop::collection::vec("[a-z_]{1,8}", 0..3),
        prop::option::of("\\PC{0,20}"),
        prop::option::of(Just("2025-03-26".to_owned())),
        era,
        extra(),
    );
    ("\\PC{1,20}", transport(), rest).prop_map(
        |(name, transport, (enabled, disabled_tools, description, protocol, era, extra))| Entry {
            name,
            transport,
            enabled,
            disabled_tools,
            description,
            protocol,
            era,
            extra,
        },
    )
}

proptest! {
    #[test]
    fn what_is_exported_is_imported_the_same(found in prop::collection::vec(entry(), 1..4)) {
        let mut seen = std::collections::HashSet::new();
        let found: Vec<Entry> = found.into_iter().filter(|it| seen.insert(it.name.clone())).collect();
        prop_assert_eq!(&entries(&mcp_json(&found, Secrets::Included).to_string()), &found);
        prop_assert_eq!(&entries(&bouno(stored(&found), Secrets::Included).to_string()), &found);
    }
}
