//! `naming.json`: building and reading public tool names.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use toolgrove_core::call::View;
use toolgrove_core::catalog::Catalog;
use toolgrove_core::instance::{EraSetting, Instance, Switch, Transport};
use toolgrove_core::name::{self, NAME_MAX, Profile};
use toolgrove_core::offer::{Offer, Tool};
use toolgrove_wire::Raw;
use uuid::Uuid;

use crate::{Case, Ran, text};

pub(crate) fn run(case: &Case) -> Ran {
    let given = &case.given;
    let actual = match given["op"].as_str() {
        Some("decode double") => decode(Profile::Double, text(given, "name")),
        Some("decode single") => decode(Profile::Single, text(given, "name")),
        Some("encode double, then decode") => {
            let public = name::encode(Profile::Double, text(given, "slug"), text(given, "tool"));
            json!({"public": public, "parsed": decode(Profile::Double, &public)})
        }
        Some("sanitize") => name::sanitize(text(given, "value")).into(),
        Some("domain") => name::domain_of(text(given, "url")).into(),
        Some("sanitized_domain") => name::sanitized_domain(text(given, "url")).into(),
        Some("browser name") => {
            let slot = given["tab"].as_u64().and_then(|it| u32::try_from(it).ok()).expect("a slot");
            name::tab_name(&name::domain_of(text(given, "url")), slot, text(given, "tool")).into()
        }
        Some("browser name, cached") => {
            name::cached_tab_name(&name::domain_of(text(given, "url")), text(given, "tool")).into()
        }
        Some("property") if case.id == "encode-round-trip" => return round_trip(),
        Some("route") if case.id == "browser-name-not-parsed" => return routed_by_table(text(given, "name")),
        None if case.id == "browser-collision-sanitize" => return collision(given),
        None if case.id == "name-limit-64-profile" => return limit(case),
        _ => return false,
    };
    assert_eq!(actual, case.expect);
    true
}

fn decode(profile: Profile, public: &str) -> Value {
    match name::decode(profile, public) {
        Some((slug, tool)) => json!({"slug": slug, "tool": tool}),
        None => Value::Null,
    }
}

fn limit(case: &Case) -> Ran {
    let (letter, count) = text(&case.given, "tool").split_once('*').expect("a letter and a count");
    let tool = letter.repeat(count.parse().expect("a count"));
    let public = name::encode(Profile::Double, text(&case.given, "slug"), &tool);
    assert_eq!(json!(public), case.expect["public"]);
    assert_eq!(json!(public.len()), case.expect["length"]);
    true
}

fn round_trip() -> Ran {
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let names = ("[A-Za-z0-9-]{1,24}", "[A-Za-z0-9_-]{1,48}");
    let result = runner.run(&names, |(slug, tool)| {
        for (profile, other) in [(Profile::Double, Profile::Single), (Profile::Single, Profile::Double)] {
            let public = name::encode(profile, &slug, &tool);
            prop_assert!(public.len() <= NAME_MAX);
            // The longer of the prefixes, the joint, slug and tool.
            if 5 + slug.len() + 2 + tool.len() <= NAME_MAX {
                prop_assert_eq!(name::decode(profile, &public), Some((slug.as_str(), tool.as_str())));
            }
            prop_assert_eq!(name::decode(other, &public), None);
        }
        Ok(())
    });
    result.expect("every name comes back");
    true
}

/// A catalogue in which two tools share every piece of their names, and only the table tells them apart.
fn routed_by_table(public: &str) -> Ran {
    let tools = [("create_todo", public), ("com_create_todo", "website_tool_github_tab3_com_create_todo")];
    let mut offer = Offer::new(Arc::new(tab_instance()));
    for (name, public) in tools {
        let raw = Raw::of(&json!({"name": name}));
        offer.tools.push(Arc::new(Tool::new(name.into(), (public.into(), public.into()), raw)));
    }
    let catalog = Catalog::build([Arc::new(offer)]);
    for (name, public) in tools {
        assert_eq!(catalog.tool(&View::All, public).expect("a route").tool.name, name);
    }
    true
}

/// Two domains that read the same once sanitised get two names, each with its own domain.
fn collision(given: &Value) -> Ran {
    let cached = given["cached tools"].as_array().expect("a list");
    let mut names: Vec<(String, String)> = Vec::new();
    for tool in cached {
        let wanted = name::cached_tab_name(text(tool, "domain"), text(tool, "tool"));
        let free = name::free_name(&wanted, |it| names.iter().any(|(taken, _)| taken == it));
        names.push((free, text(tool, "domain").to_owned()));
    }
    assert_eq!(names[0], ("website_tool_foo_bar_com_getCart".into(), "foo-bar.com".into()));
    assert_eq!(names[1], ("website_tool_foo_bar_com_getCart_2".into(), "foo.bar.com".into()));
    true
}

fn tab_instance() -> Instance {
    Instance {
        id: Uuid::now_v7(),
        person: Uuid::now_v7(),
        server: Uuid::now_v7(),
        slug: "tabs".into(),
        server_name: "tabs".into(),
        transport: Transport::Impossible { kind: "tab", problem: "no browser".into() },
        hosts: toolgrove_core::net::Allowlist::Any,
        era: EraSetting::Auto,
        protocol: None,
        verdict: None,
        timeout: Duration::from_secs(10),
        switch: Switch::On,
        phase: toolgrove_core::policy::Phase::Gamma,
        rate: None,
        revision: 1,
    }
}
