//! The problem+json face of an error.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use toolgrove_core::Error;
use toolgrove_store::StoreError;

/// An error on its way to an HTTP client.
#[derive(Debug)]
pub struct Refusal(pub Error);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let problem = self.0.problem();
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
        let seconds = match self.0 {
            Error::Throttled { seconds } => Some(seconds),
            Error::RateLimited { retry_ms, .. } => Some(retry_ms.div_ceil(1000)),
            _ => None,
        };
        if let Some(seconds) = seconds {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self(store_error(error))
    }
}

/// What the store said, in the hub's words. Details go to the log, not to the caller.
pub(crate) fn store_error(error: StoreError) -> Error {
    match error {
        StoreError::NameTaken { .. } => Error::ServerNameTaken,
        StoreError::SlugTaken { slug } => Error::SlugTaken { slug },
        StoreError::EmailTaken { email } => Error::EmailTaken { email },
        StoreError::LastAdmin => Error::LastAdmin,
        other => {
            tracing::error!(error = ?other, "the store failed");
            Error::Internal(other.to_string())
        }
    }
}

pub(crate) type Answer<T> = Result<T, Refusal>;
