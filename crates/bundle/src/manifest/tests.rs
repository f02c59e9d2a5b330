//! Manifests of every format, and what each is refused for.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::places::Home;

#[track_caller]
fn check(read: Result<Manifest>, expected: &Expect) {
    let text = match read {
        Ok(manifest) => {
            let settings: Vec<_> = manifest.settings.iter().map(|it| it.key.as_str()).collect();
            format!("{} {} {:#} {settings:?}", manifest.id, manifest.version, Value::Object(manifest.servers))
        }
        Err(error) => format!("{}: {error}", error.code()),
    };
    expected.assert_eq(&text);
}

fn mcpb(more: Value) -> String {
    let mut manifest = json!({
        "manifest_version": "0.3", "name": "My Server", "version": "1.2.0", "description": "d",
        "author": {"name": "a"},
        "server": {"type": "node", "entry_point": "server/index.js", "mcp_config": {
            "command": "node",
            "args": ["${__dirname}/server/index.js", "${user_config.dirs}", "--level=${user_config.level}"],
            "env": {"KEY": "${user_config.key}", "SEP": "${/}"},
            "platform_overrides": {"win32": {"command": "node.exe", "env": {"WIN": "1"}}},
        }},
        "user_config": {
            "dirs": {"type": "directory", "title": "Folders", "multiple": true, "required": true, "default": ["${HOME}/Desktop"]},
            "key": {"type": "string", "sensitive": true},
            "level": {"type": "number", "min": 1, "max": 3},
        },
    });
    manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    manifest.to_string()
}

