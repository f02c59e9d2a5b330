//! What texts become, written as `name: kind …` or `name! error`, one line per server.

use expect_test::{Expect, expect};

use super::*;

#[track_caller]
fn check(text: &str, expected: &Expect) {
    let lines: Vec<String> = match read(text) {
        Ok(entries) => entries.iter().map(|it| it.as_ref().map_or_else(failed, shown)).collect(),
        Err(error) => vec![format!("! {error}")],
    };
    expected.assert_eq(&lines.join("\n"));
}

fn failed(it: &Failed) -> String {
    format!("{}! {}", it.name, it.error)
}

fn shown(entry: &Entry) -> String {
    let pairs = |pairs: &[(String, Secret)]| -> Vec<String> {
        pairs.iter().map(|(name, value)| format!("{name}={}", value.reveal())).collect()
    };
    let remote = |kind: &str, url: &String, headers: &[(String, Secret)]| {
        let mut words = vec![kind.to_owned(), url.clone()];
        words.extend(pairs(headers));
        words
    };
    let mut words = match &entry.transport {
        EntryTransport::Http { url, headers } => remote("http", url, headers),
        EntryTransport::Sse { url, headers } => remote("sse", url, headers),
        EntryTransport::Unix { url, headers, .. } => remote("unix", url, headers),
        EntryTransport::Pipe { url, headers, .. } => remote("pipe", url, headers),
        EntryTransport::Stdio { command, args, env, env_file, cwd } => {
            let mut words = vec!["stdio".to_owned(), command.clone(), format!("{args:?}")];
            words.extend(pairs(env));
            words.extend([env_file, cwd].into_iter().flatten().cloned());
            words
        }
    };
    if let EntryTransport::Unix { framing, .. } | EntryTransport::Pipe { framing, .. } = &entry.transport {
        words.push(format!("{framing:?}"));
    }
    words.extend((!entry.enabled).then(|| "off".to_owned()));
    words.extend(entry.disabled_tools.iter().map(|it| format!("-{it}")));
    words.extend([&entry.description, &entry.protocol].into_iter().flatten().cloned());
    words.extend((entry.era != EraSetting::Auto).then(|| format!("{:?}", entry.era)));
    words.extend((!entry.extra.is_empty()).then(|| Value::Object(entry.extra.clone()).to_string()));
    format!("{}: {}", entry.name, words.join(" "))
}

