//! `/api/tabs`: a person's browsers, what their tabs offer, what is remembered, and how a browser is paired.

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::{Extension, Json};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use toolgrove_core::Error;
use toolgrove_core::call::Caller;
use toolgrove_core::tabs::wire::Confirmation;
use toolgrove_core::tabs::{BrowserKind, Table};
use toolgrove_store::TabLogRow;
use toolgrove_wire::Raw;
use ts_rs::TS;
use uuid::Uuid;

use super::body;
use crate::App;
use crate::problem::Answer;
use crate::tabs::{CODE_LIFE, EXTENSION, relay};

/// Everything about a person's tabs.
#[derive(Debug, Serialize, TS)]
pub struct TabsView {
    pub browsers: Vec<PairedBrowser>,
    pub tabs: Vec<OpenTab>,
    pub remembered: Vec<RememberedTool>,
    /// The id of the extension that may connect.
    pub extension: &'static str,
    pub relay: RelayState,
}

#[derive(Debug, Serialize, TS)]
pub struct PairedBrowser {
    pub id: String,
    /// What it calls itself: `Chromium/156`.
    pub name: String,
    pub connected: bool,
    /// Unix milliseconds.
    pub last_seen: i64,
    pub created_at: i64,
}

#[derive(Debug, Serialize, TS)]
pub struct OpenTab {
    /// The browser it is in; none for a page that embeds the relay.
    pub browser: Option<String>,
    pub domain: String,
    pub origin: String,
    /// Its number within the domain.
    pub tab: u32,
    pub title: Option<String>,
    pub url: Option<String>,
    pub active: bool,
    pub incognito: bool,
    /// An origin the page only says it has.
    pub claims: Option<String>,
    pub last_updated: i64,
    pub tools: Vec<TabTool>,
}

#[derive(Debug, Serialize, TS)]
pub struct TabTool {
    /// The public name.
    pub name: String,
    /// The page's own name.
    pub own_name: String,
    pub description: String,
    pub remembered: bool,
}

#[derive(Debug, Serialize, TS)]
pub struct RememberedTool {
    pub name: String,
    pub domain: String,
    pub own_name: String,
    pub url: Option<String>,
}

/// Whether pages that embed the relay can connect.
#[derive(Debug, Serialize, TS)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum RelayState {
    Off,
    /// `note`: what else there is to know of it.
    On {
        port: u16,
        note: Option<String>,
    },
    Failed {
        problem: String,
    },
}

/// A way to pair one browser.
#[derive(Debug, Serialize, TS)]
pub struct Pairing {
    pub code: String,
    /// What to paste into the extension: the hub's address and the code.
    pub paste: String,
    /// A page of the extension that pairs with one click.
    pub link: String,
    pub seconds: u64,
}

/// What a page asks in the middle of a call whose client cannot be asked.
#[derive(Debug, Serialize, TS)]
pub struct TabQuestion {
    pub id: Uuid,
    pub domain: String,
    /// The page's own name of the tool that asks.
    pub tool: String,
    pub message: String,
    /// A JSON Schema of the answer.
    #[ts(type = "unknown")]
    pub schema: Raw,
    /// Unix milliseconds.
    pub asked_at: i64,
}

/// One line of the tab log.
#[derive(Debug, Serialize, TS)]
pub struct TabLogLine {
    pub at: i64,
    pub browser: String,
    #[serde(rename = "tabId")]
    pub tab_id: i64,
    pub domain: String,
    /// `registered`, `updated`, `called`, `left` or `closed`.
    pub event: String,
    pub tool: Option<String>,
    pub outcome: String,
}

impl From<TabLogRow> for TabLogLine {
    fn from(row: TabLogRow) -> Self {
        Self {
            at: row.created_at,
            browser: row.profile_id,
            tab_id: row.tab_id,
            domain: row.domain,
            event: row.event,
            tool: row.tool,
            outcome: row.outcome,
        }
    }
}

