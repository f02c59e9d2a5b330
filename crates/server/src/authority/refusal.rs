//! Errors in the words of OAuth (RFC 6749, 5.2), for clients that called us themselves.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use toolgrove_core::Error;
use toolgrove_store::StoreError;

use crate::problem::store_error;

/// Why a client gets nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: &'static str,
    pub(crate) text: String,
}

impl Refused {
    pub(crate) fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    pub(crate) fn request(text: impl Into<String>) -> Self {
        Self::new("invalid_request", text)
    }

    /// One sentence for all that is unknown, used, over or somebody else's.
    pub(crate) fn grant() -> Self {
        Self::new("invalid_grant", "this code or token is not valid; sign in again")
    }

    pub(crate) fn client(text: impl Into<String>) -> Self {
        Self::new("invalid_client", text)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::from(store_error(error))
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::new("server_error", error.to_string())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = match self.code {
            "invalid_client" => StatusCode::UNAUTHORIZED,
            "server_error" => StatusCode::INTERNAL_SERVER_ERROR,
            "slow_down" => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::BAD_REQUEST,
        };
        let body = Json(json!({ "error": self.code, "error_description": self.text }));
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"toolgrove\""));
        }
        response
    }
}
