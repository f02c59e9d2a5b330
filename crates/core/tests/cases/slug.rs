//! `slug_and_validation.json`: defaults and limits of slugs, names and URLs.

use serde_json::json;
use toolgrove_core::Error;
use toolgrove_core::name::{check_name, check_server_url, check_slug, default_slug};

use crate::{Case, Ran, text};

pub(crate) fn run(case: &Case) -> Ran {
    let about = |row: &str| case.req.iter().any(|it| it == row);
    let given = &case.given;
    let actual = if about("O-20") {
        json!(default_slug(text(given, "url")))
    } else if about("O-18") && given["url"].is_string() {
        json!(verdict(check_server_url(text(given, "url")).map(drop)))
    } else if given["slug"].is_string() {
        json!(verdict(check_slug(text(given, "slug"))))
    } else if case.id == "name-limits" {
        let accepted: Vec<_> = (0..300).filter(|it| check_name(&"x".repeat(*it)).is_ok()).collect();
        json!({"min": accepted.first(), "max": accepted.last()})
    } else {
        return false;
    };
    assert_eq!(actual, case.expect);
    true
}

fn verdict(result: Result<(), Error>) -> String {
    match result {
        Ok(()) => "accepted".into(),
        Err(error) => format!("rejected, {} {}", error.status(), error.code()),
    }
}
