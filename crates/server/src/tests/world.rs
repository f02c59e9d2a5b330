//! A team's hub in memory with two members and an admin, each in a browser of their own. One of the members owns
//! something of every kind.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolgrove_core::bud::BudPreset;
use toolgrove_core::call::{Caller, Role, View};
use toolgrove_core::hub::{Hub, Log};
use toolgrove_core::instance::{HttpReach, Transport};
use toolgrove_core::net::Guard;
use toolgrove_core::tabs::{BrowserKind, Registration, TabKey, TabQuestion};
use toolgrove_core::{CallEnd, CallRecord, Config, Secret};
use toolgrove_store::{
    Arrived, AuthConfigRow, BudRow, BundleRow, ChatRow, ClientRow, ConnectionRow, Entry, Given, InstanceRow,
    MessageRow, PendingRow, PlanRow, SecretBox, ServerRow, SessionRow, Store, TokenRow, counted,
};
use toolgrove_upstream::{Pool, PoolOptions, ShepherdCommand};
use toolgrove_wire::legacy::Version;
use toolgrove_wire::modern::Implementation;
use toolgrove_wire::{Abilities, Raw, Seal};
use tower::ServiceExt;
use uuid::Uuid;

use crate::connect::{Keyring, Replicas};
use crate::{App, Gate, Memory};

/// Stands in everything the owner has, so that it can be looked for.
pub(super) const MARK: &str = "zebra";

/// The workspace that the owner shares with nobody here.
pub(super) const HERD: &str = "zebra herd";

pub(super) struct World {
    pub(super) app: Arc<App>,
    doors: Router,
    /// Ids of what the owner has.
    pub(super) instance: Uuid,
    pub(super) server: Uuid,
    pub(super) workspace: Uuid,
    pub(super) owner: Uuid,
    pub(super) token: Uuid,
    pub(super) auth_config: Uuid,
    /// A client that was let in, and the digest of a code it has not traded yet.
    pub(super) connection: Uuid,
    pub(super) code: String,
    pub(super) browser: Uuid,
    pub(super) bud: Uuid,
    pub(super) chat: Uuid,
    pub(super) plan: Uuid,
    pub(super) file: Uuid,
    /// Of a page, to the owner.
    pub(super) question: Uuid,
    pub(super) result: Uuid,
    pub(super) call: Uuid,
    pub(super) session: String,
    pub(super) session_of_one: String,
    pub(super) task: String,
    /// Of a sign-in that was begun.
    pub(super) state: String,
}

/// Somebody who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Owner,
    Member,
    Admin,
    /// A token of the owner's that was granted nothing.
    Token,
}

impl Who {
    fn shows(self) -> (header::HeaderName, String) {
        match self {
            Self::Token => (header::AUTHORIZATION, "Bearer tgt_nothing".into()),
            who => (header::COOKIE, format!("toolgrove={}", who.secret())),
        }
    }

    fn secret(self) -> String {
        format!("secret of {self:?}")
    }
}

/// An answer, and how many statements it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: String,
    pub(super) queries: usize,
}

fn now() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64
}

async fn app() -> Arc<App> {
    let store = Store::open("sqlite::memory:", SecretBox::in_memory()).await.unwrap();
    let config =
        Config::parse("mode = \"team\"\n[sources]\nregistry = \"http://127.0.0.1:9\"", |_| None).unwrap();
    let pool = Pool::new(PoolOptions {
        shepherd: ShepherdCommand { program: "none".into(), args: Vec::new() },
        client: Implementation { name: "toolgrove".into(), version: "0".into() },
        body_limit: 1024 * 1024,
        idle: Duration::from_secs(300),
        reports: mpsc::unbounded_channel().0,
        tokens: None,
        now,
        guard: Guard::Open,
    });
    let live = Arc::new(crate::live::Live::default());
    Arc::new(App {
        hub: Arc::new(Hub::new(pool, Memory::start(&store, live.clone()), now, config.capabilities)),
        live,
        shelf: crate::api::registry::Shelf::default(),
        icons: crate::api::icons::Icons::default(),
        bundles: crate::bundles::Bundles::new(std::path::Path::new("/nonexistent"), None),
        gate: Gate::new(Secret::new("key"), None, 1, &config),
        keyring: Keyring::new(store.clone(), now, Replicas::Alone),
        sessions: crate::mcp::session::Sessions::default(),
        streams: crate::mcp::sse::Streams::default(),
        tabs: crate::tabs::Door::new(&config, mpsc::unbounded_channel().0, now),
        models: crate::talk::Models::default(),
        turns: crate::chat::Turns::default(),
        lot: crate::mcp::park::Lot::new(Seal::new([("k".to_owned(), [7; 32])])),
        zips: std::sync::Arc::default(),
        server_info: Raw::empty_object(),
        metrics: PrometheusBuilder::new().build_recorder().handle(),
        env: |_| None,
        started: AtomicBool::new(false),
        store,
        config,
    })
}

