//! What is fetched beside calls: bounds, redirects, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Mutex;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use toolgrove_core::net::Guard;
use toolgrove_core::task;

use super::*;
use crate::web::connect::Lookup;
use crate::web::connect::tests::{Script, guard};

/// Answers every request alike, and keeps what was asked.
async fn server(answer: String) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = asked.clone();
    task::spawn("server", async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap_or_default();
            kept.lock().unwrap().push(String::from_utf8_lossy(&request[..length]).into_owned());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (port, asked)
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

fn page(length: usize) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{}", "x".repeat(length))
}

fn fetch(guard: Guard, names: &[&str]) -> Fetch {
    let answers: &[&[&str]] = &[&["127.0.0.1"]];
    let names: Vec<_> = names.iter().map(|it| (*it, answers)).collect();
    Fetch::new(Arc::new(Dial::with(guard, Lookup::Scripted(Script::of(&names)))), "t/1")
}

async fn get(fetch: &Fetch, url: &str) -> Result<u16, String> {
    let fetched = fetch.document(&url.parse().unwrap()).await;
    fetched.map(|it| it.status.as_u16()).map_err(|it| it.to_string())
}

#[tokio::test]
async fn a_private_address_is_refused_by_name_and_by_number() {
    let (port, asked) = server(page(1)).await;
    let fetch = fetch(guard(&["10.0.0.0/8"]), &["inside.example"]);
    for host in ["inside.example", "127.0.0.1"] {
        let refused = get(&fetch, &format!("http://{host}:{port}/")).await.unwrap_err();
        assert!(refused.ends_with(&format!("`{host}` is not at a public address")), "{refused}");
    }
    assert_eq!(asked.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn an_allowlist_holds_for_every_host() {
    let (port, asked) = server(page(1)).await;
    let hosts = Allowlist::stored(Some(&json!(["good.example"])));
    let fetch = fetch(Guard::Open, &["good.example", "evil.example"]).within(&hosts);
    assert_eq!(get(&fetch, &format!("http://good.example:{port}/")).await, Ok(200));
    let refused = get(&fetch, &format!("http://evil.example:{port}/")).await.unwrap_err();
    assert_eq!(refused, "`evil.example` is not on the allowlist of this workspace");
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_redirect_to_another_origin_is_an_answer_that_is_not_followed() {
    let (there, asked) = server(page(1)).await;
    let (here, _) = server(redirect(&format!("http://127.0.0.1:{there}/"))).await;
    assert_eq!(get(&fetch(Guard::Open, &[]), &format!("http://127.0.0.1:{here}/")).await, Ok(302));
    assert_eq!(asked.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn circles_large_answers_and_other_schemes_end_in_a_sentence() {
    let (circle, _) = server(redirect("/again")).await;
    let (large, _) = server(page(LIMIT + 1)).await;
    for (url, sentence) in [
        (format!("http://127.0.0.1:{circle}/"), "redirects in circles"),
        (format!("http://127.0.0.1:{large}/"), "is larger than 1024 KiB"),
        ("ftp://x/".to_owned(), "is not an http or https address"),
    ] {
        let refused = get(&fetch(Guard::Open, &[]), &url).await.unwrap_err();
        assert!(refused.ends_with(sentence), "{refused}");
    }
}

#[tokio::test]
async fn silence_has_an_end() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let fetch = fetch(Guard::Open, &[]);
    let asked = get(&fetch, &url);
    tokio::pin!(asked);
    let connected = tokio::select! {
        connected = listener.accept() => connected,
        _ = &mut asked => panic!("nobody answered"),
    };
    tokio::time::pause();
    tokio::time::advance(PATIENCE).await;
    let refused = asked.await.unwrap_err();
    assert!(refused.ends_with("did not answer within 30 s"), "{refused}");
    drop(connected);
}
