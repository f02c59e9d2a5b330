//! Answers one request of an MCP client, whatever its era and transport. The doors around it only read and write.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use toolgrove_core::Error;
use toolgrove_core::call::{Asking, Call, Caller, Door, Method, Outcome, View};
use toolgrove_core::catalog::Form;
use toolgrove_core::event::{Event, Events, ListKind};
use toolgrove_core::tabs;
use toolgrove_wire::capability::TASKS;
use toolgrove_wire::envelope::{self, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND};
use toolgrove_wire::legacy::{self, Version};
use toolgrove_wire::modern::{self, CacheHint, MISSING_CAPABILITY, RequestMeta, ResultKind};
use toolgrove_wire::{Abilities, Draft, Edit, Raw, RpcError};
use uuid::Uuid;

use super::park::{self, Binding};
use super::task;
use crate::App;

/// Who asks, and in which era.
#[derive(Debug, Clone)]
pub struct Client {
    pub caller: Arc<Caller>,
    pub view: View,
    pub era: ClientEra,
    pub door: Door,
    pub chat: Arc<str>,
    /// What a legacy client has set with `logging/setLevel`.
    pub log_level: Option<&'static str>,
    /// What it can be asked.
    pub abilities: Abilities,
    /// What it calls itself.
    pub name: Option<Arc<str>>,
}

