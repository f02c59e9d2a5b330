//! Heads: how those of requests are written, and what those of answers say. HTTP/1.1, as every connection here speaks it.

use std::fmt;
use std::mem::MaybeUninit;

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use http::uri::{Authority, PathAndQuery};
use http::{Method, StatusCode, Uri};
use toolgrove_wire::put_number;

use super::Kind;

const HEADERS: usize = 100;
const LONGEST: usize = 64 * 1024;

/// The headers that many requests have alike, as they are written.
#[derive(Clone, Default)]
pub(crate) struct Opening {
    bytes: BytesMut,
    /// For requests without a token.
    authorization: BytesMut,
}

impl fmt::Debug for Opening {
    /// It may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opening")
    }
}

impl Opening {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut opening = Self::default();
        for (name, value) in headers {
            let to = if *name == AUTHORIZATION { &mut opening.authorization } else { &mut opening.bytes };
            put_header(to, name, value);
        }
        opening
    }
}

/// The headers of one request: those of its link, and the few of its own.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    pub(crate) base: &'a Opening,
    pub(crate) own: Own,
}

#[derive(Debug, Default)]
pub(crate) struct Own {
    pub(crate) more: [Option<(HeaderName, HeaderValue)>; 2],
    /// Arguments that are repeated as headers, which few tools want.
    pub(crate) params: Vec<(HeaderName, HeaderValue)>,
}

impl<'a> Head<'a> {
    pub(crate) fn plain(base: &'a Opening) -> Self {
        Self { base, own: Own::default() }
    }

    pub(crate) fn with(base: &'a Opening, header: Option<(HeaderName, HeaderValue)>) -> Self {
        Self { base, own: Own { more: [header, None], params: Vec::new() } }
    }

    /// Writes the head of a request whose body has so many bytes. A token stands in the place of what else would
    /// authorize it.
    pub(super) fn put(
        &self,
        out: &mut BytesMut,
        (method, uri): (&Method, &Uri),
        token: Option<&HeaderValue>,
        body: usize,
    ) {
        let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let host = uri.authority().map_or("", |it| named(uri, it));
        out.reserve(self.base.bytes.len() + self.base.authorization.len() + path.len() + host.len() + 256);
        for text in [method.as_str(), " ", path, " HTTP/1.1\r\nhost: ", host, "\r\n"] {
            out.put_slice(text.as_bytes());
        }
        out.put_slice(&self.base.bytes);
        for (name, value) in self.own.more.iter().flatten().chain(&self.own.params) {
            put_header(out, name, value);
        }
        match token {
            Some(token) => put_header(out, &AUTHORIZATION, token),
            None => out.put_slice(&self.base.authorization),
        }
        if body > 0 || *method != Method::GET {
            out.put_slice(b"content-length: ");
            put_number(out, body as u64);
            out.put_slice(b"\r\n");
        }
        out.put_slice(b"\r\n");
    }
}

fn put_header(out: &mut BytesMut, name: &HeaderName, value: &HeaderValue) {
    out.reserve(name.as_str().len() + value.len() + 4);
    out.put_slice(name.as_str().as_bytes());
    out.put_slice(b": ");
    out.put_slice(value.as_bytes());
    out.put_slice(b"\r\n");
}

/// The host as a header says it: a scheme's own port goes without saying.
fn named<'a>(uri: &Uri, host: &'a Authority) -> &'a str {
    match (uri.scheme_str(), host.port_u16()) {
        (Some("http"), Some(80)) | (Some("https"), Some(443)) => host.host(),
        _ => host.as_str(),
    }
}

/// What the head of an answer says of the rest of it, and of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    /// Where the body begins.
    pub(super) end: usize,
    pub(super) status: StatusCode,
    pub(super) framing: Framing,
    pub(super) kind: Kind,
    /// The body is in a coding that nobody asked for.
    pub(super) is_coded: bool,
    /// Whether another request may follow.
    pub(super) stays_open: bool,
}

