//! Who is let in, what lies open on the disk, and that a secret is told to nobody but its server.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use toolgrove_fixture::Options;

use crate::grove::{add, fixture, text};
use crate::hub::{Answer, Hub, stdio_fixture};

/// A request with exactly these headers.
async fn knock(hub: &Hub, method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder().method(method).uri(format!("{}{path}", hub.url));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    hub.send(request.body(Full::new(Bytes::from_static(b"{}"))).unwrap()).await
}

/// Every kind of door.
const DOORS: [(Method, &str); 9] = [
    (Method::POST, "/mcp"),
    (Method::GET, "/mcp"),
    (Method::DELETE, "/mcp"),
    (Method::POST, "/mcp/i/s"),
    (Method::GET, "/sse"),
    (Method::POST, "/sse/message?session=x"),
    (Method::GET, "/api/status"),
    (Method::POST, "/api/mcp/call"),
    (Method::GET, "/ui/"),
];

#[tokio::test]
async fn without_the_right_key_every_door_is_shut() {
    let hub = Hub::start().await;
    let half = format!("Bearer {}", &hub.key[..32]);
    let longer = format!("Bearer {}0", hub.key);
    let basic = format!("Basic {}", hub.key);
    let bare = hub.key.clone();
    let cookie = format!("toolgrove={}", hub.key);
    let wrong: [&[(&str, &str)]; 8] = [
        &[],
        &[("authorization", "Bearer ")],
        &[("authorization", &half)],
        &[("authorization", &longer)],
        &[("authorization", &basic)],
        &[("authorization", &bare)],
        &[("cookie", &cookie)],
        &[("x-api-key", &bare)],
    ];
    for (method, path) in DOORS.into_iter().chain([(Method::GET, "/metrics")]) {
        for headers in wrong {
            let answer = knock(&hub, method.clone(), path, headers).await;
            if path == "/ui/" {
                assert_eq!(answer.status, 303, "{headers:?}");
                assert_eq!(answer.headers["location"], "/ui/login?next=%2Fui%2F");
                continue;
            }
            assert_eq!(answer.status, 401, "{method} {path} {headers:?}: {}", answer.text());
            assert_eq!(answer.headers["www-authenticate"], "Bearer", "{path}");
            assert_eq!(answer.json()["code"], "auth.missing", "{path}");
        }
        let query = format!("{path}{}key={}", if path.contains('?') { '&' } else { '?' }, hub.key);
        assert_eq!(
            knock(&hub, method.clone(), &query, &[]).await.status,
            if path == "/ui/" { 303 } else { 401 },
            "a key in an address is no key"
        );
    }
    let healthz = knock(&hub, Method::GET, "/healthz", &[]).await;
    assert_eq!((healthz.status, healthz.text().trim()), (200, "ok"), "whether it lives is no secret");
}

#[tokio::test]
async fn a_request_inside_a_refused_one_is_not_heard() {
    let hub = Hub::start().await;
    let host = hub.url.strip_prefix("http://").unwrap();
    let hidden = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n");
    for method in ["tools/call", "subscriptions/listen"] {
        for length in [hidden.len(), hidden.len() + 100, 2 << 20] {
            let head = format!(
                "POST /mcp HTTP/1.1\r\nHost: {host}\r\nMcp-Method: {method}\r\nContent-Length: {length}\r\n\r\n"
            );
            let mut client = TcpStream::connect(host).await.unwrap();
            client.write_all(format!("{head}{hidden}").as_bytes()).await.unwrap();
            client.shutdown().await.unwrap();
            let mut heard = Vec::new();
            let _ = client.read_to_end(&mut heard).await;
            let heard = String::from_utf8(heard).unwrap();
            assert!(heard.starts_with("HTTP/1.1 401") && !heard.contains("200 OK"), "{head}: {heard}");
            assert_eq!(heard.matches("HTTP/1.1 ").count(), 1, "{head}: {heard}");
        }
    }
}