/// What a client calls itself, as far as anybody will want to read it.
pub fn client_name(info: &Raw) -> Option<Arc<str>> {
    const LONGEST: usize = 100;
    let (mut title, mut name) = (None, None);
    for member in info.members() {
        match &*member.name() {
            b"title" => title = Some(member.value()),
            b"name" => name = Some(member.value()),
            _ => {}
        }
    }
    let name = [&title, &name].into_iter().flatten().find_map(Raw::text)?;
    if name.len() <= LONGEST && name.bytes().all(|it| it.is_ascii_graphic()) {
        return (!name.is_empty()).then(|| name.into());
    }
    let name: String = name.trim().chars().filter(|it| !it.is_control()).take(LONGEST).collect();
    (!name.is_empty()).then(|| name.into())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientEra {
    Modern,
    Legacy(Version),
}

/// An answer that is no result, with the status it has over HTTP.
#[derive(Debug, Clone)]
pub struct Failure {
    pub rpc: RpcError,
    pub status: u16,
}

impl Failure {
    pub fn new(status: u16, code: i64, message: impl Into<String>) -> Self {
        Self { rpc: RpcError::new(code, message), status }
    }

    /// The JSON-RPC face of an error. Only an endpoint of one instance shows a failed hop in its status.
    pub fn of(error: &Error, view: &View) -> Self {
        let status = match view {
            View::All => 200,
            View::One { .. } if error.is_failed_hop() => 502,
            View::One { .. } => match error {
                Error::ServerOff { .. } | Error::InstanceOff { .. } | Error::GrantMissing { .. } => 403,
                Error::UnknownServer { .. } => 404,
                _ => 200,
            },
        };
        if let Error::Server { code, message, data } = error {
            return Self {
                rpc: RpcError { code: *code, message: message.clone(), data: data.clone() },
                status,
            };
        }
        let mut data = serde_json::Map::new();
        data.insert("code".into(), error.code().into());
        if let Some(hint) = error.hint() {
            data.insert("hint".into(), hint.into());
        }
        if let Some(inner) = error.data() {
            data.insert("data".into(), inner);
        }
        if let Error::RateLimited { retry_ms, .. } = error {
            data.insert("retry_after_ms".into(), (*retry_ms).into());
        }
        if let Error::UnknownResource { uri } = error {
            data.insert("uri".into(), uri.clone().into());
        }
        Self { rpc: RpcError::new(error.rpc_code(), error.to_string()).with_data(&data), status }
    }
}

/// The result of one request, in the shape of the client's era.
pub async fn answer(
    app: &Arc<App>,
    client: &Client,
    method: &str,
    params: Option<Raw>,
    meta: &RequestMeta,
    events: Events,
) -> Result<Draft, Failure> {
    if let Some(method) = Method::parse(method) {
        return call_answer(app, client, method, params, meta, events).await;
    }
    let list = ListKind::ALL.into_iter().find(|it| it.method() == method);
    if let Some(kind) = list {
        return Box::pin(list_answer(app, client, kind, params.as_ref())).await.map(Into::into);
    }
    match (client.era, method) {
        (ClientEra::Modern, "server/discover") => Ok(discover(app, client)?.into()),
        (ClientEra::Legacy(_), "ping") => Ok(Raw::empty_object().into()),
        (era, _) => {
            // To a legacy client 404 says that its session is over.
            let status = if era == ClientEra::Modern { 404 } else { 200 };
            Err(Failure::new(status, METHOD_NOT_FOUND, format!("method not found: {method}")))
        }
    }
}

async fn list_answer(
    app: &Arc<App>,
    client: &Client,
    kind: ListKind,
    params: Option<&Raw>,
) -> Result<Raw, Failure> {
    if params.and_then(|it| it.get("cursor")).is_some_and(|it| !it.is_null()) {
        // Lists come whole, so no cursor was ever given out.
        return Err(Failure::new(200, INVALID_PARAMS, "unknown cursor"));
    }
    if let View::One { slug } = &client.view {
        app.first_listing(&client.caller, slug).await;
    }
    app.hub.freshen_stale(&client.caller, &client.view);
    let catalog = app.hub.catalog(&client.caller);
    let form = match client.era {
        ClientEra::Modern => {
            let is_live = app.hub.lists_are_live(&client.caller, &client.view);
            Form::Modern { hub: &app.server_info, is_live }
        }
        ClientEra::Legacy(version) => Form::of_legacy(version),
    };
    let result = catalog.listing(&client.view, kind, client.caller.profile, form);
    result.map_err(|it| Failure::of(&it, &client.view))
}

async fn call_answer(
    app: &Arc<App>,
    client: &Client,
    method: Method,
    params: Option<Raw>,
    meta: &RequestMeta,
    events: Events,
) -> Result<Draft, Failure> {
    let mut params = params.unwrap_or_else(Raw::empty_object);
    let mut task_token = None;
    if matches!(method, Method::GetTask | Method::UpdateTask | Method::CancelTask) {
        if !client.abilities.has(Abilities::TASKS) {
            return Err(needs(&json!({ "extensions": { TASKS: {} } })));
        }
        let (token, opened) = task::opened(app, client, &params)?;
        (task_token, params) = (Some(token), opened);
    }
    let log_level = match &meta.log_level {
        Some(level) => level.text().and_then(|it| super::log_level(&it)),
        None => client.log_level,
    };
    let call = Call {
        id: Uuid::now_v7(),
        parent: None,
        caller: client.caller.clone(),
        door: client.door,
        view: client.view.clone(),
        method,
        params: modern::without_hop_keys(params.clone(), meta),
        chat: meta.chat.as_deref().map_or_else(|| client.chat.clone(), Into::into),
        depth: meta.depth,
        abilities: client.abilities,
        asking: match client.era {
            ClientEra::Modern => Asking::ByRetry,
            ClientEra::Legacy(_) => Asking::Live,
        },
        log_level,
        client: client.name.clone(),
        started_at: app.hub.now(),
    };
    let meant = || modern::without_hop_keys(params.clone(), meta).raw();
    let called = if meta.responses.is_some() && has_agreed(&call) {
        Box::pin(call_after_visit(app, call, events)).await
    } else {
        app.hub.call(call, events).await
    };
    let Outcome { result, kind, instance } = match called {
        Ok(outcome) => outcome,
        // Over MCP a model can correct its own arguments, so they come back as a result.
        Err(error @ Error::Arguments { .. }) => {
            return Ok(in_era(app, client, method, &tool_error(&error)).into());
        }
        Err(Error::Server { code: URL_REQUIRED, message, data }) => {
            return url_required(app, client, method, &meant(), message, data).map(Into::into);
        }
        Err(error) => return Err(in_words_of(client, method, meta, &error)),
    };
    if client.era != ClientEra::Modern {
        return Ok(in_era(app, client, method, &result).into());
    }
    Ok(match kind {
        ResultKind::InputRequired => {
            let binding = Binding::of(client, method.as_str(), &meant());
            let result = modern::with_origin(&instance.slug, &result);
            park::relay(app, &binding, &instance.server_name, &result).into()
        }
        ResultKind::Task => {
            task::created(app, client, instance.id, &modern::with_origin(&instance.slug, &result)).into()
        }
        ResultKind::Complete | ResultKind::Other(_) => {
            let result = task::renamed(method, task_token.as_deref(), result);
            // What answers had a part in is nobody's to keep.
            let is_answered = meta.responses.is_some();
            let result = if is_answered { Edit::of(&result).remove("ttlMs").done() } else { result };
            let hint = cache_hint(method, &result);
            modern::complete_from(&instance.slug, result, &app.server_info, hint)
        }
    })
}

/// The legacy error that sends a person to a page first.
const URL_REQUIRED: i64 = -32042;
/// How long a server may take to notice that a person was at the page.
const NOTICED_WITHIN: Duration = Duration::from_secs(30);

/// Whether a person has agreed to something, such as to visit a page.
fn has_agreed(call: &Call) -> bool {
    let says_so = |it: &Raw| it.get_text("action").as_deref() == Some("accept");
    call.asking == Asking::ByRetry
        && call.params.get("inputResponses").is_some_and(|it| it.members().any(|it| says_so(&it.value())))
}

/// Runs a call whose person may still be at the page when the client calls again: a server that refuses until then
/// is asked again for a while.
async fn call_after_visit(app: &App, call: Call, events: Events) -> Result<Outcome, Error> {
    let (began, mut pause) = (Instant::now(), Duration::from_millis(250));
    loop {
        let call = Call { id: Uuid::now_v7(), ..call.clone() };
        match app.hub.call(call, events.clone()).await {
            Err(Error::Server { code: URL_REQUIRED, .. }) if began.elapsed() < NOTICED_WITHIN => {
                sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(5));
            }
            ended => return ended,
        }
    }
}

