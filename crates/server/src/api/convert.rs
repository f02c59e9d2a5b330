//! `POST /api/mcp/convert {functions, name?, save?}`: function schemas as a server's metadata, or as a bud at once.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgrove_core::Error;
use toolgrove_core::bud::BudPreset;
use toolgrove_core::call::Caller;
use toolgrove_core::text::convert;
use toolgrove_core::text::params::{params, signature};
use toolgrove_store::BudRow;
use ts_rs::TS;
use uuid::Uuid;

use super::body;
use super::registry::MetaMethod;
use crate::App;
use crate::problem::Answer;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convert {
    functions: Option<Vec<Value>>,
    name: Option<String>,
    save: Option<Save>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Save {
    workspace_id: String,
}

#[derive(Debug, Serialize, TS)]
pub struct Converted {
    pub name: String,
    pub description: String,
    pub methods: Vec<MetaMethod>,
    /// The bud it was saved as.
    pub bud_id: Option<Uuid>,
}

pub async fn convert(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    bytes: Bytes,
) -> Answer<Json<Converted>> {
    let given: Convert = body(&bytes)?;
    let functions = given.functions.ok_or_else(|| Error::RequestMissing(vec!["functions".into()]))?;
    let methods = convert::methods(&functions)?;
    let name = given.name.unwrap_or_else(|| "functions".into());
    let shown = methods.iter().map(|it| MetaMethod {
        name: it.name.clone(),
        description: it.description.clone(),
        signature: signature(&it.name, &params(&it.input_schema)),
        input_schema: it.input_schema.clone(),
    });
    let shown = shown.collect();
    let bud_id = match given.save {
        None => None,
        Some(_) if caller.grants.is_some() => return Err(Error::GrantMissing { slug: name }.into()),
        Some(Save { workspace_id }) => {
            let workspace = app.workspace(&caller, &workspace_id).await?.workspace.id;
            let preset = BudPreset { methods, ..BudPreset::default() };
            let bud = BudRow::new(workspace, Some(caller.person), &name, preset);
            app.add_bud(&caller, &bud).await?;
            app.note_admin(&caller, "bud.add", &name).await;
            Some(bud.id)
        }
    };
    Ok(Json(Converted { name, description: String::new(), methods: shown, bud_id }))
}
