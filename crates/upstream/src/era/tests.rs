//! The tables of what to try first and what an answer proves.

use serde_json::{Value, json};

use super::*;
use crate::context::tests::context;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

#[track_caller]
fn check_plan(change: impl FnOnce(&mut Instance), known: Option<Era>, now_ms: i64, expected: &str) {
    let mut instance = (*context().instance).clone();
    change(&mut instance);
    let known =
        known.map(|era| Verdict { era, version: "2026-07-28".into(), evidence: String::new(), at: 0 });
    let seen = match Plan::of(&instance, known.as_ref(), now_ms) {
        Plan::Probe => "probe".to_owned(),
        Plan::Modern { version, trust } => format!("modern {version} {trust:?}"),
        Plan::Legacy { version, trust } => format!("legacy {version} {trust:?}"),
    };
    assert_eq!(seen, expected);
}

#[test]
fn what_a_person_says_beats_what_was_found_and_a_legacy_verdict_expires() {
    check_plan(|_| {}, None, 0, "probe");
    check_plan(|_| {}, Some(Era::Modern), 9 * DAY_MS, "modern 2026-07-28 Found");
    check_plan(|_| {}, Some(Era::Legacy), DAY_MS - 1, "legacy 2025-11-25 Found");
    check_plan(|_| {}, Some(Era::Legacy), DAY_MS, "probe");
    check_plan(|it| it.era = EraSetting::Legacy, Some(Era::Modern), 0, "legacy 2025-11-25 Told");
    check_plan(|it| it.era = EraSetting::Modern, Some(Era::Legacy), 0, "modern 2026-07-28 Told");
    check_plan(|it| it.protocol = Some("2025-03-26".into()), Some(Era::Modern), 0, "legacy 2025-03-26 Told");
    check_plan(|it| it.protocol = Some("2027-01-01".into()), None, 0, "modern 2027-01-01 Told");
}

#[track_caller]
fn check_finding(answer: Result<Value, Failure>, expected: &str) {
    let seen = match find(&context(), answer.map(|it| Raw::of(&it)), modern::VERSION) {
        Finding::Modern(session) => format!("modern: {}", session.evidence),
        Finding::Legacy => "legacy".to_owned(),
        Finding::Nothing(failure) => format!("nothing: {}", failure.into_error()),
    };
    assert_eq!(seen, expected);
}

fn error(code: i64, data: &Value) -> Error {
    let data = Some(Raw::of(data)).filter(|it| !it.is_null());
    Error::Server { code, message: "no".into(), data }
}

fn answered(status: u16) -> Error {
    Error::Answered { slug: "s".into(), status, reason: "No".into(), body: String::new() }
}

#[test]
fn a_result_proves_what_it_offers() {
    check_finding(Ok(json!({ "supportedVersions": ["2026-07-28"] })), "modern: answered server/discover");
    check_finding(
        Ok(json!({ "supportedVersions": ["2025-11-25", "2026-07-28"] })),
        "modern: answered server/discover",
    );
    check_finding(Ok(json!({ "supportedVersions": ["2025-11-25"] })), "legacy");
    check_finding(Ok(json!({ "tools": [] })), "legacy");
    check_finding(
        Ok(json!({ "supportedVersions": ["2031-01-01"] })),
        "nothing: `s` sent something that is not MCP: it speaks only the protocol revisions [\"2031-01-01\"], \
         which Toolgrove does not know",
    );
}

#[test]
fn no_error_but_the_three_modern_ones_proves_modern() {
    let null = Value::Null;
    for code in [-32020, -32021, -32022] {
        check_finding(Err(error(code, &null).into()), &format!("modern: answered {code}"));
        let refused = Failure::Refused { status: 400, error: error(code, &null) };
        check_finding(Err(refused), &format!("modern: answered {code}"));
    }
    for code in [-32601, -32602, -32600, -32000, 7] {
        check_finding(Err(error(code, &null).into()), "legacy");
    }
    check_finding(Err(error(-32022, &json!({ "supported": ["2025-06-18"] })).into()), "legacy");
    check_finding(
        Err(error(-32004, &json!({ "supported": ["DRAFT-2026-v1"] })).into()),
        "nothing: `s` sent something that is not MCP: it speaks a pre-release of 2026-07-28, which is not supported",
    );
}

#[test]
fn outages_and_credentials_prove_nothing_and_other_refusals_lead_to_initialize() {
    for status in [400, 404, 405, 406, 415] {
        check_finding(Err(Failure::Refused { status, error: answered(status) }), "legacy");
    }
    for status in [401, 403, 408, 429, 500, 503] {
        let refused = Failure::Refused { status, error: answered(status) };
        check_finding(Err(refused), &format!("nothing: server answered {status} No"));
    }
    let refused = Failure::Refused { status: 500, error: error(-32603, &Value::Null) };
    check_finding(Err(refused), "nothing: MCP error -32603: no");
}

#[test]
fn a_refusal_shows_the_other_era_only_where_it_can() {
    let null = Value::Null;
    assert!(is_other_era(Era::Modern, 400, &error(-32000, &null)));
    assert!(is_other_era(Era::Modern, 400, &error(-32600, &null)));
    assert!(is_other_era(Era::Modern, 405, &answered(405)));
    assert!(!is_other_era(Era::Modern, 404, &error(-32601, &null)));
    assert!(!is_other_era(Era::Modern, 400, &error(-32020, &null)));
    assert!(!is_other_era(Era::Modern, 500, &answered(500)));
    assert!(is_other_era(Era::Legacy, 400, &error(-32022, &null)));
    assert!(!is_other_era(Era::Legacy, 400, &error(-32000, &null)));
}
