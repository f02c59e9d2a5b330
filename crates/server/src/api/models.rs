//! `GET /api/models`: where models run, as far as anybody may know.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use toolgrove_core::Error;
use toolgrove_core::config::{Calls, ProviderKind};
use ts_rs::TS;

use crate::App;

#[derive(Debug, Serialize, TS)]
pub struct Models {
    /// In the order in which a model without a provider's name is looked for.
    pub providers: Vec<Provider>,
    /// What to do when there is none.
    pub hint: Option<String>,
}

/// A place where models run. `<name>/<model>` is how a bud or a chat names one of its models.
#[derive(Debug, Serialize, TS)]
#[ts(rename = "ModelProvider")]
pub struct Provider {
    pub name: String,
    #[ts(type = "\"openai\" | \"anthropic\"")]
    pub kind: ProviderKind,
    /// How its models ask for tools.
    #[ts(type = "\"native\" | \"xml\"")]
    pub calls: Calls,
    /// Whether a key is set.
    pub key: bool,
}

pub async fn models(State(app): State<Arc<App>>) -> Json<Models> {
    let shown = |(name, it): (&String, &toolgrove_core::config::Provider)| Provider {
        name: name.clone(),
        kind: it.kind,
        calls: it.calls,
        key: it.key.is_some(),
    };
    let providers: Vec<_> = app.config.providers.iter().map(shown).collect();
    let hint = if providers.is_empty() { Error::ModelMissing(String::new()).hint() } else { None };
    Json(Models { providers, hint })
}
