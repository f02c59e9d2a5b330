//! What the suite found, and what was expected: scored scenarios, passed or not, waiting or not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// One scenario as it ended: what its failed checks said.
pub(crate) struct Outcome {
    pub(crate) passed: usize,
    pub(crate) failures: Vec<String>,
}

/// The suite leaves `server-<scenario>-<time>/checks.json` for every scenario it ran.
pub(crate) fn read(folder: &Path) -> Result<BTreeMap<String, Outcome>> {
    let mut outcomes = BTreeMap::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("no results in `{}`", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (Some(scenario), Ok(text)) = (scenario(&name), std::fs::read_to_string(path.join("checks.json")))
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

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `server-tools-list-2026-11-15T08-59-03-546Z` → `tools-list`.
fn scenario(folder: &str) -> Option<&str> {
    const TIME: usize = "-2026-11-15T08-59-03-546Z".len();
    let name = folder.strip_prefix("server-")?;
    name.get(..name.len().checked_sub(TIME)?)
}

/// The scenarios that count for a revision, from the requirement set that comes with the suite.
pub(crate) fn scored(requirements: &str) -> Vec<String> {
    requirements
        .lines()
        .skip_while(|it| it.trim_end() != "server:")
        .skip(1)
        .take_while(|it| it.is_empty() || it.starts_with([' ', '#']))
        .filter_map(|it| it.trim().strip_prefix("- "))
        .map(|it| it.split(" #").next().unwrap_or(it).trim().to_owned())
        .collect()
}

/// The scenarios of one cell that wait: the lines below its `[revision era]` heading.
pub(crate) fn waiting(list: &str, cell: &str) -> BTreeSet<String> {
    let heading = format!("[{cell}]");
    list.lines()
        .map(|it| it.split('#').next().unwrap_or(it).trim())
        .skip_while(|it| *it != heading)
        .skip(1)
        .take_while(|it| !it.starts_with('['))
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Prints the table of one cell; an error when something is other than expected.
pub(crate) fn judge(
    cell: &str,
    scored: &[String],
    waiting: &BTreeSet<String>,
    outcomes: &BTreeMap<String, Outcome>,
) -> Result<()> {
    let mut wrong = Vec::new();
    let mut green = 0;
    for scenario in scored {
        let outcome = outcomes.get(scenario);
        let passes = outcome.is_some_and(|it| it.failures.is_empty() && it.passed > 0);
        let checks = outcome
            .map_or("did not run".into(), |it| format!("{}/{}", it.passed, it.passed + it.failures.len()));
        green += usize::from(passes);
        let verdict = match (passes, waiting.contains(scenario)) {
            (true, false) => "ok",
            (false, true) => "waits",
            (true, true) => {
                wrong.push(format!("`{scenario}` passes: remove it from the list of those that wait"));
                "UNLIST"
            }
            (false, false) => {
                wrong.push(format!("`{scenario}` fails"));
                "FAILED"
            }
        };
        println!("  {verdict:6}  {scenario:44}  {checks}");
        if verdict == "FAILED" {
            outcome.iter().flat_map(|it| &it.failures).for_each(|it| println!("          {it}"));
        }
    }
    for (scenario, outcome) in outcomes.iter().filter(|(name, _)| !scored.contains(name)) {
        let verdict = if outcome.failures.is_empty() { "+" } else { "-" };
        println!(
            "  {verdict:6}  {scenario:44}  {}/{} (not scored)",
            outcome.passed,
            outcome.passed + outcome.failures.len()
        );
    }
    wrong.extend(
        waiting
            .iter()
            .filter(|it| !scored.contains(it))
            .map(|it| format!("`{it}` waits but is no scored scenario")),
    );
    println!("  {cell}: {green} of {} scored scenarios green, {} waiting", scored.len(), waiting.len());
    if wrong.is_empty() { Ok(()) } else { bail!("{cell}: {}", wrong.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_named_by_its_folder() {
        assert_eq!(scenario("server-tools-list-2026-11-15T08-59-03-546Z"), Some("tools-list"));
        assert_eq!(scenario("hub.log"), None);
        assert_eq!(scenario("server-x"), None);
    }

    #[test]
    fn scored_scenarios_are_those_of_the_server_section() {
        let text = "# head\n\nserver:\n  - ping\n  # why\n  - tools-list # note\n\nclient:\n  - initialize\n";
        assert_eq!(scored(text), ["ping", "tools-list"]);
    }

    #[test]
    fn a_list_has_one_section_per_cell() {
        let list = "# head\n[2025-11-25 legacy]\na # why\n\nb\n[2026-07-28 modern]\nc\n";
        assert_eq!(waiting(list, "2025-11-25 legacy").into_iter().collect::<Vec<_>>(), ["a", "b"]);
        assert!(waiting(list, "2026-07-28 legacy").is_empty());
    }

    #[test]
    fn a_waiting_scenario_that_passes_must_leave_the_list() {
        let outcomes = BTreeMap::from([("ping".to_owned(), Outcome { passed: 2, failures: Vec::new() })]);
        let error = judge("cell", &["ping".into()], &BTreeSet::from(["ping".into()]), &outcomes)
            .expect_err("it must not be accepted");
        assert!(error.to_string().contains("remove it from the list"), "{error}");
    }

    #[test]
    fn a_scenario_that_did_not_run_has_failed() {
        let error = judge("cell", &["ping".into()], &BTreeSet::new(), &BTreeMap::new())
            .expect_err("it must not be accepted");
        assert_eq!(error.to_string(), "cell: `ping` fails");
    }
}
