//! `POST /api/mcp/call {tool, arguments}`: one call for something that is not an MCP client.
//!
//! The answer is the text view with the raw result beside it. A client that accepts an event stream hears progress.

use std::sync::Arc;

use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use axum::{Extension, extract::State};
use futures::stream::{self, StreamExt};
use http::{HeaderMap, header};
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolgrove_core::call::{Asking, Call, Caller, Door, Method, Outcome, View};
use toolgrove_core::event::{Along, Event, Events, Heard, Next, Progress};
use toolgrove_core::{Error, text::view};
use toolgrove_wire::legacy::Version;
use toolgrove_wire::{Abilities, Draft, Raw, sse};
use uuid::Uuid;

use super::body;
use crate::App;
use crate::mcp::event_stream;
use crate::problem::{Answer, Refusal};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    tool: Option<String>,
    arguments: Option<Raw>,
    /// Which door the call is recorded under; the command line says `cli`.
    #[serde(default)]
    door: Origin,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Origin {
    #[default]
    Api,
    Cli,
}

/// What a call without an MCP client gives back.
#[derive(Debug, Serialize)]
pub struct Answered {
    #[serde(flatten)]
    pub view: view::View,
    pub raw: Raw,
}

pub async fn call(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Arc<Caller>>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Answer<Response> {
    let asked: Asked = body(&bytes)?;
    let tool = asked.tool.ok_or_else(|| Error::RequestMissing(vec!["tool".into()]))?;
    let arguments = asked.arguments.unwrap_or_else(Raw::empty_object);
    let door = match asked.door {
        Origin::Api => Door::Api,
        Origin::Cli => Door::Cli,
    };
    let streams = headers
        .get(header::ACCEPT)
        .is_some_and(|it| it.to_str().is_ok_and(|it| it.contains("text/event-stream")));
    if !streams {
        let result = run(&app, &caller, door, &tool, arguments, Events::none()).await.map_err(Refusal)?;
        return Ok(axum::Json(answered(result)).into_response());
    }
    let (events, heard) = Events::channel(Progress::Wanted);
    let running = async move { run(&app, &caller, door, &tool, arguments, events).await };
    Ok(progress_stream(heard, running))
}

/// `event: progress`, then `event: done` or `event: error`.
fn progress_stream(
    heard: Heard,
    running: impl Future<Output = Result<Raw, Error>> + Send + 'static,
) -> Response {
    let running = Along::new(Box::pin(running), heard);
    event_stream(
        stream::unfold(Some(running), |running| async move {
            let mut running = running?;
            match running.next().await {
                Next::Event(event) => {
                    let (name, params) = match event {
                        Event::Progress(params) => ("progress", params),
                        Event::Log(params) | Event::Elicited(params) => ("log", params),
                        // Nobody here can be asked: dropping a question declines it.
                        Event::Ask(ask) => ("log", ask.params),
                    };
                    Some((sse::write(Some(name), None, params.bytes()), Some(running)))
                }
                Next::End(result) => {
                    let (name, data) = match result {
                        Ok(result) => ("done", serde_json::to_vec(&answered(result))),
                        Err(error) => ("error", serde_json::to_vec(&error.problem())),
                    };
                    Some((sse::write(Some(name), None, &data.unwrap_or_default()), None))
                }
            }
        })
        .boxed(),
    )
}

/// One call through the spine.
pub async fn run(
    app: &Arc<App>,
    caller: &Arc<Caller>,
    door: Door,
    tool: &str,
    arguments: Raw,
    events: Events,
) -> Result<Raw, Error> {
    let named = Draft::from(Raw::of(&json!({ "name": tool })));
    let call = Call {
        id: Uuid::now_v7(),
        parent: None,
        caller: caller.clone(),
        door,
        view: View::All,
        method: Method::CallTool,
        params: named.set("arguments", arguments),
        chat: caller.chat(),
        depth: 0,
        abilities: Abilities::NONE,
        asking: Asking::Live,
        log_level: None,
        client: None,
        started_at: app.hub.now(),
    };
    let Outcome { result, .. } = app.hub.call(call, events).await?;
    Ok(toolgrove_wire::legacy::result_for_client(&result, Version::LATEST))
}

fn answered(result: Raw) -> Answered {
    Answered { view: view::view(&result.to_value()), raw: result }
}

/// The text view of whatever came of a call.
pub fn view_of(result: &Result<Raw, Error>) -> view::View {
    match result {
        Ok(result) => view::view(&result.to_value()),
        Err(error) => view::View::failed(error.to_string()),
    }
}
