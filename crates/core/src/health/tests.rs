//! Every state with its words, and which of two states wins.

use super::*;

const NOW: i64 = 1_000_000_000;

/// One line per state: level, state, words, action, status.
#[track_caller]
fn check(facts: Facts, expected: &str) {
    let health = health(&facts, NOW);
    let json = serde_json::to_value(&health).unwrap();
    let word = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
    let action = health.action.as_ref().map_or("–", |it| it.label.as_str());
    let line =
        [&word("level"), &word("state"), &health.summary, action, health.status().as_str()].join(" | ");
    assert_eq!(line, expected);
}

fn facts() -> Facts {
    Facts { tools: 12, ..Facts::default() }
}

fn slow_call(age_ms: i64) -> Option<LastCall> {
    Some(LastCall { took_ms: 4_120, at_ms: NOW - age_ms, outcome: CallEnd::Done })
}

#[test]
fn every_state_has_its_words() {
    let failed = LinkState::Failed { why: "process exited with code 1\nand more".into() };
    check(facts(), "ok | ready | Ready · 12 tools | – | ready");
    check(Facts { tools_off: 2, ..facts() }, "ok | ready | 12 tools (2 off) | – | ready");
    check(Facts { link: LinkState::Idle, ..facts() }, "ok | idle | Starts on demand | – | ready");
    check(Facts { link: LinkState::Starting, ..facts() }, "info | starting | Starting… | Cancel | ready");
    check(
        Facts { access: Access::SignIn, ..facts() },
        "warn | sign_in | Sign in to use | Sign in | not_ready",
    );
    check(
        Facts { access: Access::Reauth, ..facts() },
        "warn | reauth | Sign-in expired | Reconnect | needs_reauth",
    );
    check(Facts { access: Access::Setup, ..facts() }, "warn | setup | Needs an API key | Set up | not_ready");
    check(Facts { tools_changed: 2, ..facts() }, "warn | changed | 2 tools changed | Review | ready");
    check(Facts { last_call: slow_call(9), ..facts() }, "warn | slow | Slow: 4.1 s | Show log | ready");
    check(Facts { link: failed, ..facts() }, "bad | failed | Process exited with code 1 | Restart | ready");
    let duplicate = Facts { duplicate_of: Some("X".into()), ..facts() };
    check(duplicate, "off | duplicate | Duplicate of X | Show X | ready");
    let closed = Facts { link: LinkState::TabClosed, ..facts() };
    check(closed, "ok | closed | Tab closed · opens on call | Open tab | ready");
    check(Facts { enabled: false, ..facts() }, "off | disabled | Off | Turn on | ready");
}

#[test]
fn what_matters_more_comes_first() {
    let everything = Facts {
        enabled: false,
        duplicate_of: Some("X".into()),
        access: Access::SignIn,
        link: LinkState::Failed { why: String::new() },
        tools_changed: 1,
        last_call: slow_call(0),
        ..facts()
    };
    check(everything.clone(), "off | disabled | Off | Turn on | ready");
    let on = Facts { enabled: true, ..everything };
    check(on.clone(), "off | duplicate | Duplicate of X | Show X | ready");
    let single = Facts { duplicate_of: None, ..on };
    check(single.clone(), "warn | sign_in | Sign in to use | Sign in | not_ready");
    let granted = Facts { access: Access::Granted, ..single };
    check(granted.clone(), "bad | failed | Failed | Restart | ready");
    let open = Facts { link: LinkState::Open, ..granted };
    check(open.clone(), "warn | changed | 1 tool changed | Review | ready");
    check(Facts { tools_changed: 0, ..open }, "warn | slow | Slow: 4.1 s | Show log | ready");
}

#[test]
fn an_old_slow_call_is_forgotten() {
    check(
        Facts { last_call: slow_call(SLOW_MEMORY_MS), ..facts() },
        "ok | ready | Ready · 12 tools | – | ready",
    );
}
