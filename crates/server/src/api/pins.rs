//! `/api/pins`: tools that are not what was approved, what changed, and what a person decides.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use toolgrove_core::Error;
use toolgrove_core::call::Caller;
use toolgrove_core::instance::Transport;
use toolgrove_core::offer::{Offer, Tool};
use toolgrove_core::pins::{self, Difference, Drift, Flag};
use toolgrove_store::PinRow;
use toolgrove_wire::Raw;
use ts_rs::TS;
use uuid::Uuid;

use super::{body, instances};
use crate::App;
use crate::problem::Answer;

/// One tool that somebody has to look at.
#[derive(Debug, Serialize, TS)]
#[ts(rename = "ChangedTool")]
pub struct Changed {
    pub instance: Uuid,
    pub slug: String,
    pub server: String,
    /// As its server calls it.
    pub tool: String,
    /// As clients call it.
    pub public_name: String,
    /// `changed`, `renamed` or `new`.
    #[ts(type = "\"changed\" | \"renamed\" | \"new\"")]
    pub is: &'static str,
    pub renamed_from: Option<String>,
    /// Calls are refused until somebody decides.
    pub held: bool,
    pub rejected: bool,
    /// Of the new definition: whoever decides sends it along.
    pub digest: String,
    pub diff: Vec<Difference>,
    /// What is odd about the whole new definition, changed or not.
    pub flags: Vec<Flag>,
}

impl Changed {
    fn of(offer: &Offer, tool: &Tool, drift: &Drift) -> Self {
        let nothing = Raw::empty_object();
        let diff = pins::diff(drift.before.as_ref().unwrap_or(&nothing), &drift.now);
        Self {
            instance: offer.instance.id,
            slug: offer.instance.slug.clone(),
            server: offer.instance.server_name.clone(),
            tool: tool.name.clone(),
            public_name: tool.public_name.clone(),
            is: match (&drift.before, &drift.renamed_from) {
                (_, Some(_)) => "renamed",
                (None, None) => "new",
                (Some(_), None) => "changed",
            },
            renamed_from: drift.renamed_from.clone(),
            held: drift.held,
            rejected: drift.rejected,
            digest: pins::digest(&drift.now),
            flags: diff.iter().flat_map(|it| it.flags.clone()).collect(),
            diff,
        }
    }
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<Vec<Changed>>> {
    let catalog = app.hub.catalog(&caller);
    let mut changed = Vec::new();
    for offer in catalog.offers() {
        changed.extend(offer.drifts().map(|(tool, drift)| Changed::of(offer, tool, drift)));
    }
    changed.sort_by(|a, b| (a.rejected, &a.slug, &a.tool).cmp(&(b.rejected, &b.slug, &b.tool)));
    Ok(Json(changed))
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Approve,
    Reject,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decided {
    decision: Decision,
    /// Of the definition that was looked at: another one is not decided on.
    digest: Option<String>,
}

pub async fn decide(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path((instance, tool)): Path<(String, String)>,
    bytes: Bytes,
) -> Answer<Json<Vec<Changed>>> {
    let (row, offer) = instances::find(&app, &caller, &instance).await?;
    let decided: Decided = body(&bytes)?;
    let unchanged = || Error::UnknownTool { tool: tool.clone() };
    let known = offer.tool(&tool).ok_or_else(unchanged)?;
    let drift = known.drift.as_deref().filter(|it| it.moved_to.is_none()).ok_or_else(unchanged)?;
    let digest = pins::digest(&drift.now);
    if decided.digest.is_some_and(|it| it != digest) {
        return Err(Error::ToolChanged { tool }.into());
    }
    let approved = |raw: &Raw, rejected: Option<String>| PinRow {
        instance_id: row.id,
        tool: known.pinned_as().to_owned(),
        digest: pins::digest(raw),
        raw: raw.as_str().to_owned(),
        state: "approved".into(),
        rejected,
        decided_by: Some(caller.person),
        decided_at: Some(app.hub.now()),
    };
    let (pin, from) = match (&decided.decision, &drift.before) {
        (Decision::Approve, _) => (approved(&drift.now, None), drift.renamed_from.as_deref()),
        // What was approved under this name stays approved.
        (Decision::Reject, Some(before)) if drift.renamed_from.is_none() => {
            (approved(before, Some(digest)), None)
        }
        (Decision::Reject, _) => {
            (PinRow { state: "rejected".into(), ..approved(&drift.now, Some(digest)) }, None)
        }
    };
    app.hub.log().flush().await;
    app.store.decide_pin(&pin, from).await?;
    let offer = app.reload(caller.person, row.id).await?;
    // What is part of the hub is asked again at once: nothing is waited for.
    if offer.instance.transport == Transport::Builtin {
        app.hub.refresh(&offer.instance).await?;
    }
    let action = match decided.decision {
        Decision::Approve => "pin.approve",
        Decision::Reject => "pin.reject",
    };
    app.note_admin(&caller, action, &known.public_name).await;
    list(State(app), Extension(caller)).await
}
