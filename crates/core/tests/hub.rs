//! The spine with scripted links: what a caller gets and what the log says, for every way a call can end.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::{Expect, expect};
use toolgrove_core::call::{
    Asking, Call, Caller, Discovery, Door, Links, Listing, Method, Outcome, Outgoing, Role, Subject, View,
    Watching,
};
use toolgrove_core::config::Capabilities;
use toolgrove_core::event::{Event, Events, ListKind, News, Progress, Report};
use toolgrove_core::hub::{Hub, Log};
use toolgrove_core::instance::{Era, EraSetting, HttpReach, Instance, Switch, Transport, Verdict};
use toolgrove_core::name::Profile;
use toolgrove_core::offer::{Offer, Permission};
use toolgrove_core::{CallRecord, Error};
use toolgrove_wire::{Abilities, Raw};
use uuid::Uuid;

/// Links that answer by script and remember what reached them.
#[derive(Default)]
struct Script {
    sent: Mutex<Vec<String>>,
    tools: Mutex<Vec<&'static str>>,
    lists: Mutex<usize>,
    feed: bool,
    /// For how long the list is said to hold.
    holds: Mutex<Duration>,
}

impl Script {
    fn sent(&self) -> Vec<String> {
        self.sent.lock().unwrap().clone()
    }
}

struct Scripted(Arc<Script>);

