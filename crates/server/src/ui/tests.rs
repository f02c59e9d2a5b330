//! The files, their headers, and which paths are pages.

use http_body_util::BodyExt;

use super::*;

/// `console.log(1)` and a line end, compressed.
const PACKED: &[u8] = &[11, 7, 128, 99, 111, 110, 115, 111, 108, 101, 46, 108, 111, 103, 40, 49, 41, 10, 3];
const INDEX: &str =
    "<!doctype html><script>a = 1</script><script type=\"module\" src=\"/ui/assets/a-1.js\"></script>";

fn built(name: &str) -> Option<Cow<'static, [u8]>> {
    match name {
        "index.html" => Some(INDEX.as_bytes().into()),
        "assets/a-1.js.br" | "theme.js.br" => Some(PACKED.into()),
        "icon.png" => Some(b"png".as_slice().into()),
        _ => None,
    }
}

fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
}

fn header(response: &Response, name: HeaderName) -> &str {
    response.headers().get(name).map_or("", |it| it.to_str().unwrap())
}

async fn text(response: Response) -> Vec<u8> {
    response.into_body().collect().await.unwrap().to_bytes().to_vec()
}

#[tokio::test]
async fn a_hashed_file_is_sent_as_it_was_compressed_and_kept_for_good() {
    let response =
        answer(built, "assets/a-1.js", &headers(header::ACCEPT_ENCODING, "gzip, deflate, br")).unwrap();
    assert_eq!(header(&response, header::CONTENT_ENCODING), "br");
    assert_eq!(header(&response, header::CONTENT_TYPE), "text/javascript; charset=utf-8");
    assert_eq!(header(&response, header::CACHE_CONTROL), "public, max-age=31536000, immutable");
    assert_eq!(header(&response, header::VARY), "accept-encoding");
    assert_eq!(text(response).await, PACKED);
}

#[tokio::test]
async fn who_takes_no_brotli_gets_the_file_unpacked() {
    for accepts in ["", "gzip", "br;q=0", "br; q=0.0, gzip"] {
        let response = answer(built, "assets/a-1.js", &headers(header::ACCEPT_ENCODING, accepts)).unwrap();
        assert_eq!(header(&response, header::CONTENT_ENCODING), "", "{accepts}");
        assert_eq!(text(response).await, b"console.log(1)\n");
    }
}

#[tokio::test]
async fn a_file_whose_name_holds_no_hash_is_asked_for_again() {
    let response = answer(built, "theme.js", &HeaderMap::new()).unwrap();
    assert_eq!(header(&response, header::CACHE_CONTROL), "public, max-age=3600");
    let response = answer(built, "icon.png", &HeaderMap::new()).unwrap();
    assert_eq!(text(response).await, b"png");
}

#[tokio::test]
async fn every_page_is_the_document_with_the_hash_of_its_one_script() {
    for path in ["", "mcp", "mcp/", "mcp/github", "admin/mcp", "activity/1", "settings", "chat", "plans/7"] {
        let response = answer(built, path, &HeaderMap::new()).unwrap();
        assert_eq!(header(&response, header::CACHE_CONTROL), "no-cache", "{path}");
        // The hash was computed by `printf 'a = 1' | openssl dgst -sha256 -binary | base64`.
        assert_eq!(
            header(&response, header::CONTENT_SECURITY_POLICY),
            "default-src 'self'; script-src 'self' 'sha256-tbwf/ZCRL7GL7259gJCRksemSSiWMgFW1n+68QTGVEo='; style-src 'self' 'unsafe-inline'; img-src 'self' \
             data: blob:; media-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; \
             frame-ancestors 'none'"
        );
        assert_eq!(text(response).await, INDEX.as_bytes());
    }
}

#[tokio::test]
async fn a_browser_that_has_the_document_is_told_so() {
    let etag = header(&answer(built, "", &HeaderMap::new()).unwrap(), header::ETAG).to_owned();
    let known = HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_str(&etag).unwrap())]);
    let response = answer(built, "mcp", &known).unwrap();
    assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
    assert!(text(response).await.is_empty());
}

#[test]
fn what_is_neither_a_file_nor_a_page_is_not_there() {
    for path in
        ["nope", "mcp/a/b", "assets/b.js", "assets/a-1.js.br", "index.html", "../x.js", "admin", "activity//"]
    {
        assert!(answer(built, path, &HeaderMap::new()).is_none(), "{path}");
    }
    assert!(answer(|_| None, "", &HeaderMap::new()).is_none());
}
