//! Runs the examples of `/cases` that need a hub: one trial per case, against the built binary and real servers.
//!
//! `mcp_client_http`, `oauth`, `proxy`, `instances` and `buds` are run whole but for what `page.txt` leaves to
//! `ui/src/cases.test.tsx` and the journeys; other files as far as `crates/core/tests/elsewhere.txt` sends them here. A
//! case without a scenario fails, and so does a scenario without a case.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic and print its figures")]

#[path = "../support/browser.rs"]
mod browser;
mod buds;
mod http;
#[path = "../support/hub.rs"]
mod hub;
mod import;
mod instances;
#[path = "../support/model.rs"]
mod model;
mod oauth;
#[path = "../support/provider.rs"]
mod provider;
mod proxy;
mod tabs;
#[path = "../team/team.rs"]
#[allow(dead_code, reason = "the cases need a part of it")]
mod team;

use std::path::Path;
use std::pin::Pin;

use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;
use serde_json::Value;

/// What a scenario is given: the case as it stands in the file.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) given: Value,
    pub(crate) expect: Value,
}

pub(crate) type Scenario = fn(Case) -> Pin<Box<dyn Future<Output = ()>>>;

/// Names an async function as a scenario.
#[macro_export]
macro_rules! scenarios {
    ($($id:literal => $run:path),* $(,)?) => {
        pub(crate) const SCENARIOS: &[(&str, $crate::Scenario)] = &[$(($id, |case| Box::pin($run(case)))),*];
    };
}

/// Cases of whole files that are about the page, and the page's own tests, which run them.
const PAGE: &str = include_str!("page.txt");
const PAGE_TESTS: &str = include_str!("../../../../ui/src/cases.test.tsx");
/// What only a real browser can show: journeys whose names begin with the case.
const JOURNEYS: [&str; 2] =
    [include_str!("../../../../ui/e2e/chat.spec.ts"), include_str!("../../../../ui/e2e/journeys.spec.ts")];
const ELSEWHERE: &str = include_str!("../../../core/tests/elsewhere.txt");

fn main() {
    let mut trials = Vec::new();
    for (file, scenarios, whole) in [
        ("mcp_client_http", http::SCENARIOS, true),
        ("proxy", proxy::SCENARIOS, true),
        ("oauth", oauth::SCENARIOS, true),
        ("instances", instances::SCENARIOS, true),
        ("buds", buds::SCENARIOS, true),
        ("naming", import::NAMING, false),
        ("json_import", import::SCENARIOS, false),
        ("slug_and_validation", import::SLUGS, false),
        ("tabs_hub", tabs::SCENARIOS, false),
        ("tabs_wire", tabs::WIRE, false),
    ] {
        let cases = match read(file) {
            Ok(cases) => cases,
            Err(problem) => {
                trials.push(Trial::test(file, move || Err(Failed::from(problem))));
                continue;
            }
        };
        let page = PAGE.lines().filter_map(|it| it.strip_prefix(file)?.split_whitespace().next());
        for id in scenarios.iter().map(|it| it.0).chain(page.clone()) {
            if !cases.iter().any(|it| it.id == id) {
                trials.push(Trial::test(format!("{file}::{id}"), || Err("there is no such case".into())));
            }
        }
        let is_run = |id: &str| {
            PAGE_TESTS.contains(&format!("\"{id}\": async"))
                || JOURNEYS.iter().any(|it| it.contains(&format!("test(\"{id}: ")))
        };
        for id in page.clone().filter(|id| !is_run(id)) {
            trials.push(Trial::test(format!("{file}::{id}"), || Err("the page does not run it".into())));
        }
        for id in page.filter(|id| scenarios.iter().any(|it| it.0 == *id)) {
            let problem = "it has a scenario, so it is not for the page";
            trials.push(Trial::test(format!("{file}::{id}"), move || Err(problem.into())));
        }
        for case in cases {
            let line = format!("{file} {}", case.id);
            if PAGE.lines().any(|it| it == line) {
                continue;
            }
            if whole || ELSEWHERE.lines().any(|it| it == line) {
                let scenario = scenarios.iter().find(|it| it.0 == case.id).map(|it| it.1);
                trials.push(Trial::test(format!("{file}::{}", case.id), move || run(scenario, case)));
            }
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn run(scenario: Option<Scenario>, case: Case) -> Result<(), Failed> {
    let scenario = scenario.ok_or("no scenario runs this case")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|it| it.to_string())?;
    runtime.block_on(scenario(case));
    Ok(())
}

fn read(file: &str) -> Result<Vec<Case>, String> {
    #[derive(Deserialize)]
    struct File {
        cases: Vec<Case>,
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../cases/{file}.json"));
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let file: File = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    if file.cases.is_empty() { Err("no cases".into()) } else { Ok(file.cases) }
}