#[tokio::test]
async fn a_name_that_is_not_the_hubs_is_refused_even_with_the_key() {
    let hub = Hub::start().await;
    let port = hub.url.rsplit(':').next().unwrap().to_owned();
    let bearer = format!("Bearer {}", hub.key);
    let other_port = format!("127.0.0.1:{}", port.parse::<u16>().unwrap() ^ 1);
    let evil = format!("evil.example:{port}");
    let suffix = format!("127.0.0.1.evil.example:{port}");
    let prefix = format!("localhost:{port}.evil.example");
    for (method, path) in DOORS.into_iter().chain([
        (Method::GET, "/metrics"),
        (Method::GET, "/healthz"),
        (Method::GET, "/ui/login?code=x"),
    ]) {
        for host in [evil.as_str(), &suffix, &prefix, &other_port, "127.0.0.1", "localhost"] {
            let answer =
                knock(&hub, method.clone(), path, &[("host", host), ("authorization", &bearer)]).await;
            assert_eq!(answer.status, 403, "{method} {path} as {host}: {}", answer.text());
            assert_eq!(answer.json()["code"], "auth.origin");
        }
    }
    for host in [format!("localhost:{port}"), format!("LOCALHOST:{port}"), format!("[::1]:{port}")] {
        let answer =
            knock(&hub, Method::GET, "/api/status", &[("host", &host), ("authorization", &bearer)]).await;
        assert_eq!(answer.status, 200, "{host}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_page_of_another_origin_is_refused_even_with_the_key() {
    let hub = Hub::start().await;
    let port = hub.url.rsplit(':').next().unwrap().to_owned();
    let bearer = format!("Bearer {}", hub.key);
    let foreign = [
        "null".to_owned(),
        String::new(),
        "https://evil.example".into(),
        format!("http://evil.example:{port}"),
        "http://127.0.0.1".into(),
        "http://localhost:3000".into(),
        format!("http://127.0.0.1:{}", port.parse::<u16>().unwrap() ^ 1),
        format!("http://127.0.0.1:{port}.evil.example"),
        format!("http://127.0.0.1:{port}/"),
        format!("file://127.0.0.1:{port}"),
        format!("chrome-extension://127.0.0.1:{port}"),
        format!("http://user@127.0.0.1:{port}"),
    ];
    for (method, path) in DOORS {
        for origin in &foreign {
            let answer =
                knock(&hub, method.clone(), path, &[("origin", origin), ("authorization", &bearer)]).await;
            assert_eq!(answer.status, 403, "{method} {path} from `{origin}`: {}", answer.text());
            assert!(!answer.headers.contains_key("access-control-allow-origin"));
        }
    }
    let own = format!("http://127.0.0.1:{port}");
    let answer =
        knock(&hub, Method::GET, "/api/status", &[("origin", &own), ("authorization", &bearer)]).await;
    assert_eq!(answer.status, 200);
}

/// The path of the sign-in link that the hub has printed.
fn sign_in(hub: &Hub) -> String {
    let output = hub.output();
    let start = output.find("/ui/login?code=").unwrap_or_else(|| panic!("no link in {output}"));
    output[start..].split_whitespace().next().unwrap().to_owned()
}

#[tokio::test]
async fn the_sign_in_link_works_once_and_its_cookie_only_for_our_own_page() {
    let hub = Hub::start().await;
    let link = crate::grove::eventually("the link is printed", async || {
        hub.output().contains("/ui/login").then(|| sign_in(&hub))
    })
    .await;
    assert_eq!(knock(&hub, Method::GET, "/ui/login?code=guess", &[]).await.status, 401);
    let first = knock(&hub, Method::GET, &link, &[]).await;
    assert_eq!((first.status, &first.headers["location"]), (303, &"/ui/".parse().unwrap()));
    let set = first.headers["set-cookie"].to_str().unwrap();
    for part in ["HttpOnly", "SameSite=", "Path=/"] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains(&hub.key), "the cookie is not the key");
    let again = knock(&hub, Method::GET, &link, &[]).await;
    assert_eq!((again.status, again.headers.contains_key("set-cookie")), (401, false), "a link works once");

    let cookie = ("cookie", set.split(';').next().unwrap());
    let own = ("origin", hub.url.as_str());
    let call: (Method, &str) = (Method::POST, "/api/mcp/import");
    for (method, path, headers, expected) in [
        (Method::GET, "/ui/", vec![cookie], 200),
        (Method::GET, "/api/status", vec![cookie], 200),
        (call.0.clone(), call.1, vec![cookie], 403),
        (call.0.clone(), call.1, vec![cookie, ("origin", "https://evil.example")], 403),
        (call.0.clone(), call.1, vec![cookie, ("origin", "null")], 403),
        (call.0.clone(), call.1, vec![cookie, ("sec-fetch-site", "cross-site")], 403),
        // The body is no paste, which is said only to those who were let in.
        (call.0.clone(), call.1, vec![cookie, own], 400),
        (call.0.clone(), call.1, vec![cookie, ("sec-fetch-site", "same-origin")], 400),
        (Method::DELETE, "/api/mcp/servers/x", vec![cookie], 403),
        (Method::POST, "/mcp", vec![cookie], 403),
    ] {
        let answer = knock(&hub, method.clone(), path, &headers).await;
        assert_eq!(answer.status, expected, "{method} {path} {headers:?}: {}", answer.text());
    }
}

#[tokio::test]
async fn keys_and_data_are_for_their_owner_only() {
    let hub = Hub::start().await;
    let mode = |name: &str| fs::metadata(hub.data().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(fs::metadata(hub.data()).unwrap().permissions().mode() & 0o777, 0o700);
    for name in ["key", "secret.key", "toolgrove.db", "hub.lock", "hub.sock"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
}

const HEADER: &str = "header-value-4711-very-secret";
const TOKEN: &str = "token-value-0815-very-secret";
const VARIABLE: &str = "env-value-2342-very-secret";
const FROM_ENV: &str = "outer-value-1337-very-secret";

#[tokio::test]
async fn a_secret_is_told_to_its_server_and_to_nobody_else() {
    let server = fixture(Options {
        require_header: vec![format!("x-secret={HEADER}").parse().unwrap()],
        ..Options::default()
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let hub = Hub::start_as(dir, |command| {
        command.env("TOOLGROVE_LOG", "trace").env("OUTER", FROM_ENV);
    })
    .await;
    let mut process = stdio_fixture(&[]);
    process["env"] = json!({ "INNER": VARIABLE, "PASSED": "${env:OUTER}" });
    let headers = json!({ "X-Secret": HEADER, "Authorization": format!("Bearer {TOKEN}") });
    add(&hub, json!({ "http": { "url": server.url(), "headers": headers }, "process": process })).await;

    // They reach their servers …
    let seen = hub.call("mcp__http__seen_headers", json!({})).await["structuredContent"].clone();
    assert_eq!(
        (&seen["x-secret"], &seen["authorization"]),
        (&json!(HEADER), &json!(format!("Bearer {TOKEN}")))
    );
    for (name, value) in [("INNER", VARIABLE), ("PASSED", FROM_ENV)] {
        assert_eq!(
            text(&hub.call("mcp__process__env", json!({ "name": name })).await),
            json!({ "value": value }).to_string()
        );
    }
    // … and a server that refuses one is an answer, too.
    server.change(|it| it.require_header = vec!["x-secret=another".parse().unwrap()]);
    let refused = hub.call("mcp__http__echo", json!({})).await.to_string();
    let doctor = hub.api(Method::POST, "/api/mcp/instances/http/doctor", json!({})).await.1.to_string();
    let test = hub.api(Method::POST, "/api/mcp/servers/http/test", json!({})).await.1.to_string();

    let mut answers = vec![refused, doctor, test, hub.output()];
    for path in [
        "/api/status",
        "/api/workspaces",
        "/api/calls",
        "/api/mcp/servers",
        "/api/mcp/servers/http",
        "/api/mcp/servers/process",
        "/api/mcp/instances",
        "/api/mcp/instances/http",
        "/api/mcp/instances/process",
        "/api/mcp/instances/process/log",
        "/api/mcp/export",
        "/api/mcp/export?format=bouno",
        "/api/mcp/tools",
        "/api/mcp/prompt",
        "/metrics",
        "/ui/",
    ] {
        let answer = hub.ask(Method::GET, path, &[], "").await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answers.push(format!("{path}: {}", answer.text()));
    }
    let key = hub.key.clone();
    let whole = hub.get("/api/mcp/export?secrets=true").await.to_string();
    assert!(
        whole.contains(HEADER) && whole.contains(VARIABLE),
        "only who asks for secrets by name gets them"
    );
    let dir = hub.stop().await;
    let log = fs::read_to_string(dir.path().join("hub.log")).unwrap();
    assert!(log.contains("TRACE"), "the log is as talkative as it can be");
    for secret in [HEADER, TOKEN, VARIABLE, FROM_ENV] {
        for answer in &answers {
            assert!(!answer.contains(secret), "{secret} is in an answer: {answer}");
        }
        let line = log.lines().find(|it| it.contains(secret));
        assert_eq!(line, None, "{secret} is in the log");
        for file in fs::read_dir(dir.path().join("data")).unwrap().flatten() {
            let bytes = fs::read(file.path()).unwrap_or_default();
            let found = bytes.windows(secret.len()).any(|it| it == secret.as_bytes());
            assert!(!found, "{secret} is in {}", file.path().display());
        }
    }
    assert_eq!(log.lines().find(|it| it.contains(&key)), None, "the key is in the log");
}

#[tokio::test]
async fn nothing_of_the_callers_credentials_goes_on_to_a_server() {
    let server = fixture(Options::default()).await;
    let hub = Hub::start().await;
    add(&hub, json!({ "s": { "url": server.url() } })).await;
    let own = [("cookie", "toolgrove=x"), ("x-forwarded-for", "1.2.3.4")];
    hub.modern_with("/mcp", "tools/call", json!({ "name": "mcp__s__echo", "arguments": {} }), &own).await;
    for seen in server.log() {
        let all = format!("{:?}", seen.headers).to_lowercase();
        assert!(!all.contains(&hub.key) && !all.contains("cookie") && !all.contains("1.2.3.4"), "{all}");
    }
}

#[tokio::test]
async fn a_hub_listens_on_this_machine_only() {
    let dir = tempfile::tempdir().unwrap();
    let refused =
        crate::hub::command(dir.path()).args(["serve", "--listen", "0.0.0.0:0"]).output().await.unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("`--listen 0.0.0.0:0` is not a loopback address"), "{said}");
    fs::write(dir.path().join("toolgrove.toml"), "listen = \"0.0.0.0:0\"\n").unwrap();
    let refused = crate::hub::command(dir.path()).arg("serve").output().await.unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
}

#[tokio::test]
async fn bad_input_to_the_api_is_one_clear_sentence_and_stores_nothing() {
    let hub = Hub::start().await;
    for (path, body, code) in [
        ("/api/mcp/import", "nonsense", "request.invalid"),
        ("/api/mcp/import", "{\"text\":\"nonsense\"}", "import.text"),
        ("/api/mcp/import", "{\"text\":1}", "request.invalid"),
        ("/api/mcp/call", "{}", "request.missing"),
        ("/api/mcp/call", "{\"tool\":\"x\",\"arguments\":", "request.invalid"),
        ("/api/mcp/call", "{\"tool\":\"x\",\"typo\":1}", "request.invalid"),
        ("/api/mcp/servers", "{}", "request.missing"),
        ("/api/mcp/instances", "{}", "request.missing"),
    ] {
        let answer = hub.ask(Method::POST, path, &[("content-type", "application/json")], body).await;
        let problem: Value = answer.json();
        assert_eq!((answer.status, &problem["code"]), (400, &json!(code)), "{path} {body}: {problem}");
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        let detail = problem["detail"].as_str().unwrap();
        assert!(!detail.is_empty() && !detail.contains('\n'), "{detail}");
    }
    assert_eq!(hub.get("/api/mcp/servers").await, json!([]));
}