impl World {
    pub(super) async fn new() -> Self {
        let app = app().await;
        let store = &app.store;
        let home = store.first_workspace().await.unwrap();
        let workspace = store.add_workspace(HERD, "beta").await.unwrap();
        let hash = |it: &str| crate::auth::stored(&crate::auth::hash(it));
        let mut browser = Uuid::nil();
        let mut owner = Uuid::nil();
        for (who, role, workspaces) in [
            (Who::Member, Role::Member, vec![home]),
            (Who::Admin, Role::Admin, vec![home]),
            (Who::Owner, Role::Member, vec![home, workspace]),
        ] {
            let email = if who == Who::Owner { format!("{MARK}@x") } else { format!("{who:?}@x") };
            owner = store.add_person(Some(&email), &email, role, &workspaces).await.unwrap();
            let row = SessionRow {
                id: Uuid::now_v7(),
                person_id: owner,
                agent: email,
                last_seen_at: now(),
                expires_at: now() + 60_000,
                created_at: now(),
            };
            browser = row.id;
            store.add_session(&row, &hash(&who.secret())).await.unwrap();
        }
        let token = TokenRow::new(owner, MARK, "double", Some(HashSet::new()));
        store.add_token(&token, &hash("tgt_nothing")).await.unwrap();
        let (server, instance) = own(&app, owner, home).await;
        let config = AuthConfigRow::new(server, "header", MARK, json!([{ "in": "header", "key": MARK }]));
        store.add_auth_config(&config).await.unwrap();
        let (auth_config, (connection, code)) = (config.id, let_in(store, owner).await);
        let question = browse(&app, owner).await;
        let caller = Arc::new(Caller::person(owner, Role::Member, app.config.names));
        let open = |view| app.sessions.open(&caller, view, Version::LATEST, Abilities::NONE, None).id.clone();
        let (session, session_of_one) = (open(View::All), open(View::One { slug: MARK.into() }));
        let task = json!({ "caller": owner, "instance": instance, "id": "1" });
        let (bud, chat, plan) = think(&app, owner, workspace).await;
        let result = app.store.add_result(owner, Uuid::now_v7(), MARK).await.unwrap();
        let file = app.store.add_file(workspace, owner, MARK, "text/plain", MARK).await.unwrap().id;
        let world = Self {
            file,
            bud,
            chat,
            plan,
            result,
            doors: crate::app(app.clone()),
            instance,
            server,
            workspace,
            owner,
            token: token.id,
            auth_config,
            connection,
            code,
            browser,
            question,
            call: record(&app, owner, instance).await,
            session: session.to_string(),
            session_of_one: session_of_one.to_string(),
            task: app.lot.seal().close("tasks", &task).unwrap(),
            state: begin(&app, owner, instance).await,
            app,
        };
        // From here on everybody is known, and nobody's first request counts more than another.
        for who in [Who::Owner, Who::Member, Who::Admin, Who::Token] {
            let known = world.ask(who, Method::GET, "/api/status", &[], String::new()).await;
            assert_eq!(known.status, 200, "{who:?}: {}", known.body);
        }
        world
    }

