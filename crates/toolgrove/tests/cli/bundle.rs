//! Bundles as a person installs and removes them: in the file and in the hub at once, and out again without a trace.

use std::fs;
use std::time::{Duration, Instant};

use expect_test::expect;
use serde_json::{Value, json};

use crate::home::{Home, fixture, until};
use crate::site::{Site, zip};

fn weather() -> Value {
    json!({ "weather": { "command": fixture(), "args": ["stdio"], "env": { "KEY": "${env:WEATHER_KEY}" } } })
}

fn tidy(text: &str) -> String {
    text.replace(&fixture().display().to_string(), "FIXTURE")
}

#[test]
fn a_bundle_is_shown_then_installed_in_file_and_hub_and_removed_without_a_trace() {
    let home = Home::new();
    let source = home.bundle("tools", "1.0.0", &weather());
    let preview = home.run(["bundle", "install", &source, "--preview"]);
    expect![[r"
        The tools 1.0.0
          runs `FIXTURE stdio` as prompt-registry:tools:weather
            with KEY = ${env:WEATHER_KEY}
          writes `~/home/.config/Code/User/mcp.json`
        warning: `WEATHER_KEY` is not set; its place stays empty
        exit 0"]]
    .assert_eq(&tidy(&preview.all()));
    assert!(!home.path("home/.config").exists(), "a preview writes nothing");
    assert!(!home.data("bundles/tools").exists());

    let asked = home.run(["bundle", "install", &source]);
    assert_eq!(asked.code, 2, "nobody agreed: {asked:?}");
    assert!(home.read(&home.mcp_json()).is_none());

    let mut command = home.command(["bundle", "install", &source, "--yes"]);
    let installed = home.finish(command.env("WEATHER_KEY", "s3cret"));
    assert!(installed.out.starts_with("installed `tools` 1.0.0\n✓ weather  "), "{installed:?}");
    let file: Value = serde_json::from_str(&home.read(&home.mcp_json()).unwrap()).unwrap();
    assert_eq!(file["servers"]["prompt-registry:tools:weather"]["env"]["KEY"], "s3cret");
    let list = home.type_("bundle list --json").json();
    assert_eq!(list[0]["servers"][0]["slug"], "weather");
    assert_eq!(home.type_("server list --json").json()[0]["origin"], "bundle:tools");
    let mut call = home.command(["call", "mcp__weather__echo", "a=1"]);
    assert_eq!(home.finish(call.env("WEATHER_KEY", "s3cret")).ok(), "{\"a\":1}\n");
    let unset = home.type_("call mcp__weather__echo a=2");
    assert_eq!(unset.ok(), "{\"a\":2}\n", "what is not set is empty here too");

    let again = home.run(["bundle", "install", &source, "--yes"]);
    expect![[r"
        error: already in mcp.json: `prompt-registry:tools:weather`
        hint: use `--overwrite` to replace, `--skip` to leave what is there
        exit 1"]]
    .assert_eq(&again.all());

    assert_eq!(home.type_("bundle uninstall tools --yes").ok(), "removed `tools` with 1 server\n");
    assert!(
        !home.path("home/.config/Code/User").exists() || {
            let left: Vec<_> = fs::read_dir(home.path("home/.config/Code/User")).unwrap().flatten().collect();
            left.iter().all(|it| it.file_name() == "mcp.json.backup")
        }
    );
    assert!(!home.data("bundles/tools").exists());
    assert_eq!(home.type_("server list --json").json().as_array().unwrap().len(), 0);
    expect![[r"
        `tools` is not installed; 0 servers removed
        exit 0"]]
    .assert_eq(&home.type_("bundle uninstall tools").all());
}

#[test]
fn what_stood_in_the_file_comes_back_byte_for_byte() {
    let home = Home::new();
    let text = "// mine\r\n{\r\n\t\"servers\": {\r\n\t\t\"own\": {\"url\": \"http://x/mcp\"}, // kept\r\n\t},\r\n}\r\n";
    fs::create_dir_all(home.mcp_json().parent().unwrap()).unwrap();
    fs::write(home.mcp_json(), text).unwrap();
    let source = home.bundle("tools", "1.0.0", &weather());
    home.run(["bundle", "install", &source, "--yes"]).ok();
    assert!(home.read(&home.mcp_json()).unwrap().contains("prompt-registry:tools:weather"));
    home.type_("bundle uninstall tools --yes").ok();
    assert_eq!(fs::read_to_string(home.mcp_json()).unwrap(), text);
}

#[test]
fn a_twin_is_off_in_file_and_hub_and_takes_over_when_the_first_goes() {
    let home = Home::new();
    let one = home.bundle("one", "1.0.0", &weather());
    let two = home.bundle("two", "1.0.0", &json!({ "again": { "command": fixture(), "args": ["stdio"] } }));
    home.run(["bundle", "install", &one, "--yes"]).ok();
    let second = home.run(["bundle", "install", &two, "--yes"]);
    assert!(second.err.contains("prompt-registry:two:again is a duplicate of prompt-registry:one:weather"));
    assert!(second.out.contains("! again  `again` does the same as `weather`"), "{second:?}");
    let entry = |name: &str| {
        let file: Value = serde_json::from_str(&home.read(&home.mcp_json()).unwrap()).unwrap();
        file["servers"][name].clone()
    };
    let twin = entry("prompt-registry:two:again");
    assert_eq!(
        (&twin["disabled"], &twin["description"]),
        (&json!(true), &json!("Duplicate of prompt-registry:one:weather"))
    );
    let refused = home.type_("call mcp__again__echo");
    assert!(refused.err.contains("error: `again` does the same as `weather`"), "{refused:?}");
    let exported: Value = serde_json::from_str(&home.type_("export").ok()).unwrap();
    let twin = &exported["servers"]["again"];
    assert_eq!(
        (&twin["disabled"], &twin["description"]),
        (&json!(true), &json!("Duplicate of weather")),
        "{exported}"
    );

    let gone = home.type_("bundle uninstall one --yes").ok();
    assert_eq!(gone, "removed `one` with 1 server\n  prompt-registry:two:again takes its place\n");
    assert_eq!(entry("prompt-registry:two:again").get("disabled"), None);
    assert_eq!(home.type_("call mcp__again__echo a=1").ok(), "{\"a\":1}\n");
}

#[test]
fn a_servers_own_entry_in_the_hub_wins_over_a_bundles() {
    let home = Home::new().with_fixture();
    let source =
        home.bundle("tools", "1.0.0", &json!({ "again": { "command": fixture(), "args": ["stdio"] } }));
    let installed = home.run(["bundle", "install", &source, "--yes", "--scope", "none"]);
    assert!(installed.out.contains("`again` does the same as `fix`"), "{installed:?}");
    home.type_("server remove fix --yes").ok();
    assert_eq!(home.type_("call mcp__again__echo a=1").ok(), "{\"a\":1}\n");
}

#[test]
fn an_update_swaps_in_one_write_and_a_bad_one_leaves_the_old() {
    let home = Home::new();
    let source = home.bundle("tools", "1.0.0", &weather());
    home.run(["bundle", "install", &source, "--yes"]).ok();
    let before = home.read(&home.mcp_json()).unwrap();
    home.bundle("tools", "2.0.0", &json!({ "weather": { "url": 7 } }));
    let bad = home.type_("bundle update tools --yes");
    assert_eq!((bad.code, home.read(&home.mcp_json()).unwrap()), (2, before), "{bad:?}");
    assert_eq!(home.type_("bundle list --json").json()[0]["version"], "1.0.0");

    home.bundle(
        "tools",
        "2.0.0",
        &json!({ "weather": { "command": fixture(), "args": ["stdio", "--era", "legacy"] },
        "more": { "type": "http", "url": "http://127.0.0.1:9/mcp" } }),
    );
    let updated = home.type_("bundle update tools --yes");
    assert!(updated.err.contains("The tools 2.0.0, in the place of 1.0.0"), "{updated:?}");
    assert!(updated.out.starts_with("updated `tools` 2.0.0\n"), "{updated:?}");
    let list = home.type_("bundle list --json").json();
    let servers: Vec<_> =
        list[0]["servers"].as_array().unwrap().iter().map(|it| it["server"].clone()).collect();
    assert_eq!(
        (list[0]["version"].as_str(), servers),
        (Some("2.0.0"), vec![json!("weather"), json!("more")])
    );
    assert!(home.data("bundles/tools/2.0.0").exists() && !home.data("bundles/tools/1.0.0").exists());
}

#[test]
fn what_was_agreed_to_is_what_is_installed() {
    let home = Home::new();
    let hub = home.serve();
    let source = home.bundle("tools", "1.0.0", &weather());
    let plan = home.run(["bundle", "install", &source, "--preview", "--json"]).json();
    home.bundle("tools", "1.0.0", &json!({ "weather": { "command": "sh", "args": ["-c", "evil"] } }));
    let order = json!({ "source": source, "digest": plan["digest"] });
    let answer = hub.ask(&home, "POST", "/api/bundles", &order);
    assert!(answer.contains("bundle.changed"), "{answer}");
    assert!(home.read(&home.mcp_json()).is_none());
    hub.stop();
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone_with_a_sentence() {
    let home = Home::new();
    fs::create_dir_all(home.mcp_json().parent().unwrap()).unwrap();
    fs::write(home.mcp_json(), "{\n  \"servers\": {").unwrap();
    let source = home.bundle("tools", "1.0.0", &weather());
    let refused = home.run(["bundle", "install", &source, "--yes"]);
    assert!(refused.err.starts_with("error: mcp.json is not valid: 2:"), "{refused:?}");
    assert_eq!(fs::read_to_string(home.mcp_json()).unwrap(), "{\n  \"servers\": {");
    assert!(!home.data("bundles/tools").exists(), "nothing stays on the shelf");
    assert_eq!(home.type_("bundle list --json").json(), json!([]));
}

#[test]
fn what_the_registry_cannot_have_comes_out_of_the_file_again() {
    let home = Home::new();
    let source = home.bundle("tools", "1.0.0", &weather());
    let hub = home.serve();
    let database = rusqlite(&home);
    database("CREATE TRIGGER no_bundles BEFORE INSERT ON bundles BEGIN SELECT RAISE(ABORT, 'no'); END");
    let refused = home.run(["bundle", "install", &source, "--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("something broke inside the hub"), "{refused:?}");
    assert_eq!(home.read(&home.mcp_json()), None);
    assert!(!home.data("bundles/tools").exists());
    database("DROP TRIGGER no_bundles");
    home.run(["bundle", "install", &source, "--yes"]).ok();

    // Nor is an old version given up for one that the registry cannot have.
    let before = home.read(&home.mcp_json());
    database("CREATE TRIGGER no_bundles BEFORE UPDATE ON bundles BEGIN SELECT RAISE(ABORT, 'no'); END");
    home.bundle("tools", "2.0.0", &json!({ "other": { "command": fixture(), "args": ["stdio"] } }));
    let refused = home.type_("bundle update tools --yes");
    assert!(refused.err.contains("something broke inside the hub"), "{refused:?}");
    assert_eq!(home.read(&home.mcp_json()), before);
    assert!(home.data("bundles/tools/1.0.0").exists() && !home.data("bundles/tools/2.0.0").exists());
    assert_eq!(home.type_("bundle list --json").json()[0]["version"], "1.0.0");
    assert_eq!(home.type_("call mcp__weather__echo a=1").ok(), "{\"a\":1}\n");
    database("DROP TRIGGER no_bundles");
    home.type_("bundle update tools --yes").ok();
    assert!(home.read(&home.mcp_json()).unwrap().contains("prompt-registry:tools:other"));
    hub.stop();
}

/// Runs statements on the hub's own database.
fn rusqlite(home: &Home) -> impl Fn(&str) + use<> {
    let url = format!("sqlite:{}", home.data("toolgrove.db").display());
    move |statement: &str| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            use sqlx::{ConnectOptions, Connection};
            let options: sqlx::sqlite::SqliteConnectOptions = url.parse().unwrap();
            let mut connection = options.connect().await.unwrap();
            sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(&mut connection).await.unwrap();
            connection.close().await.unwrap();
        });
    }
}

#[test]
fn scopes_have_their_files_and_a_bundle_has_one_scope() {
    let home = Home::new();
    let source = home.bundle("tools", "1.0.0", &weather());
    let project = home.path("project");
    fs::create_dir_all(project.join(".git/info")).unwrap();
    let folder = project.display().to_string();
    home.run([
        "bundle",
        "install",
        &source,
        "--yes",
        "--scope",
        "repository",
        "--folder",
        &folder,
        "--local-only",
    ])
    .ok();
    assert!(home.read(&project.join(".vscode/mcp.json")).unwrap().contains("prompt-registry:tools:weather"));
    assert!(project.join("prompt-registry.local.lock.json").exists());
    let exclude = home.read(&project.join(".git/info/exclude")).unwrap();
    assert!(exclude.contains("# Prompt Registry (local)\n.vscode/mcp.json\n"), "{exclude}");
    let other = home.run(["bundle", "install", &source, "--yes", "--scope", "user"]);
    assert!(
        other.err.starts_with("error: bundle `tools` is already installed in scope `repository`"),
        "{other:?}"
    );
    home.type_("bundle uninstall tools --yes").ok();
    assert!(
        !project.join(".vscode/mcp.json").exists()
            && !project.join("prompt-registry.local.lock.json").exists()
    );
    assert!(!home.read(&project.join(".git/info/exclude")).unwrap_or_default().contains("Prompt Registry"));

    home.run(["bundle", "install", &source, "--yes", "--client", "claude-code"]).ok();
    let claude: Value = serde_json::from_str(&home.read(&home.path("home/.claude.json")).unwrap()).unwrap();
    assert!(claude["mcpServers"]["prompt-registry:tools:weather"].is_object(), "{claude}");
    home.type_("bundle uninstall tools --yes").ok();
    assert!(!home.path("home/.claude.json").exists());
}

#[test]
fn settings_are_asked_for_and_kept_for_the_next_version() {
    let home = Home::new();
    let manifest = |version: &str| {
        json!({
            "manifest_version": "0.3", "name": "Asker", "version": version, "description": "Asks",
            "author": { "name": "A" },
            "server": { "type": "binary", "entry_point": "x", "mcp_config": {
                "command": fixture(), "args": ["stdio"], "env": { "TOKEN": "${user_config.token}" } } },
            "user_config": { "token": { "type": "string", "title": "Token", "description": "Of the service",
                "required": true, "sensitive": true } },
        })
    };
    let archive = home.path("asker.mcpb");
    fs::write(&archive, zip(&[("manifest.json", &manifest("1.0.0").to_string()), ("x", "")])).unwrap();
    let source = archive.display().to_string();
    let missing = home.run(["bundle", "install", &source, "--yes"]);
    expect![[r"
        Asker 1.0.0
          Asks
          runs `FIXTURE stdio` as prompt-registry:asker:asker
            with TOKEN = ${user_config.token}
          needs `token`: Token. Of the service
          writes `~/home/.config/Code/User/mcp.json`
        warning: mcp.json holds the value of secret settings; only you may read it
        error: setting `token` is needed
        hint: give it with `--set token=<value>`
        exit 2"]]
    .assert_eq(&tidy(&missing.all()));
    home.run(["bundle", "install", &source, "--yes", "--set", "token=s3cret"]).ok();
    assert!(home.read(&home.mcp_json()).unwrap().contains("s3cret"));
    assert!(!fs::read(home.data("toolgrove.db")).unwrap().windows(6).any(|it| it == b"s3cret"));
    fs::write(&archive, zip(&[("manifest.json", &manifest("1.1.0").to_string()), ("x", "")])).unwrap();
    home.type_("bundle update asker --yes").ok();
    assert!(home.read(&home.mcp_json()).unwrap().contains("s3cret"));
}

#[test]
fn bundles_come_from_a_registry_a_release_and_an_address() {
    let (home, site) = (Home::new(), Site::start());
    home.write("toolgrove.toml", &site.sources());
    let manifest = json!({ "id": "boxed", "version": "1.0.0", "name": "Boxed", "mcpServers": weather() });
    let archive = zip(&[("deployment-manifest.yml", &manifest.to_string())]);
    let digest = toolgrove_bundle::files::sha256(&archive);
    site.redirect("/shop/b.zip", "/store/b.zip");
    site.put("/store/b.zip", archive.clone());
    home.run(["bundle", "install", &format!("{}/shop/b.zip", site.url), "--yes"]).ok();
    home.type_("bundle uninstall boxed --yes").ok();

    let asset = json!({ "name": "b.zip", "browser_download_url": format!("{}/shop/b.zip", site.url),
        "digest": format!("sha256:{digest}") });
    let release = json!({ "tag_name": "v1", "assets": [asset] });
    site.put("/api/repos/a/b/releases/tags/v1", release.to_string());
    home.type_("bundle install github:a/b@v1 --yes").ok();
    assert_eq!(home.type_("bundle list --json").json()[0]["sha256"], digest.as_str());
    home.type_("bundle uninstall boxed --yes").ok();
    let forged = json!({ "tag_name": "v2", "assets": [{ "name": "b.zip", "digest": "sha256:00",
        "browser_download_url": format!("{}/shop/b.zip", site.url) }] });
    site.put("/api/repos/a/b/releases/latest", forged.to_string());
    let refused = home.type_("bundle install github:a/b --yes");
    assert!(refused.err.starts_with("error: the archive has the digest"), "{refused:?}");

    let server = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "io.github.x/y", "description": "Far away", "version": "1.2.0",
        "remotes": [{ "type": "streamable-http", "url": "https://y.example/mcp" }],
    });
    let entry = json!({ "server": server, "_meta": {} });
    site.put("/v0.1/servers/io.github.x%2Fy/versions/latest", entry.to_string());
    let page = json!({ "servers": [entry], "metadata": {} });
    site.put("/v0.1/servers?limit=30&version=latest&search=far", page.to_string());
    assert!(home.type_("bundle search far").ok().contains("io.github.x/y  1.2.0    Far away"));
    let installed = home.type_("bundle install io.github.x/y --yes");
    assert!(installed.err.contains("reaches `https://y.example/mcp`"), "{installed:?}");
    assert!(installed.out.starts_with("installed `"), "{installed:?}");
    assert!(site.asked().contains(&"/v0.1/servers/io.github.x%2Fy/versions/latest".to_owned()));
    let unknown = home.type_("bundle install io.github.x/z --yes");
    assert!(unknown.err.starts_with("error: the answer of the registry cannot be used"), "{unknown:?}");
}

#[test]
fn an_authority_that_is_not_trusted_is_refused() {
    let (home, site) = (Home::new(), Site::start());
    home.write("toolgrove.toml", &format!("[sources]\nregistry = \"{}\"\n", site.url));
    let refused = home.type_("bundle install io.github.x/y --yes");
    assert!(refused.err.contains("certificate"), "{refused:?}");
    assert!(refused.err.contains("hint: check the address and `[sources]`"), "{refused:?}");
}

#[test]
fn edits_by_hand_are_followed_and_never_overwritten() {
    let home = Home::new();
    let source = home.bundle("tools", "1.0.0", &weather());
    home.run(["bundle", "install", &source, "--yes"]).ok();
    let hub = home.serve();
    let state = || home.type_("bundle list --json").json()[0]["servers"][0]["state"].clone();
    assert_eq!(state(), "active");
    let edited = "{\n  // by hand\n  \"servers\": {\n    \"mine\": {\"command\": \"x\"}\n  }\n}\n";
    fs::write(home.mcp_json(), edited).unwrap();
    until(|| (state() == "off").then_some(()));
    assert_eq!(fs::read_to_string(home.mcp_json()).unwrap(), edited);
    home.type_("bundle uninstall tools --yes").ok();
    assert_eq!(fs::read_to_string(home.mcp_json()).unwrap(), edited);
    hub.stop();
}

/// Figures are printed; only ten times a figure is a failure.
#[test]
fn the_two_hundredth_bundle_comes_as_quickly_as_the_first() {
    let home = Home::new();
    let hub = home.serve_with("serve --listen 127.0.0.1:0 --json");
    let install = |number: usize| {
        // Two servers each, that no one has to wait for; every second bundle brings twins.
        let server =
            |it: &str| json!({ "type": "http", "url": format!("http://127.0.0.1:9/{}/{it}", number / 2) });
        let source =
            home.bundle(&format!("b{number}"), "1.0.0", &json!({ "x": server("x"), "y": server("y") }));
        let started = Instant::now();
        let answer = hub.ask(&home, "POST", "/api/bundles", &json!({ "source": source }));
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        started.elapsed()
    };
    let first = install(0);
    for number in 1..199 {
        install(number);
    }
    let last = install(199);
    let started = Instant::now();
    let answer = hub.ask(&home, "GET", "/api/bundles", &json!(null));
    let listed = started.elapsed();
    assert_eq!(answer.matches("\"duplicate_of\":\"").count(), 200, "{answer}");
    println!("first install {first:?}, two hundredth {last:?}, list {listed:?}");
    assert!(last < Duration::from_secs(10) && listed < Duration::from_secs(1), "{last:?} {listed:?}");
    hub.stop();
}
