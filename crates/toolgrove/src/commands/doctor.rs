//! `toolgrove doctor`: what is wrong, and what to do about it.
//!
//! Without a slug it checks this machine, then every instance's health; with one it walks the way to that server.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde::Serialize;
use serde_json::{Value, json};

use super::instance::is_worth_showing;
use super::server::text;
use crate::api::{Api, segment};
use crate::args::Doctor;
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::{Mark, Printer};
use crate::{lock, start};

pub(crate) async fn run(args: Doctor, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    match args.slug {
        Some(slug) => Api::with(paths, async |api| walk(api, &slug, printer).await).await,
        None => check_all(paths, printer).await,
    }
}

async fn walk(api: &Api, slug: &str, printer: &Printer) -> Result<Exit, Failure> {
    let progress = printer.progress(format!("walking the way to `{slug}`"));
    let answer = api.post(&format!("/api/mcp/instances/{}/doctor", segment(slug)), &json!({})).await?;
    drop(progress);
    printer.json_bytes(&answer.bytes);
    let found = answer.value()?;
    let steps = found["steps"].as_array().map_or(&[][..], Vec::as_slice);
    let width = steps.iter().map(|it| text(it, "name").chars().count()).max().unwrap_or_default();
    for step in steps {
        let mark = if step["ok"] == true { Mark::Good } else { Mark::Bad };
        let took =
            step["ms"].as_u64().filter(|it| *it > 0).map(|it| format!(" ({it} ms)")).unwrap_or_default();
        printer.marked(mark, &text(step, "name"), width, &format!("{}{took}", text(step, "detail")));
    }
    let is_well = steps.iter().all(|it| it["ok"] == true);
    let advice = text(&found, "advice");
    if is_well {
        printer.line(&advice);
        return Ok(Exit::Done);
    }
    printer.hint(&advice);
    Ok(Exit::Failed)
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Check {
    fn of(name: &'static str, found: Result<String, Failure>) -> Self {
        match found {
            Ok(detail) => Self { name, ok: true, detail, hint: None },
            Err(failure) => {
                Self { name, ok: false, detail: failure.problem.detail, hint: failure.problem.hint }
            }
        }
    }
}

async fn check_all(paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    let running = lock::peek(paths).filter(|it| it.socket.is_some());
    let hub = match &running {
        Some(place) => place.sentence().replace(" already", ""),
        None => "not running; commands start one for themselves".into(),
    };
    let mut checks = vec![Check::of("configuration", configuration(paths)), Check::of("hub", Ok(hub))];
    let mut instances = Vec::new();
    // Whatever keeps the hub from starting is one of these checks.
    let opened =
        Api::with(paths, async |api| api.get("/api/mcp/instances").await?.read::<Vec<Value>>()).await;
    checks.push(Check::of("data folder", data_folder(paths)));
    checks.push(Check::of("key", start::local_key(paths).map(|_| paths.key().display().to_string())));
    match opened {
        Ok(found) => {
            checks.push(Check::of("database", Ok("answers".into())));
            instances = found;
            instances.retain(is_worth_showing);
        }
        Err(failure) if checks.iter().all(|it| it.ok) => checks.push(Check::of("database", Err(failure))),
        Err(_) => {}
    }
    let health = |it: &Value| Mark::of(&text(&it["health"], "level"));
    let is_well = checks.iter().all(|it| it.ok)
        && instances.iter().all(|it| !matches!(health(it), Mark::Bad | Mark::Attention));
    printer.json(&json!({ "ok": is_well, "checks": checks, "instances": instances }));

    let width = checks.iter().map(|it| it.name.len()).max().unwrap_or_default();
    for check in &checks {
        printer.marked(if check.ok { Mark::Good } else { Mark::Bad }, check.name, width, &check.detail);
        if let Some(hint) = &check.hint {
            printer.hint(hint);
        }
    }
    if !instances.is_empty() {
        printer.line("");
    }
    let width = instances.iter().map(|it| text(it, "slug").len()).max().unwrap_or_default();
    for it in &instances {
        let mut summary = text(&it["health"], "summary");
        // A hub of our own has not talked to anybody yet.
        if let Some(error) = it["last_error"].as_str()
            && health(it) == Mark::Good
        {
            summary = format!("{summary}; last time: {error}");
        }
        printer.marked(health(it), &text(it, "slug"), width, &summary);
    }
    if let Some(ill) = instances.iter().find(|it| matches!(health(it), Mark::Bad | Mark::Attention)) {
        printer
            .hint(format_args!("run `toolgrove doctor {}` to see at which step it fails", text(ill, "slug")));
    }
    Ok(if is_well { Exit::Done } else { Exit::Failed })
}

fn configuration(paths: &Paths) -> Result<String, Failure> {
    let config = start::read_config(paths)?;
    let place = paths.config.display();
    Ok(match (paths.config.exists(), config.servers.len()) {
        (false, _) => format!("no file at `{place}`, so the defaults hold"),
        (true, servers) => format!("`{place}`, servers: {servers}"),
    })
}

fn data_folder(paths: &Paths) -> Result<String, Failure> {
    let place = paths.data.display();
    let found = fs::metadata(&paths.data)
        .map_err(|error| Failure::io(format_args!("cannot use `{place}`"), &error))?;
    if found.mode() & 0o077 != 0 {
        return Err(Failure::new("cli.io", format!("others may look into `{place}`"))
            .hint(format!("run `chmod 700 {place}`")));
    }
    Ok(place.to_string())
}
