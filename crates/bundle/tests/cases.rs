//! Runs the examples of `/cases` about bundles: one trial per case, values read from the files. A case that no
//! function here knows fails, and so does a file that is missing.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic and print its figures")]

#[path = "it/kit.rs"]
mod kit;

mod cases {
    pub(crate) mod duplicates;
    pub(crate) mod manifest;
    pub(crate) mod mcp_json;
    pub(crate) mod variables;
}

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;
use serde_json::Value;

/// Whether a case was run at all. A wrong result panics.
pub(crate) type Ran = bool;

type Run = fn(&Case) -> Ran;

const FILES: &[(&str, Run)] = &[
    ("bundle_manifest", cases::manifest::run),
    ("bundle_variables", cases::variables::run),
    ("bundle_mcp_json", cases::mcp_json::run),
    ("bundle_duplicates", cases::duplicates::run),
];

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) given: Value,
    pub(crate) expect: Value,
    #[serde(default)]
    pub(crate) avoid: Value,
}

fn main() {
    let mut trials = Vec::new();
    for (file, run) in FILES {
        match read(file) {
            Ok(cases) => trials.extend(cases.into_iter().map(|case| trial(file, case, *run))),
            Err(problem) => trials.push(Trial::test(*file, move || Err(Failed::from(problem)))),
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

fn trial(file: &str, case: Case, run: Run) -> Trial {
    Trial::test(format!("{file}::{}", case.id), move || {
        if run(&case) { Ok(()) } else { Err("no test knows this case".into()) }
    })
}

/// A member that must be a text.
pub(crate) fn text<'a>(given: &'a Value, key: &str) -> &'a str {
    given[key].as_str().unwrap_or_else(|| panic!("`{key}` is not a text in {given}"))
}
