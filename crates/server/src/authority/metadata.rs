//! The two documents by which a client finds its way: what the hub's endpoints want (RFC 9728), and how to get it
//! (RFC 8414). They are the same for everybody and for every slug, whether there is such an instance or not.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::header::HOST;
use http::{HeaderMap, Uri};
use serde_json::{Value, json};
use toolgrove_core::Error;

use super::client::AuthMethod;
use super::resource::Resource;
use super::scope::Scope;
use crate::App;
use crate::problem::Refusal;

/// Where the document of a resource lies, below the hub's address.
pub(crate) const OF_RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// `GET /.well-known/oauth-protected-resource`: of the whole hub.
pub(crate) async fn of_hub(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    Json(resource(&app, &headers, &Resource::Hub)).into_response()
}

/// The same with an endpoint's path: of that endpoint.
pub(crate) async fn of_endpoint(
    State(app): State<Arc<App>>,
    Path(path): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    match Resource::with_path(&format!("/{path}")) {
        Some(it) => Json(resource(&app, &headers, &it)).into_response(),
        None => Refusal(Error::NotFound(uri.path().to_owned())).into_response(),
    }
}

fn resource(app: &App, headers: &HeaderMap, resource: &Resource) -> Value {
    json!({
        "resource": format!("{}{}", app.address(headers.get(HOST)), resource.path()),
        "authorization_servers": [app.gate.base()],
        "scopes_supported": resource.scopes().iter().map(|it| it.as_str()).collect::<Vec<_>>(),
        "bearer_methods_supported": ["header"],
        "resource_name": "Toolgrove",
    })
}

/// `GET /.well-known/oauth-authorization-server`.
pub(crate) async fn of_authority(State(app): State<Arc<App>>) -> Json<Value> {
    Json(authority(app.gate.base()))
}

fn authority(base: &str) -> Value {
    let methods: Vec<_> = AuthMethod::ALL.iter().map(|it| it.as_str()).collect();
    json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/oauth/authorize"),
        "token_endpoint": format!("{base}/oauth/token"),
        "registration_endpoint": format!("{base}/oauth/register"),
        "revocation_endpoint": format!("{base}/oauth/revoke"),
        "scopes_supported": Scope::ALL.map(Scope::as_str),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
    })
}
