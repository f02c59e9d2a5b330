//! Clients that others wrote sign in to the hub by themselves: the official SDKs and the conformance suite, known by
//! the document they publish or by registering.

use std::path::Path;
use std::process::Stdio;

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use toolgrove_fixture::Options;

use crate::client::{BACK, Client, sent_to};
use crate::documents::Site;
use crate::hub::{Answer, Hub};
use crate::team::{HERE, PASSWORD, Team, Visitor, fixture};
use crate::third::{node, port, python, variable};

const CALL: [&str; 2] = ["mcp__mine__echo", r#"{"text":"hi"}"#];

/// A client that runs, and what it says line by line.
struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    input: Option<ChildStdin>,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let input = child.stdin.take();
        Self { child, lines, input }
    }

    async fn says(&mut self) -> Value {
        let line = tokio::time::timeout(crate::hub::PATIENCE, self.lines.next_line()).await;
        let line = line.expect("the client says something").unwrap();
        let Some(line) = line else {
            let mut text = String::new();
            let mut errors = self.child.stderr.take().unwrap();
            let _ = tokio::io::AsyncReadExt::read_to_string(&mut errors, &mut text).await;
            panic!("the client ended: {text}");
        };
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    async fn is_told(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        input.flush().await.unwrap();
    }
}

/// A person opens an address of the hub in a browser, allows what is asked, and says where they were sent.
async fn allow(hub: &Hub, person: &Visitor, address: &str) -> String {
    let path = address.strip_prefix(&hub.url).unwrap_or_else(|| panic!("{address}"));
    let client = Client::published(hub, "not asked");
    let answer: Answer = client.decided(hub, person, path, &[("which", "all"), ("decision", "allow")]).await;
    assert_eq!(sent_to(&answer).0, BACK, "{}", answer.text());
    answer.headers["location"].to_str().unwrap().to_owned()
}

fn tokens(state: &Path) -> Value {
    let kept: Value = serde_json::from_slice(&std::fs::read(state).unwrap()).unwrap();
    kept["tokens"].clone()
}

/// Signs in, calls, renews, calls; goes on without a person; is locked out, and is refused.
async fn check(client: fn() -> Command, era: &str, document: Option<&Site>) {
    let certificate = document.map(|it| it.certificate.clone());
    let Team { hub, admin } = Team::start_as(HERE, |command| {
        if let Some(certificate) = &certificate {
            command.env("SSL_CERT_FILE", certificate);
        }
    })
    .await;
    let server = fixture(Options::default()).await;
    admin.add(&hub, "mine", &server.url()).await;
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state.json");
    let published = document.map(|site| {
        let body = json!({
            "client_id": format!("{}/client.json", site.url), "client_name": "A published client",
            "redirect_uris": ["http://127.0.0.1/back"], "token_endpoint_auth_method": "none",
        });
        site.put("/client.json", "200 OK", &[("content-type", "application/json")], &body.to_string())
    });
    let start = || {
        let mut command = client();
        command
            .arg(format!("{}/mcp", hub.url))
            .args(CALL)
            .args(["--redirect", BACK, "--era", era, "--state"])
            .arg(&state);
        if let Some(published) = &published {
            command.args(["--document", published]);
        }
        Running::start(command)
    };
    let mut running = start();
    let visit = running.says().await["visit"].as_str().unwrap().to_owned();
    let (id, name) = match &published {
        Some(published) => (published.clone(), "A published client"),
        None => {
            (admin.get(&hub, "/api/oauth/known").await[0]["client_id"].as_str().unwrap().to_owned(), "peer")
        }
    };
    let page = admin.ask(&hub, Method::GET, visit.strip_prefix(&hub.url).unwrap(), &[], "").await.text();
    assert!(page.contains(name) && (published.is_none() || page.contains("localhost")), "{page}");
    running.is_told(&allow(&hub, &admin, &visit).await).await;
    let said = running.says().await;
    assert_eq!(said["results"].as_array().map(Vec::len), Some(2), "{said}");
    let first = tokens(&state);

    let connected = admin.get(&hub, "/api/oauth/clients").await;
    assert_eq!((&connected[0]["client_id"], &connected[0]["resource"]), (&json!(id), &json!("/mcp")));
    let mut again = start();
    let said = again.says().await;
    assert_eq!(said["results"].as_array().map(Vec::len), Some(2), "nobody is asked again: {said}");
    assert_ne!(first["refresh_token"], tokens(&state)["refresh_token"], "it was renewed");

    let path = format!("/api/oauth/clients/{}", connected[0]["id"].as_str().unwrap());
    assert_eq!(admin.api(&hub, Method::DELETE, &path, Value::Null).await.0, 204);
    let mut refused = start();
    let said = refused.says().await;
    assert!(said["visit"].is_string(), "it must ask a person again: {said}");
    refused.input = None;
    assert_eq!(refused.says().await["error"], "nobody signed in");
}

