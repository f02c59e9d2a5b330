#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use toolgrove_core::net::Guard;
use toolgrove_core::task;

use super::*;
use crate::web::tests::{Lookup, Script, guard};

/// Answers every request with the next of these, and keeps what was asked.
async fn server(answers: Vec<String>) -> (u16, Arc<std::sync::Mutex<Vec<String>>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = asked.clone();
    task::spawn("server", async move {
        let mut answers = answers.into_iter().cycle();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap_or_default();
            kept.lock().unwrap().push(String::from_utf8_lossy(&request[..length]).into_owned());
            let _ = stream.write_all(answers.next().unwrap_or_default().as_bytes()).await;
        }
    });
    (port, asked)
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

fn page(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn fetch(guard: Guard, hosts: Allowlist, names: &[&str]) -> Fetch {
    let answers: &[&[&str]] = &[&["127.0.0.1"]];
    let names: Vec<_> = names.iter().map(|it| (*it, answers)).collect();
    let dial = Arc::new(Dial::with(guard, Lookup::Scripted(Script::of(&names))));
    Fetch { dial, hosts, bounds: Bounds { bytes: 64, ..Bounds::default() } }
}

async fn get(fetch: &Fetch, url: &str) -> Result<Fetched, FetchError> {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, "Bearer x".parse().unwrap());
    fetch.send(Method::GET, &url.parse().unwrap(), headers, Bytes::new()).await
}

#[tokio::test]
async fn each_redirect_is_judged_like_the_first_address() {
    let (port, asked) = server(vec![redirect("http://127.0.0.2:1/secret")]).await;
    let fetch = fetch(guard(&["127.0.0.1"]), Allowlist::Any, &[]);
    let refused = get(&fetch, &format!("http://127.0.0.1:{port}/")).await.unwrap_err();
    assert!(matches!(&refused, FetchError::Refused(Error::PrivateAddress { host }) if host == "127.0.0.2"));
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_allowlist_holds_for_the_first_host_and_for_each_redirect() {
    let list = Allowlist::stored(Some(&json!(["good.example"])));
    let fetch = fetch(Guard::Open, list, &["good.example", "evil.example"]);
    let (port, asked) = server(vec![redirect("http://evil.example/")]).await;
    for host in ["evil.example", "good.example"] {
        let refused = get(&fetch, &format!("http://{host}:{port}/")).await.unwrap_err();
        assert_eq!(refused.to_string(), "`evil.example` is not on the allowlist of this workspace");
    }
    assert_eq!(asked.lock().unwrap().len(), 1, "nothing was sent to a host that is not on the list");
}

#[tokio::test]
async fn credentials_stay_with_their_origin() {
    let (there, heard) = server(vec![page("there")]).await;
    let (here, _) = server(vec![redirect(&format!("http://b.example:{there}/x"))]).await;
    let fetch = fetch(Guard::Open, Allowlist::Any, &["a.example", "b.example"]);
    let found = get(&fetch, &format!("http://a.example:{here}/")).await.unwrap();
    assert_eq!((&found.body[..], found.url.path()), (&b"there"[..], "/x"));
    let heard = heard.lock().unwrap()[0].to_lowercase();
    assert!(!heard.contains("authorization"), "{heard}");
}

#[tokio::test]
async fn circles_large_answers_and_other_schemes_end_in_a_sentence() {
    let (port, _) = server(vec![redirect("/again")]).await;
    let fetch = fetch(Guard::Open, Allowlist::Any, &[]);
    let (large, _) = server(vec![page(&"x".repeat(65))]).await;
    for (url, sentence) in [
        (format!("http://127.0.0.1:{port}/"), "it redirects in circles"),
        (format!("http://127.0.0.1:{large}/"), "the answer is larger than 64 bytes"),
        ("file:///etc/passwd".to_owned(), "`file:` is not `http:` or `https:`"),
    ] {
        assert_eq!(get(&fetch, &url).await.unwrap_err().to_string(), sentence);
    }
}

#[tokio::test(start_paused = true)]
async fn silence_has_an_end() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let silent = get(&fetch(Guard::Open, Allowlist::Any, &[]), &url).await.unwrap_err();
    assert_eq!(silent.to_string(), "no answer within 30 s");
}