pub async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<TabsView>> {
    may_use(&app, &caller)?;
    let hub = &app.tabs.hub;
    let connected: HashSet<_> =
        hub.browsers(caller.person).into_iter().filter(|it| it.connected).map(|it| it.id).collect();
    let browsers = app.store.pairings_of(caller.person).await?.into_iter().map(|row| PairedBrowser {
        connected: connected.contains(row.profile_id.as_str()),
        id: row.profile_id,
        name: row.label,
        last_seen: row.last_seen,
        created_at: row.created_at,
    });
    let relays: HashSet<_> = hub
        .browsers(caller.person)
        .into_iter()
        .filter(|it| it.kind == BrowserKind::Relay)
        .map(|it| it.id)
        .collect();
    let (views, rows) = hub.read(caller.person, |it| (it.views(), it.rows().1));
    let is_remembered =
        |origin: &str, tool: &str| rows.iter().any(|it| it.origin == origin && it.name == tool);
    let tabs = views.into_iter().map(|it| OpenTab {
        browser: (!relays.contains(&it.key.browser)).then(|| it.key.browser.to_string()),
        tools: it
            .tools
            .iter()
            .map(|(name, tool)| TabTool {
                name: name.clone(),
                own_name: tool.name.clone(),
                description: tool.description.clone(),
                remembered: is_remembered(&it.origin, &tool.name),
            })
            .collect(),
        domain: it.domain,
        origin: it.origin,
        tab: it.slot,
        title: it.title,
        url: it.url,
        active: it.active,
        incognito: it.incognito,
        claims: it.claims,
        last_updated: it.last_updated,
    });
    let remembered = rows.iter().map(|it| RememberedTool {
        name: it.public_name.clone(),
        domain: it.domain.clone(),
        own_name: it.name.clone(),
        url: it.url.clone(),
    });
    let relay = match app.tabs.relay.get() {
        None => RelayState::Off,
        Some(Ok(port)) => RelayState::On { port: *port, note: relay::elsewhere(*port) },
        Some(Err(problem)) => RelayState::Failed { problem: problem.clone() },
    };
    Ok(Json(TabsView {
        browsers: browsers.collect(),
        tabs: tabs.collect(),
        remembered: remembered.collect(),
        extension: EXTENSION,
        relay,
    }))
}

/// Makes a code. A token cannot: a way in is not made by another.
pub async fn pair(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<(StatusCode, Json<Pairing>)> {
    caller.require_person()?;
    let code = app.tabs.invite(caller.person);
    let base = app.gate.base();
    let here = base.strip_prefix("http://127.0.0.1:");
    let hub: String = url::form_urlencoded::byte_serialize(base.as_bytes()).collect();
    let place = here.map_or_else(|| format!("hub={hub}"), |port| format!("port={port}"));
    let pairing = Pairing {
        paste: format!("{}#{code}", here.map_or_else(|| base.to_owned(), |port| format!("127.0.0.1:{port}"))),
        link: format!("chrome-extension://{EXTENSION}/pair.html?{place}&code={code}"),
        seconds: CODE_LIFE.as_secs(),
        code,
    };
    Ok((StatusCode::CREATED, Json(pairing)))
}

/// Ends a pairing, and the connection with it.
pub async fn forget_browser(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
) -> Answer<StatusCode> {
    caller.require_person()?;
    if !app.store.end_pairing(caller.person, &id).await? {
        return Err(Error::NotFound(format!("browser {id}")).into());
    }
    app.tabs.hub.transport().close(&id, 4003, "this browser was forgotten");
    let is_paired = !app.store.pairings_of(caller.person).await?.is_empty();
    app.tabs.hub.with(caller.person, |table| {
        table.drop_browser(&id);
        table.set_paired(is_paired);
    });
    Ok(StatusCode::NO_CONTENT)
}

/// Remembers an open tool, so that it stays when its tab is closed.
pub async fn remember(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    may_use(&app, &caller)?;
    if !app.tabs.hub.with(caller.person, |table| table.remember(&name)) {
        return Err(Error::NotFound(format!("tab tool {name}")).into());
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Forgets remembered tools: one by its public name, or all of a domain.
pub async fn forget(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    may_use(&app, &caller)?;
    if app.tabs.hub.with(caller.person, |table: &mut Table| table.forget(&name)) == 0 {
        return Err(Error::NotFound(format!("remembered tool {name}")).into());
    }
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
pub struct Few {
    limit: Option<i64>,
}

/// What happened in a person's tabs, the newest first.
pub async fn log(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(few): Query<Few>,
) -> Answer<Json<Vec<TabLogLine>>> {
    may_use(&app, &caller)?;
    let lines = app.store.tab_log(caller.person, few.limit.unwrap_or(100).clamp(1, 1000)).await?;
    Ok(Json(lines.into_iter().map(TabLogLine::from).collect()))
}

/// What waits for the person's answer, the oldest first.
pub async fn questions(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
) -> Answer<Json<Vec<TabQuestion>>> {
    may_use(&app, &caller)?;
    let all = app.tabs.hub.questions(caller.person).into_iter().map(|it| TabQuestion {
        id: it.id,
        domain: it.domain,
        tool: it.tool,
        message: it.message,
        schema: it.schema,
        asked_at: it.asked_at,
    });
    Ok(Json(all.collect()))
}

/// Answers a page. Only a person can: a token would answer itself.
pub async fn answer(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    bytes: Bytes,
) -> Answer<StatusCode> {
    caller.require_person()?;
    let answer: Confirmation = body(&bytes)?;
    let is_taken =
        Uuid::parse_str(&id).is_ok_and(|id| app.tabs.hub.answer(caller.person, id, Raw::of(&answer)));
    if !is_taken {
        return Err(Error::NotFound(format!("question {id}")).into());
    }
    Ok(StatusCode::NO_CONTENT)
}

/// For a caller with grants, tabs that were not granted do not exist.
fn may_use(app: &App, caller: &Caller) -> Result<(), Error> {
    app.hub.catalog(caller).require(toolgrove_core::tabs::SLUG).map(drop)
}