#[test]
fn an_mcpb_manifest_becomes_a_server() {
    check(
        Manifest::from_mcpb(&mcpb(json!({})), System::Linux),
        &expect![[r#"
            my-server 1.2.0 {
              "my-server": {
                "command": "node",
                "args": [
                  "${__dirname}/server/index.js",
                  "${user_config.dirs}",
                  "--level=${user_config.level}"
                ],
                "env": {
                  "KEY": "${user_config.key}",
                  "SEP": "${/}"
                }
              }
            } ["dirs", "key", "level"]"#]],
    );
    let windows = Manifest::from_mcpb(&mcpb(json!({})), System::Windows).unwrap().servers;
    assert_eq!(windows["my-server"]["command"], "node.exe");
    assert_eq!(windows["my-server"]["env"], json!({"KEY": "${user_config.key}", "SEP": "${/}", "WIN": "1"}));
}

#[test]
fn every_version_of_mcpb_is_read() {
    for version in ["0.1", "0.2", "0.3", "0.4"] {
        assert!(Manifest::from_mcpb(&mcpb(json!({"manifest_version": version})), System::Linux).is_ok());
    }
    let first = mcpb(json!({"manifest_version": null, "dxt_version": "0.1"}));
    assert!(Manifest::from_mcpb(&first, System::Linux).is_ok());
    let uv = json!({"manifest_version": "0.4", "server": {"type": "uv", "entry_point": "src/server.py"}});
    let manifest = Manifest::from_mcpb(&mcpb(uv), System::Linux).unwrap();
    assert_eq!(
        manifest.servers["my-server"],
        json!({"command": "uv", "args": ["run", "--directory", "${__dirname}", "src/server.py"]})
    );
}

#[test]
fn an_mcpb_manifest_that_is_wrong_says_why() {
    let check = |more: Value, expected: &str| {
        let error = Manifest::from_mcpb(&mcpb(more), System::Linux).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(json!({"manifest_version": "1.0"}), "manifest version `1.0` is not known; 0.1 to 0.4 are");
    check(json!({"name": null}), "manifest lacks `name`");
    check(json!({"author": null}), "manifest lacks `author`");
    check(json!({"server": null}), "`server` must be an object");
    check(json!({"name": "…"}), "`name` holds no letter and no digit");
    check(
        json!({"version": "../1"}),
        "`version` may hold only letters, digits, `.`, `_`, `+` and `-`, and not start with a dot",
    );
    check(json!({"compatibility": {"platforms": ["darwin"]}}), "the bundle does not run on `linux`");
    check(
        json!({"server": {"type": "node", "entry_point": "../x", "mcp_config": {"command": "c"}}}),
        "entry point `../x` leaves the bundle",
    );
    check(json!({"server": {"type": "node", "entry_point": "x"}}), "manifest lacks `server.mcp_config`");
    check(
        json!({"server": {"type": "ruby", "entry_point": "x"}}),
        "`ruby` is not a server type; expected node, python, binary or uv",
    );
    check(json!({"user_config": {"a}": {"type": "string"}}}), "`a}` is not a setting's name");
    check(json!({"user_config": {"a": {"type": "date"}}}), "setting `a` has the unknown type `date`");
}

fn filled(answers: Value) -> Result<Value> {
    let manifest = Manifest::from_mcpb(&mcpb(json!({})), System::Linux)?;
    let home = Home::at(Path::new("/home/me"), System::Linux);
    let folder = Path::new("/b");
    let named = manifest.variables(folder, &home, answers.as_object().unwrap())?;
    let context =
        crate::variables::Context { named, environment: &|_| None, env: crate::variables::Env::Filled };
    Ok(context.fill(manifest.servers["my-server"].as_object().unwrap()).definition.into())
}

#[test]
fn settings_are_put_in_and_what_nobody_said_is_left_out() {
    assert_eq!(
        filled(json!({})).unwrap(),
        json!({"command": "node", "args": ["/b/server/index.js", "/home/me/Desktop"], "env": {"SEP": "/"}})
    );
    assert_eq!(
        filled(json!({"dirs": ["/x", "/y z"], "key": "${HOME} $(id)", "level": 2})).unwrap(),
        json!({
            "command": "node",
            "args": ["/b/server/index.js", "/x", "/y z", "--level=2"],
            "env": {"KEY": "${HOME} $(id)", "SEP": "/"},
        })
    );
}

#[test]
fn a_wrong_answer_says_why() {
    let check = |answers: Value, expected: &str| {
        let error = filled(answers).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), ("bundle.setting", expected));
    };
    check(json!({"dirs": []}), "setting `dirs` is needed");
    check(json!({"dirs": [""]}), "setting `dirs` is needed");
    check(json!({"level": "many"}), "setting `level` must be a number");
    check(json!({"level": 4}), "setting `level` must be at most 3");
    check(json!({"level": 0}), "setting `level` must be at least 1");
    check(json!({"level": [1]}), "setting `level` must be one value");
    check(json!({"key": "a\u{0}"}), "setting `key` holds a character that cannot be used");
    check(json!({"other": 1}), "setting `other` is not asked for");
}

fn server_json(more: Value) -> String {
    let mut server = json!({"name": "io.github.x/weather", "description": "d", "version": "1.0.2"});
    server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.to_string()
}

#[test]
fn a_package_becomes_a_command() {
    check(
        Manifest::from_server_json(&server_json(json!({"packages": [{
            "registryType": "npm", "identifier": "@x/weather", "version": "1.0.2",
            "transport": {"type": "stdio"},
            "packageArguments": [
                {"type": "positional", "value": "serve"},
                {"type": "named", "name": "--units", "default": "metric", "choices": ["metric", "imperial"]},
                {"type": "named", "name": "--verbose"},
                {"type": "named", "name": "--port", "value": "80{digit}", "variables": {"digit": {"isRequired": true}}},
            ],
            "environmentVariables": [
                {"name": "API_KEY", "isRequired": true, "isSecret": true},
                {"name": "MODE", "value": "fast"},
            ],
        }]}))),
        &expect![[r#"
            io.github.x-weather 1.0.2 {
              "weather": {
                "command": "npx",
                "args": [
                  "-y",
                  "@x/weather@1.0.2",
                  "serve",
                  "--units=${user_config.units}",
                  "--verbose",
                  "--port=80${user_config.digit}"
                ],
                "env": {
                  "API_KEY": "${user_config.API_KEY}",
                  "MODE": "fast"
                }
              }
            } ["units", "digit", "API_KEY"]"#]],
    );
    let args = |package: Value| {
        let manifest = Manifest::from_server_json(&server_json(json!({"packages": [package]}))).unwrap();
        let server = &manifest.servers["weather"];
        let args: Vec<_> = server["args"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        format!("{} {}", server["command"].as_str().unwrap(), args.join(" "))
    };
    assert_eq!(args(json!({"registryType": "pypi", "identifier": "w", "version": "1"})), "uvx w@1");
    assert_eq!(
        args(json!({
            "registryType": "oci", "identifier": "ghcr.io/x/w", "version": "1",
            "runtimeArguments": [{"type": "named", "name": "--network", "value": "none"}],
            "environmentVariables": [{"name": "K", "value": "v"}],
            "packageArguments": [{"type": "positional", "value": "go"}],
        })),
        "docker run -i --rm --network none -e K ghcr.io/x/w:1 go"
    );
    assert_eq!(
        args(json!({
            "registryType": "nuget", "identifier": "W.Mcp", "version": "1",
            "packageArguments": [{"type": "positional", "value": "go"}],
        })),
        "dnx W.Mcp@1 --yes -- go"
    );
}

#[test]
fn a_remote_becomes_an_address() {
    check(
        Manifest::from_server_json(&server_json(json!({"remotes": [{
            "type": "streamable-http", "url": "https://{tenant}.x/mcp",
            "variables": {"tenant": {"description": "which one", "isRequired": true}},
            "headers": [{"name": "Authorization", "value": "Bearer {token}", "variables": {"token": {"isSecret": true}}}],
        }]}))),
        &expect![[r#"
            io.github.x-weather 1.0.2 {
              "weather": {
                "type": "http",
                "url": "https://${user_config.tenant}.x/mcp",
                "headers": {
                  "Authorization": "Bearer ${user_config.token}"
                }
              }
            } ["tenant", "token"]"#]],
    );
}

#[test]
fn an_archive_of_the_registry_needs_its_digest() {
    let package = |more: Value| {
        let mut package =
            json!({"registryType": "mcpb", "identifier": "https://x/w.mcpb", "fileSha256": "a".repeat(64)});
        package.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Manifest::from_server_json(&server_json(json!({"packages": [package]})))
    };
    let download = package(json!({})).unwrap().download.unwrap();
    assert_eq!((download.url.as_str(), download.sha256.len()), ("https://x/w.mcpb", 64));
    assert_eq!(package(json!({"fileSha256": null})).unwrap_err().to_string(), "manifest lacks `fileSha256`");
    assert_eq!(
        package(json!({"fileSha256": "abc"})).unwrap_err().to_string(),
        "`fileSha256` is not a digest"
    );
    assert_eq!(
        package(json!({"identifier": "http://x"})).unwrap_err().to_string(),
        "`http://x` is not an https address"
    );
}

#[test]
fn a_package_cannot_smuggle_anything_into_its_command() {
    let check = |package: Value, expected: &str| {
        let read = Manifest::from_server_json(&server_json(json!({"packages": [package]})));
        assert_eq!(read.unwrap_err().to_string(), expected);
    };
    check(
        json!({"registryType": "npm", "identifier": "--call=id"}),
        "`--call=id` is not the name of a package of `npm`",
    );
    check(json!({"registryType": "npm", "identifier": "a b"}), "`a b` is not the name of a package of `npm`");
    check(
        json!({"registryType": "npm", "identifier": "../x"}),
        "`../x` is not the name of a package of `npm`",
    );
    check(json!({"registryType": "npm", "identifier": "x/y"}), "`x/y` is not the name of a package of `npm`");
    check(
        json!({"registryType": "npm", "identifier": "x", "version": "file:../y"}),
        "`file:../y` is not a version",
    );
    check(
        json!({"registryType": "pypi", "identifier": "x;id"}),
        "`x;id` is not the name of a package of `pypi`",
    );
    check(
        json!({"registryType": "npm", "identifier": "x", "runtimeArguments": [{"type": "named", "name": "-c", "value": "id"}]}),
        "`npx` may not be given `-c`",
    );
    check(
        json!({"registryType": "pypi", "identifier": "x", "runtimeArguments": [{"type": "named", "name": "--index-url", "value": "http://e"}]}),
        "`uvx` may not be given `--index-url`",
    );
    check(
        json!({"registryType": "npm", "identifier": "x", "runtimeHint": "bash"}),
        "packages of `npm` are started with `npx`, not with `bash`",
    );
    check(json!({"registryType": "cargo", "identifier": "x"}), "packages of `cargo` cannot be started");
    assert!(Manifest::from_server_json(&server_json(json!({"name": "../x/y"}))).is_err());
    assert_eq!(
        Manifest::from_server_json(&server_json(json!({}))).unwrap_err().to_string(),
        "the server has neither packages nor remotes"
    );
}

#[test]
fn a_package_we_cannot_start_gives_way_to_a_remote() {
    let manifest = Manifest::from_server_json(&server_json(json!({
        "packages": [{"registryType": "cargo", "identifier": "x"}],
        "remotes": [{"type": "sse", "url": "https://x/sse"}],
    })))
    .unwrap();
    assert_eq!(manifest.servers["weather"], json!({"type": "sse", "url": "https://x/sse"}));
    assert_eq!(manifest.warnings, ["packages of `cargo` cannot be started"]);
}

#[test]
fn a_deployment_manifest_names_folders_and_nothing_else() {
    for (text, expected) in [
        (
            "id: ../x\nversion: 1.0.0\nname: n",
            "`id` may hold only letters, digits, `.`, `_`, `+` and `-`, and not start with a dot",
        ),
        (
            "id: x\nversion: a/b\nname: n",
            "`version` may hold only letters, digits, `.`, `_`, `+` and `-`, and not start with a dot",
        ),
        ("id: x\nversion: 1.0\nname: n", "`version` must be a text"),
        ("id: x\nid: y\nversion: 1.0.0\nname: n", "deployment-manifest.yml is not valid YAML at 2:1"),
        ("- a", "the manifest must be an object"),
        ("id: [", "deployment-manifest.yml is not valid YAML at 1:5"),
    ] {
        assert_eq!(Manifest::from_deployment(text).unwrap_err().to_string(), expected, "{text}");
    }
    let manifest = Manifest::from_deployment(
        "id: x\nversion: 1.0.0\nname: n\nprompts:\n- file: p.md\n  type: skill\nmore: 1",
    )
    .unwrap();
    assert_eq!(manifest.items, [Item { path: "p.md".into(), kind: "skill".into() }]);
}

#[test]
fn yaml_is_read_as_its_version_1_2_means_it_and_never_blows_up() {
    let text = "id: x\nversion: 1.0.0\nname: n\nmcpServers:\n  s:\n    command: npx\n    args: [-y, yes, 'on', no]\n";
    let manifest = Manifest::from_deployment(text).unwrap();
    assert_eq!(manifest.servers["s"]["args"], json!(["-y", "yes", "on", "no"]));
    let bomb: String = (1..40).fold("a0: &a0 [x, x]\n".to_owned(), |text, it| {
        text + &format!("a{it}: &a{it} [*a{0}, *a{0}, *a{0}, *a{0}]\n", it - 1)
    });
    assert!(Manifest::from_deployment(&bomb).is_err());
    assert!(Manifest::from_deployment(&"[".repeat(100_000)).is_err());
}

#[test]
fn a_collection_refuses_keys_it_does_not_know() {
    let read = |more: Value| {
        let mut collection = json!({"id": "a", "name": "N", "description": "D", "items": []});
        collection.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Manifest::from_collection(&collection.to_string()).map_err(|it| it.to_string())
    };
    assert_eq!(read(json!({"itmes": []})).unwrap_err(), "a collection has no key `itmes`");
    assert_eq!(read(json!({"mcp": {"servers": {}}})).unwrap_err(), "`mcp` has no key `servers`");
    let item = json!({"path": "p", "kind": "prompt", "colour": 1});
    assert_eq!(read(json!({"items": [item]})).unwrap_err(), "an item has no key `colour`");
    let item = json!({"path": "../../etc/passwd", "kind": "prompt"});
    assert_eq!(read(json!({"items": [item]})).unwrap_err(), "item path `../../etc/passwd` leaves the bundle");
    let server = json!({"a b": {"command": "c"}});
    assert_eq!(
        read(json!({"mcpServers": server})).unwrap_err(),
        "server `a b`: a server's key may hold only letters, digits, `_` and `-`"
    );
}

#[test]
fn a_collection_is_warned_about_what_is_merely_odd() {
    let item = json!({"path": "p", "kind": "prompt"});
    let collection = json!({"id": "a", "name": "N", "description": "d".repeat(301), "items": vec![item; 31]});
    assert_eq!(
        Manifest::from_collection(&collection.to_string()).unwrap().warnings,
        [
            "the collection has more than 30 items",
            "the description is longer than 300 characters",
            "the collection has no version",
            "the collection names no author",
        ]
    );
}

#[test]
fn a_bundle_must_be_the_one_that_was_asked_for() {
    let manifest = Manifest::from_deployment("id: my-bundle\nversion: 1.0.0\nname: n").unwrap();
    let check = |id: &str| manifest.check(&Expected { id: Some(id.to_owned()), version: None });
    for id in ["my-bundle", "owner-repo-my-bundle-1.0.0", "owner-repo-my-bundle-v1.0.0", "my-bundle-v1.0.0"] {
        assert!(check(id).is_ok(), "{id}");
    }
    for id in ["other", "owner-repo-my-bundle-2.0.0", "owner-not-my-bundlex-1.0.0", "xmy-bundle-1.0.0"] {
        let error = check(id).unwrap_err().to_string();
        assert_eq!(error, format!("manifest id is `my-bundle`, expected `{id}`"));
    }
}
