//! What is written, and what is read of what comes.

use super::*;

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect()
}

#[track_caller]
fn written(method: &Method, uri: &str, token: Option<&'static str>, body: usize) -> String {
    let opening = Opening::of(&headers(&[("accept", "x/y"), ("authorization", "Basic abc")]));
    let own = Some((HeaderName::from_static("mcp-name"), HeaderValue::from_static("echo")));
    let mut out = BytesMut::new();
    let (uri, token) = (uri.parse().unwrap(), token.map(HeaderValue::from_static));
    Head::with(&opening, own).put(&mut out, (method, &uri), token.as_ref(), body);
    String::from_utf8(out.to_vec()).unwrap()
}

#[test]
fn a_request_says_where_it_goes_what_it_brings_and_who_asks() {
    assert_eq!(
        written(&Method::POST, "http://a.example:80/mcp?x=1", Some("Bearer t"), 12),
        "POST /mcp?x=1 HTTP/1.1\r\nhost: a.example\r\naccept: x/y\r\nmcp-name: echo\r\n\
         authorization: Bearer t\r\ncontent-length: 12\r\n\r\n"
    );
    assert_eq!(
        written(&Method::GET, "http://127.0.0.1:8080", None, 0),
        "GET / HTTP/1.1\r\nhost: 127.0.0.1:8080\r\naccept: x/y\r\nmcp-name: echo\r\n\
         authorization: Basic abc\r\n\r\n"
    );
    assert!(written(&Method::DELETE, "http://a.example", None, 0).contains("content-length: 0\r\n"));
}

#[test]
fn a_host_is_named_with_its_port_unless_that_goes_without_saying() {
    for (uri, name) in [
        ("http://a.example/x", "a.example"),
        ("http://a.example:80/", "a.example"),
        ("https://a.example:443/", "a.example"),
        ("https://a.example:80/", "a.example:80"),
        ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
        ("http://[::1]:80/", "[::1]"),
    ] {
        let uri: Uri = uri.parse().unwrap();
        assert_eq!(named(&uri, uri.authority().unwrap()), name);
    }
}

/// What is said of an answer with this first line and these headers: its body, and whether its connection stays.
#[track_caller]
fn check(status: &str, headers: &str, expected: Result<(Framing, bool), Garbled>) {
    let head = format!("{status}\r\n{headers}\r\n\r\n").replace("\r\n\r\n\r\n", "\r\n\r\n");
    let said = read(head.as_bytes()).map(|it| it.expect("all of it is here"));
    assert_eq!(said.as_ref().map_or(head.len(), |it| it.end), head.len());
    assert_eq!(said.map(|it| (it.framing, it.stays_open)), expected, "{head}");
}

#[test]
fn a_head_says_how_far_the_body_goes_and_whether_another_request_may_follow() {
    use Framing::{Chunked, Endless, Sized};
    let ok = "HTTP/1.1 200 OK";
    check(ok, "content-length: 7", Ok((Sized(7), true)));
    check(ok, "Content-Length: 7\r\nCONTENT-LENGTH: 7", Ok((Sized(7), true)));
    check(ok, "content-length: 7\r\nconnection: Keep-Alive", Ok((Sized(7), true)));
    check(ok, "content-length: 7\r\nconnection: upgrade, Close", Ok((Sized(7), false)));
    check(ok, "transfer-encoding: Chunked", Ok((Chunked, true)));
    check(ok, "transfer-encoding: chunked\r\ncontent-length: 7", Ok((Chunked, false)));
    check(ok, "", Ok((Endless, false)));
    check("HTTP/1.0 200 OK", "content-length: 7\r\nconnection: keep-alive", Ok((Sized(7), false)));
    check("HTTP/1.1 204 No Content", "", Ok((Sized(0), true)));
    check("HTTP/1.1 304 Not Modified", "content-length: 7", Ok((Sized(0), true)));
    check(
        "HTTP/1.1 204 No Content",
        "transfer-encoding: identity\r\ncontent-length: x",
        Ok((Sized(0), true)),
    );
    check("HTTP/1.1 100 Continue", "", Ok((Sized(0), true)));
    for odd in [
        "content-length: 7\r\ncontent-length: 8",
        "content-length: 7, 7",
        "content-length: +7",
        "content-length: -7",
        "content-length:",
        "content-length: 99999999999999999999999",
        "transfer-encoding: gzip, chunked",
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
        "no colon",
    ] {
        check(ok, odd, Err(Garbled));
    }
    for odd in ["HTTP/2 200 OK", "HTTP/1.1 20 OK", "ICY 200 OK", "\u{0}"] {
        check(odd, "content-length: 7", Err(Garbled));
    }
}

#[test]
fn a_head_is_waited_for_but_not_without_end() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-encoding: br\r\n\r\n";
    for end in 0..head.len() {
        assert_eq!(read(&head[..end]), Ok(None), "{end}");
    }
    let said = read(head).unwrap().unwrap();
    assert_eq!((said.kind, said.is_coded), (Kind::Html, true));
    let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(LONGEST));
    assert_eq!(read(endless.as_bytes()), Err(Garbled));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(HEADERS + 1));
    assert_eq!(read(many.as_bytes()), Err(Garbled));
}

#[test]
fn all_headers_are_there_and_a_reason_if_it_is_the_servers_own() {
    let head = |status: &str| Bytes::from(format!("HTTP/1.1 {status}\r\nX-A: 1\r\nx-a: \u{fc}\r\n\r\n"));
    let (headers, reason) = super::headers(&head("404 Not Found")).unwrap();
    let values: Vec<_> = headers.get_all("x-a").iter().map(HeaderValue::as_bytes).collect();
    assert_eq!((values, reason), (vec![&b"1"[..], "\u{fc}".as_bytes()], None));
    assert_eq!(super::headers(&head("404 Gone Fishing")).unwrap().1.as_deref(), Some("Gone Fishing"));
    assert_eq!(super::headers(&head("404")).unwrap().1.as_deref(), Some(""));
}

#[test]
fn no_byte_in_any_place_makes_reading_fail_otherwise() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\ncontent-length: 7\r\n\r\n";
    for place in 0..head.len() {
        for byte in 0..=u8::MAX {
            let mut odd = head.to_vec();
            odd[place] = byte;
            if let Ok(Some(said)) = read(&odd) {
                let _ = super::headers(&Bytes::from(odd).slice(..said.end));
            }
        }
    }
}
