//! Text views of the catalogue and of calls: paste and export, the prompt section, XML calls, function schemas.

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures::channel::{mpsc, oneshot};
use futures::future::ready;
use futures::stream::{self, StreamExt};
use http::{HeaderMap, header};
use serde::Deserialize;
use serde_json::{Value, json};
use toolgrove_core::Error;
use toolgrove_core::call::{Caller, Door, View};
use toolgrove_core::event::{Events, ListKind};
use toolgrove_core::export::{self, Secrets, Stored};
use toolgrove_core::import;
use toolgrove_core::instance::Switch;
use toolgrove_core::name::Profile;
use toolgrove_core::offer::{Offer, Tool};
use toolgrove_core::text::{openai, params, prompt, xml};
use toolgrove_wire::{Raw, sse};

use super::{body, call};
use crate::App;
use crate::mcp::event_stream;
use crate::problem::Answer;
use crate::registry::Paste;
use crate::registry::rows;

/// Adds the servers of a text. Who accepts an event stream hears every step (`step {server, step}`) and then the end
/// (`done`, or `error` with a problem); everybody else gets the end alone.
pub async fn import(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer<Response> {
    let paste: Paste = body(&bytes)?;
    let workspace = app.home(&caller).await?;
    let wants_steps = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    if !wants_steps.is_some_and(|it| it.contains("text/event-stream")) {
        return Ok(Json(app.import(&caller, &workspace, &paste, None).await?).into_response());
    }
    // A text that cannot be read is refused as always; from here on every server stands alone.
    import::read(&paste.text)?;
    let (on_step, steps) = mpsc::unbounded();
    let (end, ended) = oneshot::channel();
    let work = async move {
        let (event, data) = match app.import(&caller, &workspace, &paste, Some(on_step)).await {
            Ok(imported) => ("done", serde_json::to_vec(&imported)),
            Err(error) => ("error", serde_json::to_vec(&error.problem())),
        };
        // Whoever asked may have gone.
        let _ = end.send(sse::write(Some(event), None, &data.unwrap_or_default()));
    };
    // Steps end when the import has let go of their channel, so the end comes last.
    let told = steps
        .map(|it| sse::write(Some("step"), None, &serde_json::to_vec(&it).unwrap_or_default()))
        .chain(stream::once(ended).filter_map(|it| ready(it.ok())));
    Ok(event_stream(stream::select(told, stream::once(work).filter_map(|()| ready(None)))))
}

#[derive(Deserialize)]
pub struct Export {
    format: Option<String>,
    #[serde(default)]
    secrets: bool,
}

/// Everything the caller owns, in a shape that import reads back.
pub async fn export(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(wanted): Query<Export>,
) -> Answer<Json<Value>> {
    Ok(Json(exported(&app, &caller, wanted.format.as_deref(), wanted.secrets).await?))
}

pub async fn exported(app: &App, caller: &Caller, format: Option<&str>, secrets: bool) -> Answer<Value> {
    let mut entries = Vec::new();
    for row in app.store.instances_of(caller.person).await?.into_iter().filter(|it| caller.may_use(it.id)) {
        let Some(server) = app.store.visible_server(caller.person, row.server_id).await? else { continue };
        let credentials = app.store.credentials_of(row.id).await?;
        let offer = app.hub.offer(row.id);
        let auth = app.auth_config(&row).await?;
        let Ok(mut entry) = rows::shown_entry(&server, auth.as_ref(), &credentials) else { continue };
        entry.enabled = server.enabled && row.enabled;
        if let Some(Switch::Duplicate { of }) = offer.as_ref().map(|it| &it.instance.switch) {
            entry.enabled = false;
            entry.description = Some(format!("Duplicate of {of}"));
        }
        if let Some(offer) = &offer {
            entry.disabled_tools =
                offer.listed().filter(|it| !it.enabled).map(|it| it.name.clone()).collect();
        }
        entries.push((server.id, entry, offer));
    }
    entries.sort_by(|a, b| a.1.name.cmp(&b.1.name));
    let secrets = if secrets { Secrets::Included } else { Secrets::LeftOut };
    match format.unwrap_or("mcp.json") {
        "mcp.json" => Ok(export::mcp_json(entries.iter().map(|it| &it.1), secrets)),
        "bouno" => Ok(export::bouno(
            entries.iter().map(|(id, entry, offer)| Stored {
                id: *id,
                entry,
                cached_tools: raw_tools(offer.as_deref()),
            }),
            secrets,
        )),
        other => {
            Err(Error::Request(format!("`{other}` is not a format; expected `mcp.json` or `bouno`")).into())
        }
    }
}

fn raw_tools(offer: Option<&Offer>) -> Vec<Value> {
    offer.map(|it| it.listed().map(|it| it.raw.to_value()).collect()).unwrap_or_default()
}

#[derive(Deserialize)]
pub struct ToolsQuery {
    format: Option<String>,
    names: Option<String>,
    /// Only this server's, by slug or name.
    server: Option<String>,
}

impl ToolsQuery {
    /// Whether an offer is asked for.
    fn wants(&self, offer: &Offer) -> bool {
        let instance = &offer.instance;
        self.server
            .as_ref()
            .is_none_or(|it| it.eq_ignore_ascii_case(&instance.slug) || *it == instance.server_name)
    }
}

/// The tool list for something that is not an MCP client.
pub async fn tools(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(wanted): Query<ToolsQuery>,
) -> Answer<Response> {
    let profile = profile(&caller, wanted.names.as_deref())?;
    let catalog = app.hub.catalog(&caller);
    if !catalog.offers().any(|it| wanted.wants(it)) && wanted.server.is_some() {
        return Err(Error::UnknownServer { server: wanted.server.unwrap_or_default() }.into());
    }
    match wanted.format.as_deref().unwrap_or("mcp") {
        "mcp" => {
            let mut list = catalog.list(&View::All, ListKind::Tools, profile)?;
            if wanted.server.is_some() {
                let offers = catalog.offers().filter(|it| wanted.wants(it));
                let names: HashSet<&str> =
                    offers.flat_map(|it| it.listed().map(|it| it.public(profile))).collect();
                let is_wanted = |it: &Raw| it.get_text("name").is_some_and(|it| names.contains(it.as_str()));
                list = Raw::array(&list.items().filter(is_wanted).collect::<Vec<_>>());
            }
            let kind = [(header::CONTENT_TYPE, "application/json")];
            let list = Raw::object("tools", &list);
            Ok((kind, list.bytes().clone()).into_response())
        }
        "openai" => {
            let functions: Vec<_> = shown(&app, &caller)
                .into_iter()
                .filter(|(offer, it)| it.enabled && wanted.wants(offer))
                .map(|(_, it)| {
                    let schema = it.raw.get("inputSchema").map(|it| it.to_value());
                    openai::function_tool(it.public(profile), &it.description(), schema.as_ref())
                })
                .collect();
            Ok(Json(functions).into_response())
        }
        other => Err(Error::Request(format!("`{other}` is not a format; expected `mcp` or `openai`")).into()),
    }
}

pub fn profile(caller: &Caller, names: Option<&str>) -> Result<Profile, Error> {
    match names {
        None => Ok(caller.profile),
        Some(word) => Profile::parse(word).ok_or_else(|| {
            Error::Request(format!("`{word}` is not a name profile; expected `double` or `single`"))
        }),
    }
}

/// Every listed tool of every server that is on, by public name.
fn shown(app: &App, caller: &Caller) -> Vec<(Arc<Offer>, Arc<Tool>)> {
    let catalog = app.hub.catalog(caller);
    let mut tools: Vec<_> = catalog
        .offers()
        .filter(|it| it.instance.switch == Switch::On)
        .flat_map(|offer| offer.listed().map(|it| (offer.clone(), it.clone())))
        .collect();
    tools.sort_by(|a, b| a.1.public_name.cmp(&b.1.public_name));
    tools
}

/// The `## MCP Tools` section of a system prompt.
pub async fn prompt(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    Query(wanted): Query<ToolsQuery>,
) -> Answer<Response> {
    let profile = profile(&caller, wanted.names.as_deref())?;
    let tools: Vec<_> = shown(&app, &caller)
        .into_iter()
        .filter(|(offer, _)| wanted.wants(offer))
        .map(|(_, it)| prompt::PromptTool {
            name: it.public(profile).to_owned(),
            description: it.description(),
            params: params::params(&it.raw.get("inputSchema").map(|it| it.to_value()).unwrap_or_default()),
            enabled: it.enabled,
        })
        .collect();
    let text = prompt::section(&tools).map(|it| it + "\n").unwrap_or_default();
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Xml {
    text: String,
    #[serde(default)]
    run: bool,
}

/// Reads calls out of a model's text and runs them if asked to.
pub async fn xml(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    bytes: Bytes,
) -> Answer<Json<Value>> {
    let given: Xml = body(&bytes)?;
    let catalog = app.hub.catalog(&caller);
    let mut reader = xml::XmlCalls::default();
    let mut pieces = reader.push(&given.text);
    pieces.extend(reader.finish());
    let (mut text, mut calls) = (String::new(), Vec::new());
    for piece in pieces {
        match piece {
            xml::Piece::Text(it) => text.push_str(&it),
            xml::Piece::Call(it) => {
                let tool = catalog.tool(&View::All, &it.name).ok();
                let schema = tool.and_then(|it| it.tool.raw.get("inputSchema")).map(|it| it.to_value());
                let params = it.arguments(schema.as_ref());
                calls.push((it.name, params));
            }
        }
    }
    let shown: Vec<_> =
        calls.iter().map(|(name, params)| json!({ "name": name, "params": params })).collect();
    let mut answer = json!({ "text": text, "calls": shown });
    if given.run {
        let mut results = Vec::new();
        for (name, params) in &calls {
            let arguments = Raw::of(params);
            let ran = call::run(&app, &caller, Door::Xml, name, arguments, Events::none()).await;
            results.push(call::view_of(&ran));
        }
        answer["results"] = json!(results);
    }
    Ok(Json(answer))
}
