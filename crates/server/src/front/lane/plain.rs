//! What a plain request looks like, and the head of a plain answer.

use std::cell::RefCell;
use std::fmt::Write;
use std::mem::MaybeUninit;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, DATE, HeaderMap, HeaderName, HeaderValue};
use http::response::Parts;
use http::{Method, Request, StatusCode, Uri};
use httpdate::HttpDate;
use toolgrove_wire::put_number;

use crate::front::door;

const HEADERS: usize = 64;
const LONGEST_HEAD: usize = 16 * 1024;

pub(super) struct Plain {
    pub(super) request: Request<()>,
    /// Where its body begins, and how long that is.
    pub(super) body: usize,
    pub(super) length: usize,
}

/// What came is not plain.
#[derive(Debug)]
pub(super) struct Other;

/// The request that came, once its head is whole. A longer body is not plain.
pub(super) fn read(seen: &Bytes, longest: usize) -> Result<Option<Plain>, Other> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
    let mut parsed = httparse::Request::new(&mut []);
    let config = httparse::ParserConfig::default();
    let body = match config.parse_request_with_uninit_headers(&mut parsed, seen, &mut headers) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) if seen.len() <= LONGEST_HEAD => return Ok(None),
        Ok(httparse::Status::Partial) | Err(_) => return Err(Other),
    };
    let length = length(&parsed).filter(|it| *it <= longest).ok_or(Other)?;
    let request = request(seen, &parsed).ok_or(Other)?;
    Ok(Some(Plain { request, body, length }))
}

/// How long the body is, if its head says that and nothing unusual.
fn length(parsed: &httparse::Request<'_, '_>) -> Option<usize> {
    let mut length = None;
    for header in parsed.headers.iter() {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("content-length") {
            let digits = std::str::from_utf8(header.value).ok()?;
            let is_number = digits.bytes().all(|it| it.is_ascii_digit());
            let own = digits.parse().ok().filter(|_| is_number)?;
            if length.replace(own).is_some() {
                return None;
            }
        } else if is("transfer-encoding")
            || is("expect")
            || is("upgrade")
            || is("connection") && !header.value.eq_ignore_ascii_case(b"keep-alive")
        {
            return None;
        }
    }
    length
}

/// The request to an MCP door. The values of its headers stay where they are.
fn request(seen: &Bytes, parsed: &httparse::Request<'_, '_>) -> Option<Request<()>> {
    if (parsed.method, parsed.version) != (Some("POST"), Some(1)) {
        return None;
    }
    let path = parsed.path?.as_bytes();
    let uri = Uri::from_maybe_shared(seen.slice_ref(path)).ok()?;
    if !path.starts_with(b"/") || door(&uri).is_none() {
        return None;
    }
    let mut headers = HeaderMap::with_capacity(parsed.headers.len());
    for header in parsed.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_maybe_shared(seen.slice_ref(header.value)).ok()?);
    }
    let mut request = Request::new(());
    (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) = (Method::POST, uri, headers);
    Some(request)
}

/// The head of an answer whose body has so many bytes.
pub(super) fn head(parts: &Parts, length: u64, is_last: bool) -> Bytes {
    let mut out = BytesMut::with_capacity(256);
    out.put_slice(b"HTTP/1.1 ");
    out.put_slice(parts.status.as_str().as_bytes());
    out.put_u8(b' ');
    out.put_slice(parts.status.canonical_reason().unwrap_or_default().as_bytes());
    out.put_slice(b"\r\n");
    for (name, value) in parts.headers.iter().filter(|it| it.0 != CONTENT_LENGTH) {
        put_header(&mut out, name.as_str(), value.as_bytes());
    }
    if parts.status != StatusCode::NO_CONTENT {
        out.put_slice(b"content-length: ");
        put_number(&mut out, length);
        out.put_slice(b"\r\n");
    }
    if is_last {
        put_header(&mut out, "connection", b"close");
    }
    if !parts.headers.contains_key(DATE) {
        NOW.with_borrow_mut(|it| put_header(&mut out, "date", it.date().as_bytes()));
    }
    out.put_slice(b"\r\n");
    out.freeze()
}

fn put_header(out: &mut BytesMut, name: &str, value: &[u8]) {
    out.reserve(name.len() + value.len() + 4);
    out.put_slice(name.as_bytes());
    out.put_slice(b": ");
    out.put_slice(value);
    out.put_slice(b"\r\n");
}

thread_local! {
    static NOW: RefCell<Now> = RefCell::default();
}

/// The date of this second, written once.
#[derive(Default)]
struct Now {
    second: u64,
    date: String,
}

impl Now {
    fn date(&mut self) -> &str {
        let now = SystemTime::now();
        let second = now.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
        if self.date.is_empty() || self.second != second {
            self.second = second;
            self.date.clear();
            let _ = write!(self.date, "{}", HttpDate::from(now));
        }
        &self.date
    }
}
