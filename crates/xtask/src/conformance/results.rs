//! What the suite found, and what it scores.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::Leg;

/// One scenario as it ended: what its failed checks said.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) passed: usize,
    pub(crate) failures: Vec<String>,
}

impl Outcome {
    fn is_green(&self) -> bool {
        self.failures.is_empty() && self.passed > 0
    }

    fn checks(&self) -> String {
        format!("{}/{}", self.passed, self.passed + self.failures.len())
    }
}

/// What came of one run: of its scored scenarios, and of all its checks.
pub(crate) struct Verdict {
    pub(crate) green: usize,
    pub(crate) red: Vec<String>,
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

/// The suite leaves a folder with `checks.json` for every scenario it ran.
pub(crate) fn read(folder: &Path, leg: Leg) -> Result<BTreeMap<String, Outcome>> {
    let mut outcomes = BTreeMap::new();
    for path in entries(folder)? {
        let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
        let (Some(scenario), Ok(text)) =
            (scenario(&name, leg), std::fs::read_to_string(path.join("checks.json")))
        else {
            continue;
        };
        let checks: Vec<Value> =
            serde_json::from_str(&text).with_context(|| format!("`{name}` is not JSON"))?;
        let status = |it: &&Value, wanted: &str| it["status"] == wanted;
        let failures = checks
            .iter()
            .filter(|it| status(it, "FAILURE"))
            .map(|it| format!("{}: {}", text_of(&it["id"]), text_of(&it["errorMessage"]).replace('\n', " ")));
        let outcome = Outcome {
            passed: checks.iter().filter(|it| status(it, "SUCCESS")).count(),
            failures: failures.collect(),
        };
        outcomes.insert(scenario.to_owned(), outcome);
    }
    Ok(outcomes)
}

/// Everything in a folder and in the folder `auth` inside it, where scenarios of that name are.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = |folder: &Path| -> std::io::Result<Vec<PathBuf>> {
        std::fs::read_dir(folder)?.map(|it| Ok(it?.path())).collect()
    };
    let mut all = list(folder).with_context(|| format!("no results in `{}`", folder.display()))?;
    all.extend(list(&folder.join("auth")).unwrap_or_default());
    Ok(all)
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `server-tools-list-2026-11-15T08-59-03-546Z` → `tools-list`; folders of the client leg start with the scenario.
fn scenario(folder: &str, leg: Leg) -> Option<&str> {
    const TIME: usize = "-2026-11-15T08-59-03-546Z".len();
    let name = match leg {
        Leg::Server => folder.strip_prefix("server-")?,
        Leg::Client => folder,
    };
    name.get(..name.len().checked_sub(TIME)?)
}

/// The scenarios that count for a revision, from the requirement set that comes with the suite.
pub(crate) fn scored(requirements: &str, leg: Leg) -> Vec<String> {
    section(requirements, leg.name()).filter_map(|it| it.strip_prefix("- ")).map(bare).collect()
}

/// The scenarios that are run and do not count.
pub(crate) fn unscored(requirements: &str, leg: Leg) -> Vec<String> {
    let mut found = Vec::new();
    let mut last = None;
    for line in section(requirements, "not_scored") {
        if let Some(scenario) = line.strip_prefix("- scenario: ") {
            last = Some(bare(scenario));
        } else if line.strip_prefix("leg: ").is_some_and(|it| bare(it) == leg.name()) {
            found.extend(last.take());
        }
    }
    found
}

/// The lines below a heading, without their indentation.
fn section<'a>(requirements: &'a str, heading: &str) -> impl Iterator<Item = &'a str> {
    let heading = format!("{heading}:");
    requirements
        .lines()
        .skip_while(move |it| it.trim_end() != heading)
        .skip(1)
        .take_while(|it| it.is_empty() || it.starts_with([' ', '#']))
        .map(str::trim)
}

/// A value without the comment behind it.
fn bare(value: &str) -> String {
    value.split(" #").next().unwrap_or(value).trim().to_owned()
}

/// Prints how each scenario ended and counts. A scored scenario that did not run is red.
pub(crate) fn judge(scored: &[String], outcomes: &BTreeMap<String, Outcome>) -> Verdict {
    let mut verdict = Verdict { green: 0, red: Vec::new(), passed: 0, failed: 0 };
    for scenario in scored {
        let outcome = outcomes.get(scenario);
        let checks = outcome.map_or("did not run".into(), Outcome::checks);
        if outcome.is_some_and(Outcome::is_green) {
            verdict.green += 1;
            println!("  ok      {scenario:44}  {checks}");
        } else {
            verdict.red.push(scenario.clone());
            println!("  FAILED  {scenario:44}  {checks}");
            outcome.iter().flat_map(|it| &it.failures).for_each(|it| println!("          {it}"));
        }
    }
    for (scenario, outcome) in outcomes {
        verdict.passed += outcome.passed;
        verdict.failed += outcome.failures.len();
        if !scored.contains(scenario) {
            let sign = if outcome.failures.is_empty() { "+" } else { "-" };
            println!("  {sign:6}  {scenario:44}  {} (not scored)", outcome.checks());
        }
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIREMENTS: &str = "# head\n\nserver:\n  - ping\n  # why\n  - tools-list # note\n\nclient:\n  - initialize\n
not_scored:\n  - scenario: auth/x\n    leg: client\n    reason: extension\n  - scenario: tasks\n    leg: server\n";

    #[test]
    fn a_scenario_is_named_by_its_folder() {
        let time = "2026-11-15T08-59-03-546Z";
        assert_eq!(scenario(&format!("server-tools-list-{time}"), Leg::Server), Some("tools-list"));
        assert_eq!(scenario(&format!("sse-retry-{time}"), Leg::Client), Some("sse-retry"));
        assert_eq!(scenario(&format!("auth/dpop-{time}"), Leg::Client), Some("auth/dpop"));
        assert_eq!(scenario("hub.log", Leg::Server), None);
        assert_eq!(scenario("server-x", Leg::Server), None);
    }

    #[test]
    fn each_leg_has_its_scored_and_unscored_scenarios() {
        assert_eq!(scored(REQUIREMENTS, Leg::Server), ["ping", "tools-list"]);
        assert_eq!(scored(REQUIREMENTS, Leg::Client), ["initialize"]);
        assert_eq!(unscored(REQUIREMENTS, Leg::Client), ["auth/x"]);
        assert_eq!(unscored(REQUIREMENTS, Leg::Server), ["tasks"]);
    }

    #[test]
    fn a_scored_scenario_that_did_not_run_is_red() {
        let outcomes = BTreeMap::from([
            ("ping".to_owned(), Outcome { passed: 2, failures: Vec::new() }),
            ("tasks".to_owned(), Outcome { passed: 1, failures: vec!["why".into()] }),
        ]);
        let verdict = judge(&["ping".into(), "tools-list".into()], &outcomes);
        assert_eq!((verdict.green, verdict.red), (1, vec!["tools-list".to_owned()]));
        assert_eq!((verdict.passed, verdict.failed), (3, 1));
    }
}
