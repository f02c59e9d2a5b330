//! `toolgrove bundle …`: sets of servers. What will run is shown before anything is written.

use http::Method;
use serde_json::{Map, Value, json};

use super::server::{confirm, count, number, text};
use crate::api::{Answer, Api, segment, with_query};
use crate::args::{Bundle, BundleAgree, BundleInstall, BundleScope, BundleUpdate};
use crate::failure::{Exit, Failure};
use crate::given;
use crate::paths::Paths;
use crate::printer::{Mark, Printer};
use crate::table::plain;

pub(crate) async fn run(args: Bundle, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    Api::with(paths, async |api| match args {
        Bundle::Install(args) => install(api, args, printer).await,
        Bundle::Update(args) => update(api, args, printer).await,
        Bundle::Uninstall { bundle, yes } => uninstall(api, &bundle, yes, printer).await,
        Bundle::List => list(api, printer).await,
        Bundle::Show { bundle } => show(api, &bundle, printer).await,
        Bundle::Search { words } => search(api, &words.join(" "), printer).await,
    })
    .await
}

fn path(bundle: &str) -> String {
    format!("/api/bundles/{}", segment(bundle))
}

async fn install(api: &Api, args: BundleInstall, printer: &Printer) -> Result<Exit, Failure> {
    let mut order = Map::new();
    order.insert("source".into(), whole_path(&args.source).into());
    if let Some(scope) = args.scope {
        order.insert("target".into(), scope.word().into());
        if matches!(scope, BundleScope::Workspace | BundleScope::Repository) {
            let folder = args.folder.unwrap_or_else(|| ".".into());
            let folder = std::path::absolute(&folder)
                .map_err(|error| Failure::io(format_args!("cannot use `{}`", folder.display()), &error))?;
            let folder = folder.canonicalize().unwrap_or(folder);
            order.insert("folder".into(), json!(folder));
        }
    }
    for (key, value) in [("bundle", args.bundle), ("editor", args.editor), ("client", args.client)] {
        order.extend(value.map(|it| (key.to_owned(), it.into())));
    }
    order.insert("local_only".into(), args.local_only.into());
    order.insert("keep_env".into(), args.keep_env.into());
    let existing = match (args.overwrite, args.skip) {
        (true, _) => "overwrite",
        (_, true) => "skip",
        _ => "refuse",
    };
    order.insert("existing".into(), existing.into());
    let way = Way { preview: "/api/bundles/preview".into(), put: "/api/bundles".into(), done: "installed" };
    put(api, order, args.agree, &way, printer).await
}

async fn update(api: &Api, args: BundleUpdate, printer: &Printer) -> Result<Exit, Failure> {
    let mut order = Map::new();
    if let Some(source) = args.from {
        order.insert("source".into(), whole_path(&source).into());
    }
    let way = Way {
        preview: with_query("/api/bundles/preview", &[("update", Some(&args.bundle))]),
        put: format!("{}/update", path(&args.bundle)),
        done: "updated",
    };
    put(api, order, args.agree, &way, printer).await
}

/// Where an order is shown and where it is carried out.
struct Way {
    preview: String,
    put: String,
    done: &'static str,
}

/// Shows what an order does, asks, and has it done: exactly what was shown, or nothing.
async fn put(
    api: &Api,
    mut order: Map<String, Value>,
    agree: BundleAgree,
    way: &Way,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let mut settings: Map<String, Value> =
        given::read_all(agree.settings)?.into_iter().map(|(key, it)| (key, it.into())).collect();
    order.insert("settings".into(), settings.clone().into());
    let progress = printer.progress("looking at the bundle".into());
    let answer = api.post(&way.preview, &Value::Object(order.clone())).await?;
    drop(progress);
    let plan = answer.value()?;
    if agree.preview {
        printer.json_bytes(&answer.bytes);
    }
    describe(&plan, printer);
    if agree.preview {
        return Ok(Exit::Done);
    }
    if plan["problem"].is_string() {
        ask_settings(&plan, &mut settings, printer)?;
        order.insert("settings".into(), settings.into());
    }
    if !agree.yes {
        confirm(printer, &format!("Install \"{}\"?", text(&plan, "name")))?;
    }
    order.insert("digest".into(), plan["digest"].clone());
    let progress = printer.progress("installing".into());
    let answer = api.post(&way.put, &Value::Object(order)).await?;
    drop(progress);
    report(&answer, way.done, printer)
}

/// A source on this disk is meant from here, not from where the hub runs.
fn whole_path(source: &str) -> String {
    match std::fs::canonicalize(source) {
        Ok(path) if !source.starts_with("github:") && !source.contains("://") => path.display().to_string(),
        _ => source.to_owned(),
    }
}