/// A server wants a person to visit a page before the call. Only the last legacy revision knows the error; a modern
/// client is asked and calls again; everybody else reads where to go.
fn url_required(
    app: &App,
    client: &Client,
    method: Method,
    params: &Raw,
    message: String,
    data: Option<Raw>,
) -> Result<Raw, Failure> {
    if client.era == ClientEra::Legacy(Version::V2025_11_25) {
        return Err(Failure { rpc: RpcError { code: URL_REQUIRED, message, data }, status: 200 });
    }
    let pages: Vec<Raw> =
        data.and_then(|it| it.get("elicitations")).map(|it| it.items().collect()).unwrap_or_default();
    // Who was asked already and did not go is not asked again.
    let is_new = params.get("inputResponses").is_none();
    if client.era == ClientEra::Modern && is_new && client.abilities.has(Abilities::URL) && !pages.is_empty()
    {
        let binding = Binding::of(client, method.as_str(), params);
        let requests = pages.iter().enumerate().map(|(place, page)| {
            let params = Edit::of(page).remove("elicitationId").set_text("mode", "url").done();
            let request = Raw::of(&json!({ "method": "elicitation/create" }));
            (format!("ask-{}", place + 1), Edit::of(&request).set("params", params).done())
        });
        let object = Raw::empty_object();
        let requests: Vec<_> = requests.collect();
        let requests =
            requests.iter().fold(Edit::of(&object), |edit, (key, value)| edit.set(key, value.clone())).done();
        let result = Raw::of(&json!({ "resultType": "input_required", "requestState": "" }));
        let server = owner(app, client, params);
        return Ok(park::relay(
            app,
            &binding,
            &server,
            &Edit::of(&result).set("inputRequests", requests).done(),
        ));
    }
    let links: Vec<String> = pages
        .iter()
        .map(|it| {
            format!(
                "{}: {}",
                it.get_text("message").unwrap_or_default(),
                it.get_text("url").unwrap_or_default()
            )
        })
        .collect();
    let text = std::iter::once(message).chain(links).collect::<Vec<_>>().join("\n");
    let result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    Ok(in_era(app, client, method, &Raw::of(&result)))
}

/// The name of the server a call goes to.
fn owner(app: &App, client: &Client, params: &Raw) -> String {
    let name = params.get_text("name").unwrap_or_default();
    let route = app.hub.catalog(&client.caller).tool(&client.view, &name);
    route.map(|it| it.instance.server_name.clone()).unwrap_or_default()
}

/// An error as this client may see it.
fn in_words_of(client: &Client, method: Method, meta: &RequestMeta, error: &Error) -> Failure {
    if let Error::Server { code: MISSING_CAPABILITY, data, .. } = error {
        return missing_capability(client, meta, data.as_ref());
    }
    missing_resource(method, client.era, Failure::of(error, &client.view))
}

/// What a server misses is recomputed for the client's own hop: only what this client did not declare is missing.
fn missing_capability(client: &Client, meta: &RequestMeta, data: Option<&Raw>) -> Failure {
    let required = data.and_then(|it| it.get("requiredCapabilities")).unwrap_or_else(Raw::empty_object);
    let declared = |key: &str| meta.capabilities.as_ref().is_some_and(|it| it.get(key).is_some());
    let missing: serde_json::Map<_, _> = required
        .members()
        .filter(|it| !declared(&it.key()))
        .map(|it| (it.key().into_owned(), it.value().to_value()))
        .collect();
    if missing.is_empty() || client.era != ClientEra::Modern {
        return Failure::new(
            200,
            INTERNAL_ERROR,
            "the server wants a capability that cannot be given to it here",
        );
    }
    needs(&missing.into())
}

/// What a modern client would have to be able to do.
fn needs(missing: &serde_json::Value) -> Failure {
    let names: Vec<_> = missing.as_object().into_iter().flatten().map(|it| it.0.clone()).collect();
    let rpc =
        RpcError::new(MISSING_CAPABILITY, format!("this needs the client capability: {}", names.join(", ")));
    Failure { rpc: rpc.with_data(&json!({ "requiredCapabilities": missing })), status: 400 }
}