#[test]
fn every_type_and_key_is_read() {
    check(
        r#"{
            "a": {"type": "streamable-http", "url": " http://a/mcp "},
            "b": {"type": "streamableHttp", "url": "http://b/mcp"},
            "c": {"type": "sse", "url": "http://c/sse", "headers": {"X-Key": "k"}},
            "d": {"serverUrl": "https://d/mcp"},
            "e": {"type": "stdio", "command": "run", "args": ["-p", 80], "env": {"N": 1, "T": true},
                  "envFile": ".env", "cwd": "/tmp"},
            "f": {"url": "unix:///run/f.sock#/sub"},
            "g": {"type": "http", "url": "unix:///run/g.sock", "framing": "lines"},
            "h": {"url": "pipe:////./pipe/h"},
            "i": {"url": "http://i", "disabled": true, "description": "I", "protocol": "2025-03-26", "era": "legacy"},
            "j": {"url": "http://j", "protocolEra": "modern", "timeout": 5, "alwaysAllow": ["x"]},
            "k": {"url": "https://${HOST}:${PORT:-80}/mcp", "headers": {"Authorization": "Bearer ${env:T}"}},
            "l": {"url": "${URL}"}
        }"#,
        &expect![[r#"
            a: http http://a/mcp
            b: http http://b/mcp
            c: sse http://c/sse X-Key=k
            d: http https://d/mcp
            e: stdio run ["-p", "80"] N=1 T=true .env /tmp
            f: unix unix:///run/f.sock#/sub Http
            g: unix unix:///run/g.sock Lines
            h: pipe pipe:////./pipe/h Http
            i: http http://i off I 2025-03-26 Legacy
            j: http http://j Modern {"timeout":5,"alwaysAllow":["x"]}
            k: http https://${HOST}:${PORT:-80}/mcp Authorization=Bearer ${env:T}
            l: http ${URL}"#]],
    );
}

#[test]
fn a_wrong_entry_says_which_key_and_spoils_no_other() {
    check(
        r#"{
            "a": {}, "b": 5, "c": {"url": ""}, "d": {"url": 5}, "e": {"url": "ftp://x"}, "f": {"type": "ws", "url": "ws://x"},
            "g": {"type": "grpc"}, "h": {"type": "stdio"}, "i": {"url": "http://x", "command": "y"},
            "j": {"command": "x", "args": "y"}, "k": {"command": "x", "args": [{}]}, "l": {"command": "x", "env": {"A": null}},
            "m": {"command": "x", "env": []}, "n": {"url": "http://x", "headers": {"Host": "x"}},
            "o": {"url": "http://x", "headers": {"A": "1", "a": "2"}}, "p": {"url": "http://x", "disabled": "no"},
            "q": {"url": "http://x", "era": "old"}, "r": {"url": "http://x", "protocol": "1.0"}, "": {"url": "http://x"},
            "s": {"url": "unix:///x", "framing": "csv"}, "t": {"type": "sse", "url": "unix:///x"}, "u": {"url": "bud://a/b"},
            "v": {"url": "http://x", "url": "http://y"}, "w": {"command": "x", "env": {"A=B": "1"}},
            "x": {"command": "a\u0000b"}, "ok": {"url": "http://ok"}
        }"#,
        &expect![[r#"
            a! missing "url"
            b! expected an object with `url` or `command`
            c! missing "url"
            d! `url` must be a text
            e! not a server URL: `ftp://x`
            f! `ws` servers are not supported; use a server that speaks HTTP
            g! `grpc` is not a type; expected `stdio`, `http` or `sse`
            h! missing "command"
            i! give `url` or `command`, not both
            j! `args` must be a list of texts
            k! `args` must be a list of texts
            l! `A` in `env` must be a text
            m! `env` must be an object of texts
            n! header `Host` is set by Toolgrove
            o! header `a` is given twice
            p! `disabled` must be true or false
            q! `era` must be `auto`, `modern` or `legacy`
            r! `protocol` must be a revision such as `2025-03-26`
            ! a name has 1 to 100 characters
            s! `framing` must be `http` or `lines`
            t! type `sse` needs an http or https URL
            u! a `bud:` server is not imported; add it in the registry
            v! `url` is given twice
            w! `A=B` in `env` is not a variable name
            x! `command` must be a text
            ok: http http://ok"#]],
    );
}

#[test]
fn the_second_server_of_a_name_fails() {
    check(
        r#"{"a": {"url": "http://1"}, "a": {"url": "http://2"}}"#,
        &expect![[r"
            a: http http://1
            a! a server with this name already exists in the workspace"]],
    );
}

#[test]
fn siblings_of_a_wrapper_are_not_servers() {
    check(
        r#"{"inputs": [{"id": "x"}], "servers": {"a": {"url": "http://a"}}}"#,
        &expect!["a: http http://a"],
    );
    check(r#"{"mcpServers": null, "servers": {"a": {"url": "http://a"}}}"#, &expect!["a: http http://a"]);
    check(r#"{"mcpServers": {"command": "x"}}"#, &expect!["mcpServers: stdio x []"]);
    check(r#"{"mcpServers": {"url": {"url": "http://a"}}}"#, &expect!["url: http http://a"]);
}

#[test]
fn the_stored_shape_carries_its_names() {
    check(
        r#"{"bouno_mcp_servers": [
            {"id": "1", "name": "a", "url": "http://a", "enabled": true, "cachedTools": [{}], "x": 1},
            {"url": "http://b"}, 5
        ]}"#,
        &expect![[r#"
            a: http http://a {"x":1}
            server 2! missing "name"
            server 3! expected an object with `url` or `command`"#]],
    );
}

#[test]
fn texts_that_are_no_configuration() {
    let deep = format!(r#"{{"a": {}1{}}}"#, "[".repeat(300), "]".repeat(300));
    let bottomless = "[".repeat(100_000);
    for text in ["{", "{a: 1}", "{'a': {}}", "{} {}", "{\"a\": {} \"b\": {}}", "hello", &deep, &bottomless] {
        check(text, &expect![[r#"! this is not valid JSON; expected { "server-name": { "url": "..." } }"#]]);
    }
    check("", &expect!["! paste a JSON configuration first"]);
    check("// nothing", &expect!["! paste a JSON configuration first"]);
    for text in ["5", "\"x\"", "[]", "null", "true"] {
        check(text, &expect!["! expected a JSON object whose keys are server names"]);
    }
    for text in ["{}", "{\"servers\": {}}", "{\"bouno_mcp_servers\": []}"] {
        check(text, &expect!["! no servers found in this JSON"]);
    }
    check("\u{feff}{\"a\": {\"url\": \"http://a\"}}", &expect!["a: http http://a"]);
}