    /// What comes on a stream until it falls silent.
    pub(super) async fn rest(stream: &mut Body) -> String {
        let mut heard = String::new();
        while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_millis(500), stream.frame()).await {
            heard.push_str(&String::from_utf8_lossy(&frame.unwrap().into_data().unwrap()));
        }
        heard
    }

    /// Opens a stream: its first piece, and the rest, which goes on for as long as it is held.
    pub(super) async fn hear(&self, who: Who, path: &str) -> (String, Body) {
        let response = self.doors.clone().oneshot(request(who, Method::GET, path, &[], String::new())).await;
        let mut body = response.unwrap().into_body();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        (String::from_utf8_lossy(&first).into_owned(), body)
    }

    pub(super) async fn ask(
        &self,
        who: Who,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Answer {
        let request = request(who, method, path, headers, body);
        let doors = self.doors.clone();
        let (response, queries) = counted(async { doors.oneshot(request).await.unwrap() }).await;
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        Answer { status, body: String::from_utf8_lossy(&body).into_owned(), queries }
    }
}

fn request(who: Who, method: Method, path: &str, headers: &[(&str, &str)], body: String) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    let (name, value) = who.shows();
    request = request.header(name, value);
    for (name, value) in [("host", "127.0.0.1:1"), ("origin", "http://127.0.0.1:1")].iter().chain(headers) {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body)).unwrap()
}

/// A bud in the herd, and a chat and a plan of the owner's.
async fn think(app: &Arc<App>, owner: Uuid, workspace: Uuid) -> (Uuid, Uuid, Uuid) {
    let preset = BudPreset { system_prompt: MARK.into(), ..BudPreset::default() };
    let bud = BudRow::new(workspace, Some(owner), &format!("{MARK} bud"), preset);
    app.store.add_bud(&bud).await.unwrap();
    let mut chat = ChatRow::new(workspace, owner);
    chat.title = MARK.into();
    app.store.add_chat(&chat).await.unwrap();
    app.store.put_message(&MessageRow::new(chat.id, "user", json!({ "text": MARK }))).await.unwrap();
    let plan = PlanRow::new(workspace, owner, MARK, json!({ "nodes": [], "edges": [] }));
    app.store.add_plan(&plan).await.unwrap();
    (bud.id, chat.id, plan.id)
}

/// A browser of the owner's with a tab, whose tool is remembered and whose page asks something.
async fn browse(app: &Arc<App>, owner: Uuid) -> Uuid {
    let profile = format!("{MARK}-profile");
    app.store.put_pairing(&profile, owner, &Secret::new(MARK), MARK).await.unwrap();
    app.give_builtins().await.unwrap();
    let tool =
        json!({ "name": "getCart", "inputSchema": { "type": "object" }, "annotations": { "cache": true } });
    let registration = Registration {
        url: Some(format!("https://{MARK}.com")),
        tools: vec![Raw::of(&tool)],
        ..Registration::default()
    };
    app.tabs.hub.with(owner, |table| {
        table.connect(&profile.as_str().into(), BrowserKind::Extension, MARK, now());
        table.register(&TabKey { browser: profile.into(), tab: 1 }, registration, now());
    });
    let question = TabQuestion {
        id: Uuid::now_v7(),
        domain: format!("{MARK}.com"),
        tool: "getCart".into(),
        message: MARK.into(),
        schema: Raw::empty_object(),
        asked_at: now(),
    };
    let id = question.id;
    app.tabs.hub.put(owner, Uuid::now_v7(), question, tokio::sync::oneshot::channel().0);
    id
}