/// How far a body goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Sized(usize),
    Chunked,
    /// As long as the connection lasts.
    Endless,
}

/// What came is no head of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Garbled;

/// What the head says that `seen` begins with, once all of it is here.
pub(super) fn read(seen: &[u8]) -> Result<Option<Said>, Garbled> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
    let mut answer = httparse::Response::new(&mut []);
    let Some(end) = parse(&mut answer, seen, &mut headers)? else { return Ok(None) };
    let (Some(version), Some(code)) = (answer.version, answer.code) else { return Err(Garbled) };
    let status = StatusCode::from_u16(code).map_err(|_| Garbled)?;
    let (mut length, mut is_chunked) = (None, false);
    let has_body =
        !status.is_informational() && !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let mut said = Said {
        end,
        status,
        framing: Framing::Endless,
        kind: Kind::Other,
        is_coded: false,
        stays_open: version == 1,
    };
    for header in answer.headers.iter() {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if !has_body && (is("content-length") || is("transfer-encoding")) {
            // They speak of a body that is not there.
        } else if is("content-length") {
            let own = number(header.value).ok_or(Garbled)?;
            if length.replace(own).is_some_and(|it| it != own) {
                return Err(Garbled);
            }
        } else if is("content-type") {
            said.kind = Kind::of(header.value);
        } else if is("transfer-encoding") {
            if is_chunked || !header.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                return Err(Garbled);
            }
            is_chunked = true;
        } else if is("content-encoding") {
            said.is_coded = true;
        } else if is("connection") {
            let mut words = header.value.split(|it| *it == b',');
            said.stays_open &= !words.any(|it| it.trim_ascii().eq_ignore_ascii_case(b"close"));
        }
    }
    said.framing = match (length, is_chunked) {
        _ if !has_body => Framing::Sized(0),
        (None, true) => Framing::Chunked,
        // One of the two is wrong, and others on the way may have believed the other.
        (Some(_), true) => {
            said.stays_open = false;
            Framing::Chunked
        }
        (Some(length), false) => Framing::Sized(length),
        (None, false) => {
            said.stays_open = false;
            Framing::Endless
        }
    };
    Ok(Some(said))
}

/// A number that is nothing but digits.
fn number(text: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(text).ok()?;
    (!text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())).then(|| text.parse().ok())?
}

/// All headers of a head that was read, and the server's own words for its status if they are not the usual ones. What
/// is long stays where it is.
pub(super) fn headers(head: &Bytes) -> Result<(HeaderMap, Option<Box<str>>), Garbled> {
    let mut parsed = [const { MaybeUninit::uninit() }; HEADERS];
    let mut answer = httparse::Response::new(&mut []);
    parse(&mut answer, head, &mut parsed)?;
    let mut headers = HeaderMap::with_capacity(answer.headers.len());
    for header in answer.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| Garbled)?;
        let value = HeaderValue::from_maybe_shared(head.slice_ref(header.value)).map_err(|_| Garbled)?;
        headers.append(name, value);
    }
    let usual = answer.code.and_then(|it| StatusCode::from_u16(it).ok()?.canonical_reason());
    Ok((headers, answer.reason.filter(|it| usual != Some(it)).map(Into::into)))
}

/// Where a head ends, once all of it is here.
fn parse<'h, 'b>(
    answer: &mut httparse::Response<'h, 'b>,
    seen: &'b [u8],
    headers: &'h mut [MaybeUninit<httparse::Header<'b>>],
) -> Result<Option<usize>, Garbled> {
    match httparse::ParserConfig::default().parse_response_with_uninit_headers(answer, seen, headers) {
        Ok(httparse::Status::Complete(end)) if end <= LONGEST => Ok(Some(end)),
        Ok(httparse::Status::Partial) if seen.len() <= LONGEST => Ok(None),
        Ok(_) | Err(_) => Err(Garbled),
    }
}

#[cfg(test)]
mod tests;