fn rows<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

/// What will run or be reached, with its settings.
fn describe(plan: &Value, printer: &Printer) {
    let before = plan["installed"].as_str().map(|it| format!(", in the place of {it}")).unwrap_or_default();
    printer.note(format_args!("{} {}{before}", plain(&text(plan, "name")), plain(&text(plan, "version"))));
    if plan["description"].as_str().is_some_and(|it| !it.is_empty()) {
        printer.note(format_args!("  {}", plain(&text(plan, "description"))));
    }
    for server in rows(plan, "servers") {
        let verb = if text(server, "kind") == "stdio" { "runs" } else { "reaches" };
        printer.note(format_args!(
            "  {verb} `{}` as {}",
            plain(&text(server, "endpoint")),
            text(server, "name")
        ));
        let definition = &server["definition"];
        for group in ["env", "headers"] {
            for (key, value) in definition[group].as_object().into_iter().flatten() {
                let value = plain(value.as_str().unwrap_or_default());
                printer.note(format_args!("    with {} = {value}", plain(key)));
            }
        }
        if let Some(file) = definition["envFile"].as_str() {
            printer.note(format_args!("    with the variables of `{}`", plain(file)));
        }
        for flag in rows(server, "flags") {
            printer.warning(format_args!(
                "its description holds {}: {}",
                text(flag, "kind"),
                text(flag, "excerpt")
            ));
        }
    }
    for setting in rows(plan, "settings") {
        let need = if setting["required"] == true { "needs" } else { "takes" };
        printer.note(format_args!("  {need} `{}`: {}", text(setting, "key"), plain(&about(setting))));
    }
    for removed in rows(plan, "removed").filter_map(Value::as_str) {
        printer.note(format_args!("  removes {removed}"));
    }
    for it in rows(plan, "duplicates") {
        let of = text(it, "duplicateOf");
        printer.note(format_args!("  {} is a duplicate of {of} and stays off", text(it, "serverName")));
    }
    match plan["file"].as_str() {
        Some(file) => printer.note(format_args!("  writes `{file}`")),
        None => printer.note("  writes no file; the hub alone runs it"),
    }
    warn(plan, printer);
}

fn about(setting: &Value) -> String {
    let title = text(setting, "title");
    match text(setting, "description") {
        description if description.is_empty() => title,
        description => format!("{title}. {description}"),
    }
}

/// Asks on the terminal for every setting that is needed and was not given.
fn ask_settings(plan: &Value, settings: &mut Map<String, Value>, printer: &Printer) -> Result<(), Failure> {
    let missing = rows(plan, "settings").filter(|it| {
        it["required"] == true && it["default"].is_null() && !settings.contains_key(&text(it, "key"))
    });
    let missing: Vec<_> = missing.map(|it| given::plain(&text(it, "key"))).collect();
    if missing.is_empty() || !printer.is_answered() {
        let key = text(plan, "problem").split('`').nth(1).unwrap_or("KEY").to_owned();
        let failure = Failure::new("bundle.setting", text(plan, "problem"));
        return Err(
            Failure { exit: Exit::Usage, ..failure }.hint(format!("give it with `--set {key}=<value>`"))
        );
    }
    for given in missing {
        let (key, value) = given.map_err(Failure::usage)?.read()?;
        settings.insert(key, value.into());
    }
    Ok(())
}

fn warn(it: &Value, printer: &Printer) {
    for warning in rows(it, "warnings").filter_map(Value::as_str) {
        printer.warning(plain(warning));
    }
    for failed in rows(it, "failed") {
        printer.error(&format!("`{}` is left out: {}", text(failed, "server"), text(failed, "error")));
    }
}