fn typescript() -> Command {
    node("ts-oauth-client.mjs")
}

fn py() -> Command {
    python("py_oauth_client.py")
}

#[tokio::test]
async fn the_typescript_client_registers_and_signs_in() {
    check(typescript, "modern", None).await;
}

#[tokio::test]
async fn the_typescript_client_signs_in_with_its_document() {
    check(typescript, "legacy", Some(&Site::start().await)).await;
}

#[tokio::test]
async fn the_python_client_registers_and_signs_in() {
    check(py, "legacy", None).await;
}

#[tokio::test]
async fn the_python_client_signs_in_with_its_document() {
    check(py, "modern", Some(&Site::start().await)).await;
}

#[tokio::test]
async fn the_python_client_signs_in_with_a_secret() {
    fn with_secret() -> Command {
        let mut command = py();
        command.args(["--method", "client_secret_basic"]);
        command
    }
    check(with_secret, "auto", None).await;
}

#[tokio::test]
async fn a_real_browser_signs_in_allows_one_instance_and_is_sent_back() {
    let Team { hub, admin } = Team::start().await;
    let server = fixture(Options::default()).await;
    for slug in ["mine", "other"] {
        admin.add(&hub, slug, &server.url()).await;
    }
    let port = port();
    let redirect = format!("http://127.0.0.1:{port}/back");
    let dir = tempfile::tempdir().unwrap();
    let mut command = typescript();
    command.arg(format!("{}/mcp", hub.url)).args(CALL).args(["--redirect", &redirect, "--state"]);
    command.arg(dir.path().join("state.json"));
    let mut running = Running::start(command);
    let visit = running.says().await["visit"].as_str().unwrap().to_owned();
    let mut walk = node("browser-consent.mjs");
    walk.args([&visit, &redirect, "ada@example.com", PASSWORD, "mine"])
        .arg(variable("TOOLGROVE_TEST_CHROMIUM"));
    let output = walk.stdin(Stdio::null()).output().await.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    let walked: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(walked["problems"], json!([]), "{walked}");
    let asked = walked["asked"].as_str().unwrap();
    for part in ["ts-peer", "a program on this computer", "ada@example.com", "Any program on this computer"] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    running.is_told(walked["back"].as_str().unwrap()).await;
    let said = running.says().await;
    assert_eq!(said["results"].as_array().map(Vec::len), Some(2), "{said}");
    let connected = admin.get(&hub, "/api/oauth/clients").await;
    assert_eq!(connected[0]["grants"][0]["slug"], "mine");
    assert_eq!(connected[0]["grants"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn the_conformance_suite_finds_nothing_wrong() {
    let Team { hub, admin } = Team::start().await;
    let port = port();
    let callback = format!("http://127.0.0.1:{port}/callback");
    let client =
        Client::with(&hub, json!({ "redirect_uris": [callback], "token_endpoint_auth_method": "none" }))
            .await;
    let results = tempfile::tempdir().unwrap();
    let mut command = node("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    command.args([
        "authorization",
        "--url",
        &hub.url,
        "--client-id",
        &client.id,
        "--port",
        &port.to_string(),
    ]);
    command.args(["--resource", &format!("{}/mcp", hub.url), "--output-dir"]).arg(results.path());
    let mut suite = Running::start(command);
    let mut said = String::new();
    let (mut visit, mut is_ready) = (None, false);
    while let Some(line) = suite.lines.next_line().await.unwrap() {
        said.push_str(&line);
        said.push('\n');
        let path = line.trim().strip_prefix(&hub.url).filter(|it| it.starts_with("/oauth/authorize"));
        visit = visit.or(path.map(str::to_owned));
        is_ready |= line.contains("Callback server started");
        // It may say where to go before it listens for the way back.
        if let Some(path) = visit.take_if(|_| is_ready) {
            let allow = [("which", "all"), ("decision", "allow")];
            let answer = client.decided(&hub, &admin, &path, &allow).await;
            let back = answer.headers["location"].to_str().unwrap();
            hub.send(http::Request::get(back).body(http_body_util::Full::default()).unwrap()).await;
        }
    }
    assert!(suite.child.wait().await.unwrap().success(), "{said}");
    let mut checks = Vec::new();
    for file in crate::authority::walk(results.path()).iter().filter(|it| it.ends_with("checks.json")) {
        let all: Vec<Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        checks.extend(
            all.iter().map(|it| format!("{} {}", it["id"].as_str().unwrap(), it["status"].as_str().unwrap())),
        );
    }
    checks.sort();
    let expected = [
        "authorization-code-grant SUCCESS",
        "authorization-server-metadata SUCCESS",
        "authorization-server-metadata-cimd SUCCESS",
    ];
    assert_eq!(checks, expected, "{said}");
}

#[tokio::test]
async fn a_document_is_read_where_it_may_be_and_kept_as_long_as_it_says() {
    let site = Site::start().await;
    let start = async |config: &str| {
        let certificate = site.certificate.clone();
        Team::start_as(config, |command| {
            command.env("SSL_CERT_FILE", certificate);
        })
        .await
    };
    let Team { hub, admin } = start(HERE).await;
    let json = ("content-type", "application/json");
    let document = |path: &str| {
        json!({ "client_id": format!("{}{path}", site.url), "client_name": "Ed", "redirect_uris": [BACK] })
            .to_string()
    };
    let look = async |hub: &Hub, person: &Visitor, id: &str| {
        let path = Client::published(hub, id).request(&[]);
        person.ask(hub, Method::GET, &path, &[], "").await
    };
    for (path, cache, visits) in [("/kept.json", "max-age=600", 1), ("/fresh.json", "no-store", 3)] {
        let id = site.put(path, "200 OK", &[json, ("cache-control", cache)], &document(path));
        for _ in 0..3 {
            assert_eq!(look(&hub, &admin, &id).await.status, 200, "{path}");
        }
        assert_eq!(site.visits(path), visits, "{path}");
    }
    let other = document("/kept.json");
    let long = format!("{}{}", document("/long.json"), " ".repeat(20_000));
    let own = document("/moved.json");
    for (path, status, headers, body, sentence) in [
        ("/other.json", "200 OK", vec![json], &other, "is not its own address"),
        ("/html.json", "200 OK", vec![("content-type", "text/html")], &other, "it is not JSON"),
        ("/gone.json", "404 Not Found", vec![json], &other, "status 404"),
        ("/moved.json", "302 Found", vec![json, ("location", "/kept.json")], &own, "it redirects"),
        ("/long.json", "200 OK", vec![json], &long, "larger than 16 KiB"),
    ] {
        let id = site.put(path, status, &headers, body);
        let answer = look(&hub, &admin, &id).await;
        assert_eq!((answer.status, answer.headers.get("location")), (400, None), "{path}");
        assert!(answer.text().contains(sentence), "{path}: {}", answer.text());
    }
    let id = site.put("/again.json", "200 OK", &[json], &document("/again.json"));
    let path = Client::published(&hub, &id).request(&[]);
    assert_eq!(crate::client::nobody(&hub).ask(&hub, Method::GET, &path, &[], "").await.status, 303);
    assert_eq!(site.visits("/again.json"), 0, "nothing is fetched for somebody who is not signed in");

    let Team { hub, admin } = start("").await;
    let answer = look(&hub, &admin, &id).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("not at a public address"), "{}", answer.text());
    assert_eq!(site.visits("/again.json"), 0, "private addresses are not looked at");
}
