//! What one person owns, another cannot see, call, change, count or infer: a row for every route.
//!
//! A foreign id and one that was never given must have the same answer, but for the id itself, from the same number
//! of queries. The table is held against the routes in `lib.rs`: a new route needs a row.

use http::Method;
use serde_json::{Value, json};
use toolgrove_core::call::{Caller, Role};
use toolgrove_core::name::Profile;
use uuid::Uuid;

use super::world::{Answer, HERD, MARK, Who, World, modern};

/// What is to be shown of a route.
enum Shows {
    /// It needs nobody to be known, or has the same for everybody.
    Everybody,
    /// It is about the caller alone: nothing of anybody else's is in the answer.
    Own,
    /// It names something by `{id}`: theirs are these, as against ones that were never given.
    Theirs(fn(&World) -> Vec<String>),
    /// The same, and admins may.
    TheirsToAdmins(fn(&World) -> Vec<String>),
    /// The same, and a token of the owner hears that it lacks the grant.
    TheirsToOwnTokens(fn(&World) -> Vec<String>),
    /// Only admins may, whatever is named.
    Admins,
    /// A token cannot; for people it is about themselves alone.
    People,
    /// An MCP door, shown in [`doors`].
    Door,
}

use Shows::{Admins, Door, Everybody, Own, People, Theirs, TheirsToAdmins, TheirsToOwnTokens};