fn report(answer: &Answer, done: &str, printer: &Printer) -> Result<Exit, Failure> {
    printer.json_bytes(&answer.bytes);
    let it = answer.value()?;
    printer.line(format_args!("{done} `{}` {}", text(&it, "id"), text(&it, "version")));
    for started in rows(&it, "started") {
        let (server, slug) = (text(started, "server"), text(started, "slug"));
        match (started["tools"].as_u64(), started["error"].as_str()) {
            (Some(_), _) => {
                let tools = count(usize::try_from(number(started, "tools")).unwrap_or_default());
                printer.marked(Mark::Good, &server, 0, &format!("{tools} as `{slug}`"));
            }
            (None, error) => printer.marked(Mark::Attention, &server, 0, error.unwrap_or("not asked")),
        }
    }
    let failed = rows(&it, "failed").next().is_some();
    warn(&it, printer);
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

async fn uninstall(api: &Api, bundle: &str, yes: bool, printer: &Printer) -> Result<Exit, Failure> {
    match api.get(&path(bundle)).await {
        // What is not there is gone already.
        Err(failure) if failure.problem.code == "bundle.unknown" => {
            printer.json(&json!({ "id": bundle, "removed": [], "servers": 0 }));
            printer.line(format_args!("`{bundle}` is not installed; 0 servers removed"));
            return Ok(Exit::Done);
        }
        found => drop(found?),
    }
    if !yes {
        confirm(printer, &format!("Remove bundle \"{bundle}\"?"))?;
    }
    let answer = api.send(Method::DELETE, &path(bundle), None).await?;
    printer.json_bytes(&answer.bytes);
    let gone = answer.value()?;
    let servers = match number(&gone, "servers") {
        1 => "1 server".to_owned(),
        servers => format!("{servers} servers"),
    };
    printer.line(format_args!("removed `{bundle}` with {servers}"));
    for name in rows(&gone, "enabled").filter_map(Value::as_str) {
        printer.line(format_args!("  {name} takes its place"));
    }
    warn(&gone, printer);
    Ok(Exit::Done)
}

async fn list(api: &Api, printer: &Printer) -> Result<Exit, Failure> {
    let answer = api.get("/api/bundles").await?;
    printer.json_bytes(&answer.bytes);
    let bundles: Vec<Value> = answer.read()?;
    if bundles.is_empty() {
        printer.line("no bundles yet");
        printer.hint("install one with `toolgrove bundle install SOURCE`");
        return Ok(Exit::Done);
    }
    let rows: Vec<_> = bundles
        .iter()
        .map(|it| {
            let servers: Vec<&Value> = rows(it, "servers").collect();
            let changed = servers.iter().any(|it| number(it, "changed") > 0);
            let names: Vec<_> = servers.iter().map(|it| standing(it)).collect();
            let cells = vec![
                text(it, "id"),
                text(it, "version"),
                if it["file"].is_null() { "none".to_owned() } else { text(it, "scope") },
                names.join(", "),
                text(it, "source"),
            ];
            (if changed { Mark::Attention } else { Mark::Good }, cells)
        })
        .collect();
    printer.marked_table(&["BUNDLE", "VERSION", "SCOPE", "SERVERS", "FROM"], &rows);
    Ok(Exit::Done)
}

fn standing(server: &Value) -> String {
    let name = text(server, "server");
    match (server["state"].as_str(), server["duplicate_of"].as_str()) {
        (Some("duplicate"), Some(of)) => format!("{name} (duplicate of {of})"),
        (Some("off"), _) => format!("{name} (off)"),
        _ if number(server, "changed") > 0 => format!("{name} (changed)"),
        _ => name,
    }
}

async fn show(api: &Api, bundle: &str, printer: &Printer) -> Result<Exit, Failure> {
    let answer = api.get(&path(bundle)).await?;
    printer.json_bytes(&answer.bytes);
    let it = answer.value()?;
    for (key, value) in [
        ("bundle", text(&it, "id")),
        ("version", text(&it, "version")),
        ("name", text(&it, "name")),
        ("description", text(&it, "description")),
        ("author", text(&it, "author")),
        ("from", text(&it, "source")),
        ("sha256", text(&it, "sha256")),
        ("scope", text(&it, "scope")),
        ("file", text(&it, "file")),
    ] {
        if !value.is_empty() {
            printer.line(format_args!("{key:11}  {}", plain(&value)));
        }
    }
    for server in rows(&it, "servers") {
        printer.line(format_args!("\n{}", plain(&standing(server))));
        for (key, value) in [
            ("slug", text(server, "slug")),
            ("endpoint", text(server, "endpoint")),
            ("is", text(&server["health"], "summary")),
        ] {
            if !value.is_empty() {
                printer.line(format_args!("  {key:9}  {}", plain(&value)));
            }
        }
    }
    Ok(Exit::Done)
}

async fn search(api: &Api, words: &str, printer: &Printer) -> Result<Exit, Failure> {
    let answer = api.get(&with_query("/api/bundles/search", &[("q", Some(words))])).await?;
    printer.json_bytes(&answer.bytes);
    let found = answer.value()?;
    let rows: Vec<_> = rows(&found, "servers")
        .map(|it| vec![text(it, "name"), text(it, "version"), text(it, "description")])
        .collect();
    if rows.is_empty() {
        printer.line("nothing found");
        return Ok(Exit::Done);
    }
    printer.table(&["NAME", "VERSION", "DESCRIPTION"], &rows);
    Ok(Exit::Done)
}
