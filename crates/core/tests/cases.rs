//! Runs the examples of `/cases` that need no hub: one trial per case, values read from the files.
//!
//! A case is run here, or it stands in `elsewhere.txt`; one that is neither fails, and so does a line of that
//! file whose case is gone.

mod cases {
    pub(crate) mod import;
    pub(crate) mod naming;
    pub(crate) mod prompt;
    pub(crate) mod schema;
    pub(crate) mod slug;
    pub(crate) mod tabs;
    pub(crate) mod xml;
}

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;
use serde_json::Value;

/// Whether a case was run at all. A wrong result panics.
pub(crate) type Ran = bool;

type Run = fn(&Case) -> Ran;

const FILES: &[(&str, Run)] = &[
    ("naming", cases::naming::run),
    ("json_import", cases::import::run),
    ("schema_mapping", cases::schema::run),
    ("prompt_section", cases::prompt::run),
    ("xml_tool_calls", cases::xml::run),
    ("slug_and_validation", cases::slug::run),
    ("tabs_hub", cases::tabs::run),
    ("tabs_wire", cases::tabs::run),
];

/// Cases that need a hub, as `file id` lines: `crates/toolgrove/tests/cases` reads the same list and runs them.
const ELSEWHERE: &str = include_str!("elsewhere.txt");

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) req: Vec<String>,
    pub(crate) given: Value,
    pub(crate) expect: Value,
}

fn main() {
    let mut trials = Vec::new();
    let mut known = Vec::new();
    for (file, run) in FILES {
        match read(file) {
            Ok(cases) => {
                known.extend(cases.iter().map(|it| (*file, it.id.clone())));
                trials.extend(
                    cases
                        .into_iter()
                        .filter(|it| !is_elsewhere(file, &it.id))
                        .map(|case| trial(file, case, *run)),
                );
            }
            Err(problem) => trials.push(Trial::test(*file, move || Err(Failed::from(problem)))),
        }
    }
    for line in ELSEWHERE.lines() {
        if !known.iter().any(|(file, id)| format!("{file} {id}") == line) {
            trials.push(Trial::test(line.replace(' ', "::"), || {
                Err("listed in elsewhere.txt, but no such case".into())
            }));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn read(file: &str) -> Result<Vec<Case>, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../cases/{file}.json"));
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let file: File = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    if file.cases.is_empty() { Err("no cases".into()) } else { Ok(file.cases) }
}

fn is_elsewhere(file: &str, id: &str) -> bool {
    ELSEWHERE.lines().any(|line| line == format!("{file} {id}"))
}

fn trial(file: &str, case: Case, run: Run) -> Trial {
    Trial::test(format!("{file}::{}", case.id), move || {
        if run(&case) { Ok(()) } else { Err("neither run here nor listed in elsewhere.txt".into()) }
    })
}

/// A member of `given` that must be a text.
pub(crate) fn text<'a>(given: &'a Value, key: &str) -> &'a str {
    given[key].as_str().unwrap_or_else(|| panic!("`{key}` is not a text in {given}"))
}

/// Every member that is expected is there; more may be.
#[track_caller]
pub(crate) fn assert_holds(actual: &Value, expected: &Value) {
    match (actual, expected) {
        (Value::Object(actual_members), Value::Object(members)) => {
            for (key, value) in members {
                assert_holds(actual_members.get(key).unwrap_or(&Value::Null), value);
            }
        }
        (Value::Array(actual_items), Value::Array(items)) => {
            assert_eq!(actual_items.len(), items.len(), "{actual} is not {expected}");
            actual_items.iter().zip(items).for_each(|(actual, expected)| assert_holds(actual, expected));
        }
        _ => assert_eq!(actual, expected),
    }
}