/// A private server of the owner with an instance and a tool.
async fn own(app: &Arc<App>, owner: Uuid, home: Uuid) -> (Uuid, Uuid) {
    let url = format!("http://{MARK}.example/mcp");
    let mut server = ServerRow::new(MARK, "streamable_http", &url, "paste");
    server.config = json!({ "type": "http", "url": url });
    server.workspace_id = Some(home);
    server.owner_id = Some(owner);
    let mut instance = InstanceRow::new(owner, server.id, MARK);
    instance.status = "ready".into();
    let ids = (server.id, instance.id);
    let secret = Secret::new(format!("{MARK}-credential"));
    let credentials = vec![("Authorization".to_owned(), secret)];
    app.store.add_with_instance(&Entry { server, auth_config: None, instance, credentials }).await.unwrap();
    let bundle = BundleRow {
        person_id: owner,
        id: MARK.into(),
        version: "1.0.0".into(),
        scope: "user".into(),
        target: None,
        source: MARK.into(),
        manifest: json!({ "name": MARK }),
        sha256: None,
        settings: None,
        installed_at: 1,
    };
    app.store.put_bundle(&bundle, &Arrived::default()).await.unwrap();
    let offer = app.reload(owner, ids.1).await.unwrap();
    assert!(matches!(&offer.instance.transport, Transport::Http(HttpReach { .. })));
    let tool = Raw::of(&json!({ "name": MARK, "inputSchema": { "type": "object" } }));
    app.hub.put(offer.with_tools(&[tool], |_| false, now()));
    app.hub.log().flush().await;
    ids
}

/// A sign-in of the owner that was begun.
async fn begin(app: &App, person: Uuid, instance: Uuid) -> String {
    let pending = PendingRow {
        state: Uuid::new_v4().to_string(),
        instance_id: instance,
        person_id: person,
        verifier: Secret::new("verifier"),
        redirect_uri: "http://127.0.0.1:1/ui/auth/mcp/callback".into(),
        issuer: format!("https://{MARK}.example"),
        names_itself: false,
        token_endpoint: format!("https://{MARK}.example/token"),
        client_id: MARK.into(),
        resource: format!("https://{MARK}.example/mcp"),
        scope: None,
        url: format!("https://{MARK}.example/authorize"),
        created_at: now(),
    };
    app.store.add_pending(&pending).await.unwrap();
    pending.state
}

/// Two clients that may ask, one of which the owner let in.
async fn let_in(store: &Store, person: Uuid) -> (Uuid, String) {
    let back = format!("https://{MARK}.example/back");
    for id in [MARK, "other"] {
        store.put_client(&ClientRow::new(id, "registered", id, vec![back.clone()])).await.unwrap();
    }
    let connection = ConnectionRow {
        id: Uuid::now_v7(),
        person_id: person,
        client_id: MARK.into(),
        redirect_uri: back,
        resource: format!("/mcp/i/{MARK}"),
        scope: "mcp".into(),
        all_instances: true,
        expires_at: now() + 60_000,
        last_used_at: None,
        created_at: now(),
    };
    let hash = crate::auth::stored(&crate::auth::hash("code of the owner"));
    let code = Given { hash: hash.clone(), expires_at: now() + 60_000 };
    store.add_connection(&connection, &HashSet::new(), &code, "challenge").await.unwrap();
    store.touch_connection(&connection).await.unwrap();
    (connection.id, hash)
}

async fn record(app: &App, person: Uuid, instance: Uuid) -> Uuid {
    let id = Uuid::now_v7();
    app.hub.log().record(CallRecord {
        id,
        parent_id: None,
        person_id: person,
        token_id: None,
        chat_id: None,
        door: "mcp".into(),
        method: "tools/call".into(),
        instance_id: Some(instance),
        tool: MARK.into(),
        depth: 0,
        started_at: now(),
        ms: 1.0,
        outcome: CallEnd::Done,
        error_code: None,
        bytes: 1,
        client: None,
        timeline: toolgrove_core::Timeline::default(),
    });
    app.hub.log().flush().await;
    id
}

/// The headers and the body of a modern request.
pub(super) fn modern(method: &str, mut params: Value) -> (Vec<(&'static str, String)>, String) {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } },
    });
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("mcp-protocol-version", "2026-07-28".to_owned()),
        ("mcp-method", method.to_owned()),
    ];
    if let Some(name) = ["name", "uri", "taskId"].into_iter().find_map(|it| params[it].as_str()) {
        headers.push(("mcp-name", name.to_owned()));
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    (headers, body.to_string())
}
