//! The headers of the protocol. Written out once, they are found without being read again for every request.

use http::HeaderName;

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(crate) const NAME: HeaderName = HeaderName::from_static("mcp-name");
pub(crate) const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
pub(crate) const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");