fn in_era(app: &App, client: &Client, method: Method, result: &Raw) -> Raw {
    match client.era {
        ClientEra::Legacy(version) => legacy::result_for_client(result, version),
        ClientEra::Modern => modern::complete(result, &app.server_info, cache_hint(method, result)),
    }
}

/// Only what was read may be kept.
fn cache_hint(method: Method, result: &Raw) -> Option<CacheHint> {
    (method == Method::ReadResource).then(|| CacheHint { ttl_ms: holds_ms(result) })
}

/// For how long a modern server says that its result holds. Others say nothing.
fn holds_ms(result: &Raw) -> u64 {
    let is_modern = result.get("resultType").is_some();
    result.get("ttlMs").filter(|_| is_modern).and_then(|it| it.u64()).unwrap_or_default()
}

fn tool_error(error: &Error) -> Raw {
    Raw::of(&json!({ "content": [{ "type": "text", "text": error.to_string() }], "isError": true }))
}

/// A missing resource has a number of its own in the legacy era, and none in the modern one.
fn missing_resource(method: Method, era: ClientEra, mut failure: Failure) -> Failure {
    const LEGACY_MISSING: i64 = -32002;
    if method == Method::ReadResource {
        match era {
            ClientEra::Modern if failure.rpc.code == LEGACY_MISSING => failure.rpc.code = INVALID_PARAMS,
            ClientEra::Legacy(_) if failure.rpc.code == INVALID_PARAMS => failure.rpc.code = LEGACY_MISSING,
            _ => {}
        }
    }
    failure
}

/// What the hub, or one instance behind it, can do.
pub fn capabilities(app: &App, client: &Client) -> Result<Raw, Failure> {
    let mut all = json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
        "completions": {},
        "logging": {},
    });
    let catalog = app.hub.catalog(&client.caller);
    let View::One { slug } = &client.view else {
        if catalog.tabs().is_some() {
            let browser = app.tabs.hub.capability(client.caller.person);
            match client.era {
                ClientEra::Modern => all["extensions"] = json!({ tabs::CAPABILITY: browser }),
                ClientEra::Legacy(_) => all["browser"] = browser,
            }
        }
        return Ok(Raw::of(&all));
    };
    let offer = catalog.require(slug).map_err(|it| Failure::of(&it, &client.view))?;
    let serde_json::Value::Object(all) = all else { return Ok(Raw::empty_object()) };
    let mut own: serde_json::Map<_, _> =
        all.into_iter().filter(|(key, _)| key == "tools" || offer.declares(key)).collect();
    let subscribe = offer.capabilities.get("resources").and_then(|it| it.get("subscribe"));
    if subscribe.and_then(|it| it.bool()) != Some(true)
        && let Some(serde_json::Value::Object(resources)) = own.get_mut("resources")
    {
        resources.remove("subscribe");
    }
    let extensions = offer.capabilities.get("extensions").and_then(|it| it.get(TASKS));
    if extensions.is_some() && client.era == ClientEra::Modern {
        own.insert("extensions".into(), json!({ TASKS: {} }));
    }
    Ok(Raw::of(&own))
}

/// The words a server wants a model to read first.
pub fn instructions(app: &App, client: &Client) -> Option<String> {
    let View::One { slug } = &client.view else { return None };
    app.hub.catalog(&client.caller).offer(slug)?.instructions.clone()
}

fn discover(app: &App, client: &Client) -> Result<Raw, Failure> {
    let result = Raw::of(&json!({ "supportedVersions": [modern::VERSION] }));
    let mut edit = Edit::of(&result).set("capabilities", capabilities(app, client)?);
    if let Some(text) = instructions(app, client) {
        edit = edit.set_text("instructions", &text);
    }
    Ok(modern::complete(&edit.done(), &app.server_info, Some(CacheHint { ttl_ms: 0 })))
}

/// An event of a running call as the notification a client gets, if it asked for it.
pub(crate) fn notification(
    event: Event,
    era: ClientEra,
    progress_token: Option<&Raw>,
) -> Option<bytes::Bytes> {
    match event {
        Event::Progress(params) => {
            let params = Edit::of(&params).set("progressToken", progress_token?.clone()).done();
            Some(envelope::notification("notifications/progress", Some(&params)))
        }
        Event::Log(params) => Some(envelope::notification("notifications/message", Some(&params))),
        Event::Elicited(params) if era == ClientEra::Legacy(Version::V2025_11_25) => {
            Some(envelope::notification("notifications/elicitation/complete", Some(&params)))
        }
        Event::Elicited(_) | Event::Ask(_) => None,
    }
}

/// The failure of a task that broke, which must not take the connection with it.
pub fn broken(problem: impl std::fmt::Display) -> Failure {
    Failure::new(200, INTERNAL_ERROR, format!("something broke inside the hub: {problem}"))
}