impl Links for Scripted {
    async fn request(
        &self,
        instance: &Arc<Instance>,
        outgoing: &Outgoing,
        events: &Events,
    ) -> Result<Raw, Error> {
        let line =
            format!("{} {} {}", instance.slug, outgoing.method.as_str(), outgoing.params.raw().as_str());
        self.0.sent.lock().unwrap().push(line);
        let name = outgoing.params.get_text("name").unwrap_or_default();
        match name.as_str() {
            "fail" => Ok(Raw::parse(r#"{"content":[],"isError":true}"#).unwrap()),
            "dead" => Err(Error::Unreachable { slug: instance.slug.clone(), cause: "refused".into() }),
            "hang" => std::future::pending().await,
            "moved" if outgoing.headers.is_empty() => {
                Err(Error::Server { code: -32020, message: "where is Mcp-Param-Region?".into(), data: None })
            }
            "steps" => {
                events.send(Event::Progress(Raw::parse(r#"{"progress":1}"#).unwrap()));
                Ok(Raw::empty_object())
            }
            _ => Ok(Raw::parse(r#"{"content":[{"type":"resource_link","uri":"a://b"}],"x":1e400}"#).unwrap()),
        }
    }

    async fn list(&self, _: &Arc<Instance>, kind: ListKind) -> Result<Listing, Error> {
        assert_eq!(kind, ListKind::Tools);
        *self.0.lists.lock().unwrap() += 1;
        let items = self.0.tools.lock().unwrap().iter().map(|it| Raw::parse(*it).unwrap()).collect();
        Ok(Listing { items, holds: *self.0.holds.lock().unwrap() })
    }

    async fn discover(&self, instance: &Arc<Instance>) -> Result<Discovery, Error> {
        let Listing { items, holds } = self.list(instance, ListKind::Tools).await?;
        Ok(Discovery {
            verdict: Verdict {
                era: Era::Modern,
                version: "2026-07-28".into(),
                evidence: "script".into(),
                at: 0,
            },
            server_info: None,
            capabilities: Raw::parse(r#"{"tools":{}}"#).unwrap(),
            instructions: None,
            lists: vec![(ListKind::Tools, Ok(items))],
            tools_hold: holds,
        })
    }

    fn has_feed(&self, _: Uuid) -> bool {
        self.0.feed
    }

    fn has_modern_feed(&self, _: Uuid) -> bool {
        self.0.feed
    }

    fn request_beside(&self, _: &Arc<Instance>, _: Outgoing) {}

    async fn watch(&self, _: &Arc<Instance>, _: &Subject, _: Watching) -> Result<(), Error> {
        Ok(())
    }

    async fn roots_changed(&self, _: &str) {}

    async fn end_chat(&self, _: &str) {}

    async fn close(&self, _: Uuid) {}
}

#[derive(Default)]
struct Rows(Mutex<Vec<CallRecord>>);

struct Kept(Arc<Rows>);

impl Log for Kept {
    fn record(&self, record: CallRecord) {
        self.0.0.lock().unwrap().push(record);
    }
    fn listed(&self, _: &Arc<Offer>) {}
    fn barred(&self, _: &Arc<Instance>, _: &Error) {}
    fn judged(&self, _: &Arc<Instance>, _: &Verdict) {}
}

impl Rows {
    fn text(&self) -> String {
        let rows = self.0.lock().unwrap();
        let lines: Vec<_> = rows
            .iter()
            .map(|it| {
                format!(
                    "log: {} {} {}",
                    it.tool,
                    it.outcome.as_str(),
                    it.error_code.as_deref().unwrap_or("-")
                )
            })
            .collect();
        lines.join("\n")
    }
}

struct World {
    hub: Arc<Hub<Scripted, Kept>>,
    script: Arc<Script>,
    rows: Arc<Rows>,
    person: Uuid,
}

const TOOLS: [&str; 5] = [
    r#"{"name":"say","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"x":[1]}"#,
    r#"{"name":"fail","inputSchema":{"type":"object"}}"#,
    r#"{"name":"dead","inputSchema":{"type":"object"}}"#,
    r#"{"name":"hang","inputSchema":{"type":"object"}}"#,
    r#"{"name":"steps","inputSchema":{"type":"object"}}"#,
];

fn instance(person: Uuid, slug: &str, server_name: &str, switch: Switch) -> Instance {
    Instance {
        id: Uuid::now_v7(),
        person,
        server: Uuid::now_v7(),
        slug: slug.into(),
        server_name: server_name.into(),
        transport: Transport::Http(HttpReach {
            url: "http://127.0.0.1:1/mcp".parse().unwrap(),
            headers: vec![],
            query: vec![],
        }),
        hosts: toolgrove_core::net::Allowlist::Any,
        era: EraSetting::Auto,
        protocol: None,
        verdict: None,
        timeout: Duration::from_secs(60),
        switch,
        phase: toolgrove_core::policy::Phase::Gamma,
        rate: None,
        revision: 1,
    }
}

fn world(capabilities: Capabilities) -> World {
    let (script, rows, person) = (Arc::new(Script::default()), Arc::new(Rows::default()), Uuid::now_v7());
    *script.tools.lock().unwrap() = TOOLS.to_vec();
    let hub = Arc::new(Hub::new(Scripted(script.clone()), Kept(rows.clone()), || 1_000, capabilities));
    let fs = Offer::new(Arc::new(instance(person, "fs", "my_files", Switch::On)));
    let tools: Vec<Raw> = TOOLS.iter().map(|it| Raw::parse(*it).unwrap()).collect();
    let off = Offer::new(Arc::new(instance(person, "off", "off", Switch::ServerOff)));
    hub.load([fs.with_tools(&tools, |_| false, 0), off.with_tools(&tools, |_| false, 0)]);
    World { hub, script, rows, person }
}

impl World {
    fn caller(&self) -> Caller {
        Caller::person(self.person, Role::Admin, Profile::Double)
    }

    fn call(&self, view: View, params: &str) -> Call {
        let caller = Arc::new(self.caller());
        Call {
            id: Uuid::now_v7(),
            parent: None,
            caller,
            door: Door::Mcp,
            view,
            method: Method::CallTool,
            params: Raw::parse(params.to_owned()).unwrap().into(),
            chat: "c".into(),
            depth: 0,
            abilities: Abilities::NONE,
            asking: Asking::ByRetry,
            log_level: None,
            client: None,
            started_at: 0,
        }
    }
}

async fn check(params: &str, expected: &Expect) {
    let world = world(Capabilities::Cached);
    let result = world.hub.call(world.call(View::All, params), Events::none()).await;
    let said = match result {
        Ok(Outcome { result, instance, .. }) => format!("{}: {}", instance.slug, result.as_str()),
        Err(error) => format!("{}: {error}", error.code()),
    };
    let sent: Vec<_> = world.script.sent().iter().map(|it| format!("sent: {it}\n")).collect();
    expected.assert_eq(&format!("{}{said}\n{}", sent.concat(), world.rows.text()));
}

#[tokio::test]
async fn arguments_reach_the_link_byte_for_byte_and_so_does_the_result() {
    check(
        r#"{ "x-extra" : [1e400] , "name":"mcp__fs__say", "arguments":{ "n" : 12345678901234567890123 } }"#,
        &expect![[r#"
            sent: fs tools/call { "x-extra" : [1e400] , "name":"say", "arguments":{ "n" : 12345678901234567890123 } }
            fs: {"content":[{"type":"resource_link","uri":"toolgrove://fs/a://b"}],"x":1e400}
            log: mcp__fs__say done -"#]],
    )
    .await;
}

#[tokio::test]
async fn both_profiles_and_the_servers_name_reach_the_same_tool() {
    for name in ["mcp__fs__fail", "mcp_fs__fail", "mcp__my_files__fail"] {
        let world = world(Capabilities::Cached);
        let call = world.call(View::All, &format!(r#"{{"name":"{name}"}}"#));
        world.hub.call(call, Events::none()).await.unwrap();
        assert_eq!(world.script.sent(), [r#"fs tools/call {"name":"fail"}"#]);
    }
}

#[tokio::test]
async fn a_tool_that_failed_is_a_result() {
    check(
        r#"{"name":"mcp__fs__fail"}"#,
        &expect![[r#"
            sent: fs tools/call {"name":"fail"}
            fs: {"content":[],"isError":true}
            log: mcp__fs__fail tool_error -"#]],
    )
    .await;
}

#[tokio::test]
async fn a_failed_hop_is_logged_with_its_code() {
    check(
        r#"{"name":"mcp__fs__dead"}"#,
        &expect![[r#"
            sent: fs tools/call {"name":"dead"}
            link.unreachable: cannot reach `fs`: refused
            log: mcp__fs__dead failed link.unreachable"#]],
    )
    .await;
}

#[tokio::test]
async fn what_is_named_wrongly_reaches_no_link_and_is_logged_too() {
    let cases = [
        (r#"{"name":"mcp__nope__x"}"#, "server.unknown: no server is called `nope`"),
        (r#"{"name":"mcp__fs"}"#, "tool.name: `mcp__fs` is not a tool name"),
        (r#"{"name":"mcp__fs__nope"}"#, "tool.unknown: no tool is called `mcp__fs__nope`"),
        (r#"{"name":"fs.say"}"#, "tool.unknown: no tool is called `fs.say`"),
        (r#"{"name":"mcp__off__say"}"#, "server.off: server `off` is turned off"),
        (r#"{"name":7}"#, "request.missing: missing: name"),
        (
            r#"{"name":"mcp__fs__say","arguments":{}}"#,
            "call.arguments: arguments do not match: /n is required",
        ),
        (
            r#"{"name":"mcp__fs__say","arguments":[]}"#,
            "call.arguments: arguments do not match: / is not an object",
        ),
    ];
    for (params, expected) in cases {
        let world = world(Capabilities::Cached);
        let error = world.hub.call(world.call(View::All, params), Events::none()).await.unwrap_err();
        assert_eq!(format!("{}: {error}", error.code()), expected);
        assert!(world.script.sent().is_empty(), "{params}");
        assert_eq!(world.rows.0.lock().unwrap().len(), 1, "{params}");
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_is_logged_as_cancelled() {
    let world = world(Capabilities::Cached);
    let call = world.call(View::All, r#"{"name":"mcp__fs__hang"}"#);
    let mut running = Box::pin(world.hub.call(call, Events::none()));
    assert!(futures_poll(&mut running).await.is_none());
    drop(running);
    assert_eq!(world.rows.text(), "log: mcp__fs__hang cancelled call.cancelled");
}

/// Polls a future once.
async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    use std::pin::Pin;
    use std::task::Poll;
    std::future::poll_fn(|context| match Pin::new(&mut *future).poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

#[tokio::test]
async fn events_of_a_call_reach_its_caller() {
    let world = world(Capabilities::Cached);
    let (events, mut heard) = Events::channel(Progress::Wanted);
    world.hub.call(world.call(View::All, r#"{"name":"mcp__fs__steps"}"#), events).await.unwrap();
    assert!(
        matches!(heard.recv().await, Some(Event::Progress(params)) if params.as_str() == r#"{"progress":1}"#)
    );
    assert!(heard.recv().await.is_none());
}

#[tokio::test]
async fn one_instance_is_called_by_its_own_names_and_its_addresses_stay() {
    let world = world(Capabilities::Cached);
    let view = View::One { slug: "FS".into() };
    let call = world.call(view.clone(), r#"{"name":"say","arguments":{"n":1}}"#);
    let Outcome { result, .. } = world.hub.call(call, Events::none()).await.unwrap();
    assert!(result.as_str().contains(r#""uri":"a://b""#));
    let error =
        world.hub.call(world.call(view, r#"{"name":"mcp__fs__say"}"#), Events::none()).await.unwrap_err();
    assert_eq!(error.code(), "tool.unknown");
}

#[tokio::test]
async fn a_person_without_instances_sees_nothing_of_others() {
    let world = world(Capabilities::Cached);
    let stranger = Arc::new(Caller::person(Uuid::now_v7(), Role::Member, Profile::Double));
    let call = Call { caller: stranger.clone(), ..world.call(View::All, r#"{"name":"mcp__fs__fail"}"#) };
    assert_eq!(world.hub.call(call, Events::none()).await.unwrap_err().code(), "server.unknown");
    let list = world.hub.catalog(&stranger).list(&View::All, ListKind::Tools, Profile::Double).unwrap();
    assert_eq!(list.as_str(), "[]");
}

#[tokio::test]
async fn what_a_token_was_not_granted_does_not_exist_for_it() {
    let world = world(Capabilities::Cached);
    let fs = world.hub.catalog(&world.caller()).offer("fs").unwrap().instance.id;
    let other = instance(world.person, "other", "fs", Switch::On);
    let tools: Vec<Raw> = TOOLS.iter().map(|it| Raw::parse(*it).unwrap()).collect();
    let other_id = other.id;
    world.hub.put(Offer::new(Arc::new(other)).with_tools(&tools, |_| false, 0));
    let token = |grants: &[Uuid]| Caller {
        token: Some(Uuid::now_v7()),
        grants: Some(Arc::new(grants.iter().copied().collect())),
        ..world.caller()
    };
    let code = async |caller: &Caller, view: View, name: &str| {
        let call = world.call(view, &format!(r#"{{"name":"{name}"}}"#));
        let call = Call { caller: Arc::new(caller.clone()), ..call };
        world.hub.call(call, Events::none()).await.map_or_else(|it| it.code(), |_| "ok")
    };
    let one = |slug: &str| View::One { slug: slug.into() };
    for (grants, all_fs, all_other, one_fs, one_other) in [
        (vec![fs, other_id], "ok", "ok", "ok", "ok"),
        (vec![fs], "ok", "server.unknown", "ok", "grant.missing"),
        // `fs` is also the name of the other's server: the name stays with whoever has it, granted or not.
        (vec![other_id], "tool.unknown", "ok", "grant.missing", "ok"),
        (vec![], "server.unknown", "server.unknown", "grant.missing", "grant.missing"),
    ] {
        let caller = token(&grants);
        let found = (
            code(&caller, View::All, "mcp__fs__fail").await,
            code(&caller, View::All, "mcp__other__fail").await,
            code(&caller, one("FS"), "fail").await,
            code(&caller, one("other"), "fail").await,
        );
        assert_eq!(found, (all_fs, all_other, one_fs, one_other), "{grants:?}");
        assert_eq!(code(&caller, one("nobody"), "fail").await, "server.unknown");
        let catalog = world.hub.catalog(&caller);
        assert!(Arc::ptr_eq(&catalog, &world.hub.catalog(&caller)), "made once");
        let list = catalog.list(&View::All, ListKind::Tools, Profile::Double).unwrap();
        for (slug, id) in [("fs", fs), ("other", other_id)] {
            let listed = list.as_str().contains(&format!("mcp__{slug}__"));
            assert_eq!(listed, grants.contains(&id), "{slug}");
            assert_eq!(catalog.offer(slug).is_some(), grants.contains(&id), "{slug}");
        }
    }
    let caller = token(&[fs]);
    let before = world.hub.catalog(&caller);
    world.hub.remove(fs).await;
    assert!(before.offer("fs").is_some() && world.hub.catalog(&caller).offer("fs").is_none());
}

#[tokio::test]
async fn a_list_is_sorted_and_leaves_out_what_is_off() {
    let world = world(Capabilities::Cached);
    let catalog = world.hub.catalog(&world.caller());
    let names = |profile| -> Vec<String> {
        let list = catalog.list(&View::All, ListKind::Tools, profile).unwrap();
        list.items().filter_map(|it| it.get_text("name")).collect()
    };
    assert_eq!(
        names(Profile::Double),
        ["mcp__fs__dead", "mcp__fs__fail", "mcp__fs__hang", "mcp__fs__say", "mcp__fs__steps"]
    );
    assert_eq!(names(Profile::Single)[0], "mcp_fs__dead");
    let list = catalog.list(&View::All, ListKind::Tools, Profile::Double).unwrap();
    assert!(list.as_str().contains(r#""x":[1]"#), "unknown members survive");
}

#[tokio::test]
async fn a_tool_that_came_since_the_last_listing_is_found_by_asking_once() {
    let world = world(Capabilities::Live);
    world.script.tools.lock().unwrap().push(r#"{"name":"fresh","inputSchema":{"type":"object"}}"#);
    let call = world.call(View::All, r#"{"name":"mcp__fs__fresh"}"#);
    world.hub.call(call, Events::none()).await.unwrap();
    assert_eq!(*world.script.lists.lock().unwrap(), 1);
    let ghost = || world.hub.call(world.call(View::All, r#"{"name":"mcp__fs__ghost"}"#), Events::none());
    let (first, second) = tokio::join!(ghost(), ghost());
    assert_eq!(first.unwrap_err().code(), "tool.unknown");
    assert_eq!(second.unwrap_err().code(), "tool.unknown");
    assert_eq!(*world.script.lists.lock().unwrap(), 2, "asked once for both");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_old_is_asked_for_again_when_somebody_reads_it() {
    let world = world(Capabilities::Live);
    let mut bus = world.hub.bus().subscribe();
    world.hub.freshen_stale(&world.caller(), &View::All);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(*world.script.lists.lock().unwrap(), 0, "a second old is fresh enough");

    let offer = world.hub.catalog(&world.caller()).offer("fs").unwrap().clone();
    world.hub.load([Offer { fetched_at: Some(-60_000), ..Offer::clone(&offer) }]);
    world.script.tools.lock().unwrap().push(r#"{"name":"fresh"}"#);
    world.hub.freshen_stale(&world.caller(), &View::All);
    assert_eq!(bus.recv().await.unwrap().slug, "fs", "what changed meanwhile is announced");
    assert_eq!(*world.script.lists.lock().unwrap(), 1);
    assert!(world.hub.catalog(&world.caller()).tool(&View::All, "mcp__fs__fresh").is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_its_server_says_holds_is_not_asked_for_again_meanwhile() {
    let world = world(Capabilities::Live);
    *world.script.holds.lock().unwrap() = Duration::from_secs(300);
    let say = || world.call(View::All, r#"{"name":"mcp__fs__say","arguments":{"n":1}}"#);
    let lists = || *world.script.lists.lock().unwrap();
    for (wait, count) in [(0, 1), (10, 1), (280, 1), (20, 2), (10, 2)] {
        tokio::time::sleep(Duration::from_secs(wait)).await;
        world.hub.call(say(), Events::none()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(lists(), count, "after {wait} s more");
    }
    // A change that is announced ends it, and what nobody knows is asked for all the same.
    let (tx, rx) = tokio::sync::mpsc::unbounded_channel();
    let instance = world.hub.catalog(&world.caller()).offer("fs").unwrap().instance.id;
    tx.send(Report { instance, news: News::ListChanged(ListKind::Tools) }).unwrap();
    drop(tx);
    world.hub.clone().follow(rx).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(lists(), 3);
    let unknown = world.call(View::All, r#"{"name":"mcp__fs__ghost"}"#);
    assert_eq!(world.hub.call(unknown, Events::none()).await.unwrap_err().code(), "tool.unknown");
    assert_eq!(lists(), 4);
}

#[tokio::test]
async fn arguments_that_fail_an_old_schema_are_checked_against_the_new_one() {
    let world = world(Capabilities::Live);
    world.script.tools.lock().unwrap()[0] = r#"{"name":"say","inputSchema":{"type":"object"}}"#;
    let call = world.call(View::All, r#"{"name":"mcp__fs__say","arguments":{"n":"text"}}"#);
    assert!(world.hub.call(call, Events::none()).await.is_ok());
}

#[tokio::test]
async fn switches_and_permissions_stop_calls_and_survive_a_refresh() {
    let world = world(Capabilities::Cached);
    let offer = world.hub.catalog(&world.caller()).offer("fs").unwrap().clone();
    let mut changed = Offer::clone(&offer);
    changed.tools[0] = Arc::new(offer.tools[0].switched(false, Permission::Allow));
    changed.tools[1] = Arc::new(offer.tools[1].switched(true, Permission::Block));
    world.hub.put(changed);
    world.hub.refresh(&offer.instance).await.unwrap();
    for (name, code) in [("mcp__fs__say", "tool.off"), ("mcp__fs__fail", "call.denied")] {
        let call = world.call(View::All, &format!(r#"{{"name":"{name}","arguments":{{"n":1}}}}"#));
        assert_eq!(world.hub.call(call, Events::none()).await.unwrap_err().code(), code);
    }
    assert!(world.script.sent().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_changes_is_one_notice() {
    let world = world(Capabilities::Cached);
    let mut bus = world.hub.bus().subscribe();
    let (tx, rx) = tokio::sync::mpsc::unbounded_channel();
    let instance = world.hub.catalog(&world.caller()).offer("fs").unwrap().instance.id;
    for _ in 0..5 {
        tx.send(Report { instance, news: News::ListChanged(ListKind::Tools) }).unwrap();
    }
    drop(tx);
    world.hub.clone().follow(rx).await;
    assert_eq!(bus.recv().await.unwrap().slug, "fs");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(bus.try_recv().is_err());
}

#[tokio::test]
async fn a_malformed_tool_is_left_out_and_the_others_stay() {
    let world = world(Capabilities::Cached);
    *world.script.tools.lock().unwrap() =
        vec![r#"{"description":"no name"}"#, r#"{"name":"bad","inputSchema":"x"}"#, TOOLS[0], TOOLS[0]];
    let offer = world.hub.catalog(&world.caller()).offer("fs").unwrap().clone();
    world.hub.refresh(&offer.instance).await.unwrap();
    let offer = world.hub.offer(offer.instance.id).unwrap();
    assert_eq!(offer.listed().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["say"]);
    assert_eq!(
        offer.problems,
        [
            "tool 1 of the list was left out: it has no name",
            "tool 2 of the list was left out: the inputSchema of `bad` is not an object",
            "tool 4 of the list was left out: `say` is listed twice",
        ]
    );
}

#[test]
fn names_that_clash_stay_with_their_tools() {
    let offer = Offer::new(Arc::new(instance(Uuid::now_v7(), "a", "a", Switch::On)));
    let raw = |text: &'static str| Raw::parse(text).unwrap();
    let first = offer.with_tools(&[raw(r#"{"name":"x.y"}"#), raw(r#"{"name":"x y"}"#)], |_| false, 0);
    let names = |offer: &Offer| offer.listed().map(|it| it.public_name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&first), ["mcp__a__x_y", "mcp__a__x_y_2"]);
    let second = first.with_tools(&[raw(r#"{"name":"x y"}"#)], |_| false, 0);
    assert_eq!(names(&second), ["mcp__a__x_y_2"]);
    let third = second.with_tools(&[raw(r#"{"name":"x.y"}"#), raw(r#"{"name":"x y"}"#)], |_| false, 0);
    assert_eq!(names(&third), ["mcp__a__x_y", "mcp__a__x_y_2"]);
}

#[tokio::test]
async fn a_tool_whose_arguments_became_headers_is_listed_again_and_called_once_more() {
    const BEFORE: &str =
        r#"{"name":"moved","inputSchema":{"type":"object","properties":{"region":{"type":"string"}}}}"#;
    const AFTER: &str = r#"{"name":"moved","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}"#;
    for capabilities in [Capabilities::Live, Capabilities::Always] {
        let world = world(capabilities);
        let offer = world.hub.catalog(&world.caller()).offer("fs").unwrap().clone();
        *world.script.tools.lock().unwrap() = vec![BEFORE];
        world.hub.refresh(&offer.instance).await.unwrap();
        let call = || world.call(View::All, r#"{"name":"mcp__fs__moved","arguments":{"region":"north"}}"#);
        let refused = world.hub.call(call(), Events::none()).await.unwrap_err();
        assert_eq!(refused.rpc_code(), -32603, "the code of a hop stays on its hop: {refused}");
        assert_eq!(world.script.sent().len(), 1, "there is nothing new to say");

        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(2)).await;
        *world.script.tools.lock().unwrap() = vec![AFTER];
        world.hub.call(call(), Events::none()).await.unwrap();
        let sent = world.script.sent().len();
        world.hub.call(call(), Events::none()).await.unwrap();
        assert_eq!(world.script.sent().len(), sent + 1, "now it knows");
        tokio::time::resume();
    }
}
