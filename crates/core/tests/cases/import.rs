//! `json_import.json`: what a pasted text becomes.

use serde_json::{Value, json};
use toolgrove_core::export::{Secrets, Stored, bouno};
use toolgrove_core::import::read;

use crate::{Case, Ran, assert_holds, text};

pub(crate) fn run(case: &Case) -> Ran {
    let actual = match read(text(&case.given, "text")) {
        Ok(entries) => {
            let entries: Vec<_> = entries.into_iter().map(|it| it.expect("a server")).collect();
            let stored =
                entries.iter().map(|entry| Stored { id: uuid::Uuid::nil(), entry, cached_tools: Vec::new() });
            json!({"servers": bouno(stored, Secrets::Included)["bouno_mcp_servers"]})
        }
        Err(error) => json!({"error": error.to_string()}),
    };
    assert_eq!(keys(&actual), keys(&case.expect), "{actual}");
    assert_holds(&actual, &case.expect);
    true
}

fn keys(value: &Value) -> Vec<&String> {
    value.as_object().map(|it| it.keys().collect()).unwrap_or_default()
}