struct Row(&'static str, &'static str, &'static str, Shows);

const INSTANCE: fn(&World) -> Vec<String> = |it| vec![it.instance.to_string(), MARK.into()];
const SERVER: fn(&World) -> Vec<String> = |it| vec![it.server.to_string(), MARK.into()];
const WORKSPACE: fn(&World) -> Vec<String> = |it| vec![it.workspace.to_string()];
const OFFERED: fn(&World) -> Vec<String> = |it| vec![it.server.to_string(), it.instance.to_string()];
const CONNECTION: fn(&World) -> Vec<String> = |it| vec![it.connection.to_string()];
const BUNDLE: fn(&World) -> Vec<String> = |_| vec![MARK.into()];
const CALL: fn(&World) -> Vec<String> = |it| vec![it.call.to_string()];
const TOKEN: fn(&World) -> Vec<String> = |it| vec![it.token.to_string()];
const PAIRED: fn(&World) -> Vec<String> = |_| vec![format!("{MARK}-profile")];
const TAB_TOOL: fn(&World) -> Vec<String> = |_| vec![format!("website_tool_{MARK}_com_tab1_getCart")];
const REMEMBERED: fn(&World) -> Vec<String> = |_| vec![format!("website_tool_{MARK}_com_getCart")];
const BUD: fn(&World) -> Vec<String> = |it| vec![it.bud.to_string()];
const CHAT: fn(&World) -> Vec<String> = |it| vec![it.chat.to_string()];
const PLAN: fn(&World) -> Vec<String> = |it| vec![it.plan.to_string()];
const QUESTION: fn(&World) -> Vec<String> = |it| vec![it.question.to_string()];
const RESULT: fn(&World) -> Vec<String> = |it| vec![it.result.to_string()];
const BROWSER: fn(&World) -> Vec<String> = |it| vec![it.browser.to_string()];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row("any", "/mcp", "", Door),
    Row("any", "/mcp/i/{slug}", "", Door),
    Row("get", "/sse", "", Door),
    Row("post", "/sse/message", "", Door),
    Row("get", "/metrics", "", Admins),
    Row("get", "/api/status", "", Own),
    Row("get", "/api/workspaces", "", Own),
    Row("post", "/api/workspaces", r#"{"name":"x"}"#, Admins),
    Row("get", "/api/workspaces/{id}", "", TheirsToAdmins(WORKSPACE)),
    Row("patch", "/api/workspaces/{id}", r#"{"name":"x"}"#, TheirsToAdmins(WORKSPACE)),
    Row("delete", "/api/workspaces/{id}", "", Admins),
    Row("get", "/api/workspaces/{id}/members", "", TheirsToAdmins(WORKSPACE)),
    Row("post", "/api/workspaces/{id}/members", r#"{"email":"zebra@x"}"#, TheirsToAdmins(WORKSPACE)),
    Row("get", "/api/workspaces/{id}/files", "", Theirs(WORKSPACE)),
    Row("post", "/api/workspaces/{id}/files", r#"{"name":"x","text":"y"}"#, Theirs(WORKSPACE)),
    Row("get", "/api/workspaces/{id}/files/{file}", "", Theirs(WORKSPACE)),
    Row("delete", "/api/workspaces/{id}/files/{file}", "", Theirs(WORKSPACE)),
    Row("delete", "/api/workspaces/{id}/members/{person}", "", TheirsToAdmins(WORKSPACE)),
    Row("get", "/api/people", "", Admins),
    Row("post", "/api/people", r#"{"email":"a@b"}"#, Admins),
    Row("get", "/api/people/{id}", "", Admins),
    Row("patch", "/api/people/{id}", r#"{"name":"x"}"#, Admins),
    Row("delete", "/api/people/{id}", "", Admins),
    Row("post", "/api/people/{id}/invite", "", Admins),
    Row("get", "/api/people/{id}/catalog", "", Admins),
    Row("get", "/api/people/{id}/tokens", "", Admins),
    Row("get", "/api/roles/{role}/catalog", "", Admins),
    Row("get", "/api/admin/log", "", Admins),
    Row("get", "/api/tokens", "", People),
    Row("post", "/api/tokens", r#"{"name":"x","grants":["zebra"]}"#, People),
    Row("delete", "/api/tokens/{id}", "", Theirs(TOKEN)),
    Row("get", "/api/oauth/clients", "", People),
    Row("delete", "/api/oauth/clients/{id}", "", Theirs(CONNECTION)),
    Row("get", "/api/oauth/known", "", Admins),
    Row("delete", "/api/oauth/known", "", Admins),
    Row("get", "/api/sessions", "", People),
    Row("delete", "/api/sessions/{id}", "", Theirs(BROWSER)),
    Row("post", "/api/password", r#"{"current":"x","new":"y"}"#, People),
    Row("get", "/tabs", "", Door),
    Row("get", "/api/tabs", "", Own),
    Row("get", "/api/tabs/log", "", Own),
    Row("get", "/api/tabs/questions", "", Own),
    Row("post", "/api/tabs/questions/{id}", r#"{"action":"accept"}"#, Theirs(QUESTION)),
    Row("post", "/api/tabs/pair", "", People),
    Row("delete", "/api/tabs/browsers/{id}", "", Theirs(PAIRED)),
    Row("post", "/api/tabs/tools/{id}", "", Theirs(TAB_TOOL)),
    Row("delete", "/api/tabs/tools/{id}", "", Theirs(REMEMBERED)),
    Row("get", "/api/calls", "", Own),
    Row("get", "/api/calls/stats", "", Own),
    Row("get", "/api/calls/{id}", "", Theirs(CALL)),
    Row("get", "/api/events", "", Door),
    Row("get", "/api/mcp/registry", "", Own),
    Row("get", "/api/mcp/meta/{id}", "", Theirs(OFFERED)),
    Row("get", "/api/mcp/icon/{id}", "", Theirs(OFFERED)),
    Row("post", "/api/mcp/import", r#"{"text":"{}"}"#, Own),
    Row("get", "/api/mcp/export", "", Own),
    Row("get", "/api/mcp/tools", "", Own),
    Row("get", "/api/mcp/prompt", "", Own),
    Row("post", "/api/mcp/xml", r#"{"text":"hello","run":true}"#, Own),
    Row("post", "/api/mcp/call", "", Door),
    Row("get", "/api/mcp/servers", "", Own),
    Row("post", "/api/mcp/servers", "", Door),
    Row("get", "/api/mcp/servers/{id}", "", Theirs(SERVER)),
    Row("patch", "/api/mcp/servers/{id}", r#"{"enabled":false}"#, Theirs(SERVER)),
    Row("delete", "/api/mcp/servers/{id}", "", Theirs(SERVER)),
    Row("post", "/api/mcp/servers/{id}/test", "", Theirs(SERVER)),
    Row("get", "/api/mcp/servers/{id}/preview", "", Theirs(SERVER)),
    Row("post", "/api/mcp/servers/{id}/preview", r#"{"enabled":false}"#, Theirs(SERVER)),
    Row("get", "/api/mcp/servers/{id}/auth-configs", "", Theirs(SERVER)),
    Row("post", "/api/mcp/servers/{id}/auth-configs", r#"{"type":"public"}"#, Theirs(SERVER)),
    Row("delete", "/api/mcp/servers/{id}/auth-configs", "", Theirs(SERVER)),
    Row("delete", "/api/mcp/servers/{id}/auth-configs/{config}", "", Theirs(SERVER)),
    Row("post", "/api/key/rotate", "", Admins),
    Row("get", "/api/mcp/instances", "", Own),
    Row("post", "/api/mcp/instances", "", Door),
    Row("get", "/api/mcp/instances/{id}", "", Theirs(INSTANCE)),
    Row("patch", "/api/mcp/instances/{id}", r#"{"enabled":false}"#, Theirs(INSTANCE)),
    Row("delete", "/api/mcp/instances/{id}", "", Theirs(INSTANCE)),
    Row("post", "/api/mcp/instances/{id}/refresh", "", Theirs(INSTANCE)),
    Row("get", "/api/mcp/instances/{id}/connect", "", Theirs(INSTANCE)),
    Row("post", "/api/mcp/instances/{id}/connect", "", TheirsToOwnTokens(INSTANCE)),
    Row("post", "/api/mcp/instances/{id}/doctor", "", Theirs(INSTANCE)),
    Row("get", "/api/mcp/instances/{id}/log", "", Theirs(INSTANCE)),
    Row("patch", "/api/mcp/instances/{id}/tools/{tool}", r#"{"enabled":false}"#, Theirs(INSTANCE)),
    Row("get", "/api/bundles", "", Own),
    Row("post", "/api/bundles", r#"{"source":"/nowhere"}"#, Own),
    Row("post", "/api/bundles/preview", r#"{"source":"/nowhere"}"#, Own),
    Row("get", "/api/bundles/search", "", Everybody),
    Row("get", "/api/bundles/{id}", "", Theirs(BUNDLE)),
    Row("delete", "/api/bundles/{id}", "", Theirs(BUNDLE)),
    Row("post", "/api/bundles/{id}/update", "{}", Theirs(BUNDLE)),
    Row("get", "/api/pins", "", Own),
    Row("post", "/api/pins/{id}/{tool}", r#"{"decision":"approve"}"#, Theirs(INSTANCE)),
    Row("get", "/api/models", "", Everybody),
    Row("get", "/api/buds", "", Own),
    Row("post", "/api/buds", r#"{"name":"x"}"#, Own),
    Row("get", "/api/buds/{id}", "", Theirs(BUD)),
    Row("patch", "/api/buds/{id}", r#"{"name":"x"}"#, Theirs(BUD)),
    Row("delete", "/api/buds/{id}", "", Theirs(BUD)),
    Row("get", "/api/chats", "", Own),
    Row("post", "/api/chats", "{}", Own),
    Row("get", "/api/chats/{id}", "", Theirs(CHAT)),
    Row("patch", "/api/chats/{id}", r#"{"title":"x"}"#, Theirs(CHAT)),
    Row("delete", "/api/chats/{id}", "", Theirs(CHAT)),
    Row("post", "/api/chats/{id}/messages", r#"{"text":"x"}"#, Theirs(CHAT)),
    Row("get", "/api/chats/{id}/stream", "", Theirs(CHAT)),
    Row("post", "/api/chats/{id}/stop", "", Theirs(CHAT)),
    Row("get", "/api/chats/{id}/tools", "", Theirs(CHAT)),
    Row("post", "/api/chats/{id}/asks/{ask}", r#"{"action":"accept"}"#, Theirs(CHAT)),
    Row("post", "/api/plans/{id}/run", "", Theirs(PLAN)),
    Row("post", "/bud-run", "", Door),
    Row("post", "/api/mcp/invoke", "", Door),
    Row("post", "/api/mcp/convert", r#"{"functions":[{"name":"x"}]}"#, Own),
    Row("get", "/api/mcp/results/{id}", "", Theirs(RESULT)),
    Row("get", "/api/plans", "", Own),
    Row("post", "/api/plans", r#"{"name":"x"}"#, Own),
    Row("get", "/api/plans/{id}", "", Theirs(PLAN)),
    Row("patch", "/api/plans/{id}", r#"{"name":"x"}"#, Theirs(PLAN)),
    Row("delete", "/api/plans/{id}", "", Theirs(PLAN)),
    Row("get", "/", "", Everybody),
    Row("get", "/ui", "", Everybody),
    Row("get", "/ui/", "", Own),
    Row("get", "/ui/logout", "", Own),
    Row("post", "/ui/logout", "", Everybody),
    Row("post", "/ui/auth/mcp/start", "", Door),
    Row("get", "/ui/auth/mcp/go", "", Door),
    Row("get", "/ui/auth/mcp/callback", "", Door),
    Row("get", "/ui/{*path}", "", Everybody),
    Row("get", "/.well-known/oauth-protected-resource", "", Everybody),
    Row("get", "/.well-known/oauth-protected-resource/{*path}", "", Door),
    Row("get", "/.well-known/oauth-authorization-server", "", Everybody),
    Row("get", "/oauth/authorize", "", Door),
    Row("post", "/oauth/authorize", "", Door),
    Row("post", "/oauth/token", "", Door),
    Row("post", "/oauth/register", "", Everybody),
    Row("post", "/oauth/revoke", "", Door),
    Row("get", "/authorize", "", Door),
    Row("post", "/token", "", Door),
    Row("post", "/register", "", Everybody),
    Row("get", "/healthz", "", Everybody),
    Row("get", "/oauth/client.json", "", Everybody),
    Row("get", "/ui/login", "", Everybody),
    Row("post", "/ui/login", "", Everybody),
    Row("get", "/ui/login/provider", "", Everybody),
    Row("get", "/ui/login/return", "", Everybody),
    Row("get", "/ui/join", "", Everybody),
    Row("post", "/ui/join", "", Everybody),
];

/// The routes as they stand in the source: method and path.
fn routes() -> Vec<(String, String)> {
    let source = include_str!("../lib.rs");
    let mut routes = Vec::new();
    for piece in source.split(".route(").skip(1) {
        let path = piece.split('"').nth(1).unwrap();
        let rest = piece.split_once("\",").unwrap().1;
        let end = rest.find("\n        .").unwrap_or(rest.len());
        let is_start =
            |at: usize| !rest[..at].ends_with(|it: char| it.is_alphanumeric() || matches!(it, '_' | ':'));
        for method in ["any", "get", "post", "patch", "put", "delete"] {
            let call = format!("{method}(");
            if rest[..end].match_indices(&call).any(|(at, _)| is_start(at)) {
                routes.push((method.to_owned(), path.to_owned()));
            }
        }
    }
    routes.sort();
    routes
}

#[test]
fn every_route_has_a_row() {
    let mut rows: Vec<_> = ROWS.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
    rows.sort();
    assert_eq!(rows, routes(), "left: rows of this table, right: routes of lib.rs");
}

/// An answer without the word that was asked for.
fn without(mut answer: Answer, word: &str) -> Answer {
    answer.body = answer.body.replace(word, "·");
    answer
}

fn method(word: &str) -> Method {
    word.to_uppercase().parse().unwrap()
}

/// The path with its first parameter filled in; the others name what the owner has.
fn filled(world: &World, path: &str, word: &str) -> String {
    path.replacen("{id}", word, 1)
        .replace("{person}", &world.owner.to_string())
        .replace("{tool}", MARK)
        .replace("{file}", &world.file.to_string())
        .replace("{ask}", &Uuid::nil().to_string())
        .replace("{config}", &world.auth_config.to_string())
}

/// Something that looks like an id of theirs and is none.
fn never_given(theirs: &str) -> String {
    if Uuid::parse_str(theirs).is_ok() { Uuid::now_v7().to_string() } else { "nobody".into() }
}

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

#[tokio::test]
async fn a_foreign_id_is_answered_as_one_that_was_never_given() {
    let world = World::new().await;
    for Row(word, path, body, shows) in ROWS {
        let (theirs, strangers): (_, &[Who]) = match shows {
            Theirs(theirs) => (theirs(&world), &[Who::Member, Who::Admin, Who::Token]),
            TheirsToAdmins(theirs) => (theirs(&world), &[Who::Member]),
            TheirsToOwnTokens(theirs) => (theirs(&world), &[Who::Member, Who::Admin]),
            _ => continue,
        };
        for (their, who) in theirs.iter().flat_map(|it| strangers.iter().map(move |who| (it, *who))) {
            let ask = async |word_in_path: &str| {
                let path = filled(&world, path, word_in_path);
                without(world.ask(who, method(word), &path, JSON, (*body).to_owned()).await, word_in_path)
            };
            let (foreign, unknown) = (ask(their).await, ask(&never_given(their)).await);
            let case = format!("{who:?} {word} {path} {their}");
            assert_eq!(foreign, unknown, "{case}");
            let refused = [404, if who == Who::Token { 403 } else { 404 }];
            assert!(refused.contains(&foreign.status.as_u16()), "{case}: {foreign:?}");
        }
    }
    // The owner still has it all.
    for path in [format!("/api/mcp/instances/{}", world.instance), format!("/api/calls/{}", world.call)] {
        let own = world.ask(Who::Owner, Method::GET, &path, &[], String::new()).await;
        assert_eq!((own.status.as_u16(), own.body.contains(MARK)), (200, true), "{path}: {}", own.body);
    }
}

#[tokio::test]
async fn nothing_of_anothers_is_in_what_a_caller_gets() {
    let world = World::new().await;
    for Row(word, path, body, shows) in ROWS {
        let strangers: &[Who] = match shows {
            Own => &[Who::Member, Who::Admin, Who::Token],
            People => &[Who::Member, Who::Admin],
            _ => continue,
        };
        for who in strangers {
            let answer = world.ask(*who, method(word), path, JSON, (*body).to_owned()).await;
            // What a token is for says its own person.
            let text = answer.body.replace(&format!("{MARK}@x"), "");
            // Admins keep workspaces, and a token is a member where its person is: grants are about instances.
            let text = if *who == Who::Member { text } else { text.replace(HERD, "") };
            let echoed = if body.contains(MARK) { format!("`{MARK}`") } else { String::new() };
            let text = if echoed.is_empty() { text } else { text.replace(&echoed, "") };
            assert!(!text.contains(MARK), "{who:?} {word} {path}: {}", answer.body);
        }
    }
    let own = world.ask(Who::Owner, Method::GET, "/api/mcp/tools", &[], String::new()).await;
    assert!(own.body.contains(MARK), "the mark is what would be found");
}

#[tokio::test]
async fn what_admins_keep_is_refused_to_others_before_anything_is_looked_for() {
    let world = World::new().await;
    for Row(word, path, body, shows) in ROWS {
        if !matches!(shows, Admins) {
            continue;
        }
        for who in [Who::Member, Who::Token] {
            for named in [world.owner.to_string(), Uuid::now_v7().to_string(), world.workspace.to_string()] {
                let path = path.replace("{id}", &named);
                let answer = world.ask(who, method(word), &path, JSON, (*body).to_owned()).await;
                let problem: Value = serde_json::from_str(&answer.body).unwrap();
                assert_eq!(
                    (answer.status.as_u16(), &problem["code"], answer.queries),
                    (403, &json!("auth.role"), 0),
                    "{who:?} {word} {path}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_token_cannot_see_or_change_ways_in() {
    let world = World::new().await;
    for Row(word, path, body, shows) in ROWS {
        if !matches!(shows, People) {
            continue;
        }
        let answer = world.ask(Who::Token, method(word), path, JSON, (*body).to_owned()).await;
        assert_eq!((answer.status.as_u16(), answer.queries), (403, 0), "{word} {path}: {}", answer.body);
    }
}

/// One request to a door.
struct Knock {
    method: Method,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Knock {
    fn modern(path: &str, method: &str, params: Value) -> Self {
        let (headers, body) = modern(method, params);
        Self { method: Method::POST, path: path.into(), headers, body }
    }

    fn session(method: Method, path: &str, session: &str) -> Self {
        let headers = vec![("mcp-session-id", session.into()), ("content-type", "application/json".into())];
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        Self { method, path: path.into(), headers, body: body.to_string() }
    }

    fn post(path: &str, body: Value) -> Self {
        let headers = vec![("content-type", "application/json".into())];
        Self { method: Method::POST, path: path.into(), headers, body: body.to_string() }
    }
}

#[tokio::test]
async fn nobody_counts_the_calls_of_another() {
    let world = World::new().await;
    let calls = async |who: Who| {
        let stats = world.ask(who, Method::GET, "/api/calls/stats?slots=1", &[], String::new()).await;
        let stats: Value = serde_json::from_str(&stats.body).unwrap();
        (stats["slots"][0]["calls"].clone(), stats["servers"].as_array().unwrap().len())
    };
    assert_eq!(calls(Who::Owner).await, (json!(1), 1));
    for who in [Who::Member, Who::Admin, Who::Token] {
        assert_eq!(calls(who).await, (json!(0), 0), "{who:?}");
    }
}

#[tokio::test]
async fn what_the_owner_does_is_heard_by_the_owner_alone() {
    let world = World::new().await;
    crate::live::start(&world.app);
    let mut ears = Vec::new();
    for who in [Who::Owner, Who::Member, Who::Admin, Who::Token] {
        ears.push((who, world.hear(who, "/api/events").await.1));
    }
    let path = format!("/api/mcp/instances/{}", world.instance);
    let change = r#"{"name":"zebra two"}"#.to_owned();
    let changed = world.ask(Who::Owner, Method::PATCH, &path, JSON, change).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    for (who, mut stream) in ears {
        let heard = World::rest(&mut stream).await;
        let is_owner = who == Who::Owner;
        assert_eq!(
            (heard.contains("zebra two"), heard.contains(MARK)),
            (is_owner, is_owner),
            "{who:?}: {heard}"
        );
    }
}

/// Doors that answer before they know what somebody has: about another's slug they say what they say of any word.
#[tokio::test]
async fn the_authorization_server_does_not_say_whose_a_slug_is() {
    let world = World::new().await;
    let base = "http://127.0.0.1:1";
    let asked = |slug: &str| {
        format!(
            "response_type=code&client_id={MARK}&redirect_uri=https://{MARK}.example/back&state=s\
             &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256\
             &resource={base}/mcp/i/{slug}"
        )
    };
    let pair = |ask: &dyn Fn(&str) -> (Method, String, String)| [ask(MARK), ask("nobody")];
    let get = |path: String| (Method::GET, path, String::new());
    let all = [
        pair(&|slug| get(format!("/.well-known/oauth-protected-resource/mcp/i/{slug}"))),
        pair(&|slug| get(format!("/oauth/authorize?{}", asked(slug)))),
        pair(&|slug| get(format!("/authorize?{}", asked(slug)))),
        pair(&|slug| (Method::POST, "/oauth/authorize".into(), format!("request={slug}&token=x&allow=1"))),
    ];
    let form = &[("content-type", "application/x-www-form-urlencoded")];
    for who in [Who::Member, Who::Admin] {
        for pair in &all {
            let mut answers = Vec::new();
            for (method, path, body) in pair {
                let answer = world.ask(who, method.clone(), path, form, body.clone()).await;
                answers.push([MARK, "nobody"].into_iter().fold(answer, without));
            }
            assert_eq!(answers[0], answers[1], "{who:?} {}", pair[0].1);
        }
        // What the owner's client was given is worth as little to another client as a guess.
        for path in ["/oauth/token", "/token", "/oauth/revoke"] {
            let trade = async |code: &str| {
                let body = format!(
                    "grant_type=authorization_code&code={code}&token={code}&client_id=other\
                     &redirect_uri=https://{MARK}.example/back&code_verifier=v"
                );
                world.ask(who, Method::POST, path, form, body).await
            };
            assert_eq!(trade("code of the owner").await, trade("a guess").await, "{path}");
        }
    }
    assert!(world.app.store.code(&world.code).await.unwrap().is_some_and(|it| !it.is_used));
}

/// Requests that name something of the owner's, and the same about something that was never given.
fn knocks(world: &World) -> Vec<(String, [Knock; 2])> {
    let mut all = Vec::new();
    let tool = |slug: &str| format!("mcp__{slug}__{MARK}");
    let uri = |slug: &str| format!("mcp+{slug}:a://b");
    for (method, member, theirs, none) in [
        ("tools/call", "name", tool(MARK), tool("nobody")),
        ("prompts/get", "name", tool(MARK), tool("nobody")),
        ("resources/read", "uri", uri(MARK), uri("nobody")),
        ("tasks/get", "taskId", world.task.clone(), "nothing".into()),
        ("tasks/cancel", "taskId", world.task.clone(), "nothing".into()),
    ] {
        let knock = |word: String| Knock::modern("/mcp", method, json!({ member: word }));
        all.push((method.to_owned(), [knock(theirs), knock(none)]));
    }
    for method in ["tools/list", "server/discover", "subscriptions/listen"] {
        let knock =
            |slug: &str| Knock::modern(&format!("/mcp/i/{slug}"), method, json!({ "notifications": {} }));
        all.push((format!("one {method}"), [knock(MARK), knock("nobody")]));
    }
    for method in [Method::GET, Method::POST, Method::DELETE] {
        for (path, session) in [("/mcp", &world.session), ("/mcp/i/nobody", &world.session_of_one)] {
            let knock = |session: &str| Knock::session(method.clone(), path, session);
            all.push((format!("{method} {path}"), [knock(session), knock("0123456789abcdef")]));
        }
    }
    let form = |instance: &str| Knock {
        method: Method::POST,
        path: "/ui/auth/mcp/start".into(),
        headers: vec![("content-type", "application/x-www-form-urlencoded".into())],
        body: format!("instance={instance}"),
    };
    let (ours, none) = (world.instance.to_string(), Uuid::nil().to_string());
    all.push(("sign-in of an instance".into(), [form(&ours), form(&none)]));
    for path in ["/ui/auth/mcp/go?state=", "/ui/auth/mcp/callback?code=x&state="] {
        let knock = |state: &str| Knock {
            method: Method::GET,
            path: format!("{path}{state}"),
            headers: Vec::new(),
            body: String::new(),
        };
        all.push((path.to_owned(), [knock(&world.state), knock(&none)]));
    }
    let call = |slug: &str| Knock::post("/api/mcp/call", json!({ "tool": tool(slug) }));
    all.push(("call".into(), [call(MARK), call("nobody")]));
    let instance =
        |server: Uuid| Knock::post("/api/mcp/instances", json!({ "server_id": server, "slug": "mine" }));
    all.push(("instance".into(), [instance(world.server), instance(Uuid::nil())]));
    let server = |workspace: Uuid| {
        let body = json!({ "workspaceId": workspace, "name": "x", "endpoint": "https://x.example" });
        Knock::post("/api/mcp/servers", body)
    };
    all.push(("server".into(), [server(world.workspace), server(Uuid::nil())]));
    let invoke =
        |server: Uuid| Knock::post("/api/mcp/invoke", json!({ "serverId": server, "method": "ask" }));
    for theirs in [world.server, world.instance, world.bud] {
        all.push((format!("invoke {theirs}"), [invoke(theirs), invoke(Uuid::nil())]));
    }
    let bud = |bud: Uuid| Knock::post("/bud-run", json!({ "bud_id": bud, "args": { "message": "x" } }));
    all.push(("bud-run".into(), [bud(world.bud), bud(Uuid::nil())]));
    all
}

#[tokio::test]
async fn behind_every_door_anothers_is_as_good_as_nothing() {
    let world = World::new().await;
    let (server, instance, bud) =
        (world.server.to_string(), world.instance.to_string(), world.bud.to_string());
    let nil = Uuid::nil().to_string();
    let words = [MARK, "nobody", world.task.as_str(), "nothing", &server, &instance, &bud, &nil];
    for who in [Who::Member, Who::Admin] {
        for (case, knocks) in knocks(&world) {
            let mut answers = Vec::new();
            for Knock { method, path, headers, body } in knocks {
                let headers: Vec<_> = headers.iter().map(|it| (it.0, it.1.as_str())).collect();
                let answer = world.ask(who, method, &path, &headers, body).await;
                let is_refused = !answer.status.is_success() || answer.body.contains("\"error\"");
                assert!(is_refused, "{who:?} {case}: {answer:?}");
                answers.push(words.iter().fold(answer, |answer, word| without(answer, word)));
            }
            assert_eq!(answers[0], answers[1], "{who:?} {case}");
        }
        let (first, _open) = world.hear(Who::Owner, "/sse").await;
        let session = first.split("session=").nth(1).unwrap().trim();
        let post = async |session: &str| {
            let path = format!("/sse/message?session={session}");
            world.ask(who, Method::POST, &path, &[], "{}".into()).await
        };
        assert_eq!(post(session).await, post("nothing").await, "{who:?} /sse/message");
    }
    let owner = Caller::person(world.owner, Role::Member, Profile::Double);
    assert_eq!(world.app.sessions.count(&owner), 2, "nobody ended the owner's sessions");
}
