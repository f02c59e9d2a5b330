//! `toolgrove tabs …`: browsers, their tabs, and how a browser gets to know the hub.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use http::Method;
use serde_json::{Value, json};
use toolgrove_server::tabs::EXTENSION;

use super::server::text;
use crate::api::{Api, segment};
use crate::args::{Tabs, TabsInstall};
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::Printer;

/// The name under which browsers know this program.
const HOST: &str = "dev.toolgrove.pair";
/// Browsers and the folders of theirs, under the folder of configurations.
const BROWSERS: [(&str, &str); 7] = [
    ("Chromium", "chromium"),
    ("Google Chrome", "google-chrome"),
    ("Google Chrome Beta", "google-chrome-beta"),
    ("Google Chrome for Testing", "google-chrome-for-testing"),
    ("Microsoft Edge", "microsoft-edge"),
    ("Brave", "BraveSoftware/Brave-Browser"),
    ("Vivaldi", "vivaldi"),
];

pub(crate) async fn run(args: Tabs, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    if let Tabs::Install(args) = args {
        return install(&args, paths, printer);
    }
    Api::with(paths, async |api| match args {
        Tabs::List => list(api, printer).await,
        Tabs::Pair => pair(api, printer).await,
        Tabs::Forget { what } => forget(api, &what, printer).await,
        Tabs::Install(_) => Ok(Exit::Done),
    })
    .await
}

/// Makes this program known to the browsers that are installed.
fn install(args: &TabsInstall, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    let program = program(paths)?;
    let manifest = json!({
        "name": HOST,
        "description": "Tells the Toolgrove extension where the hub is",
        "path": program,
        "type": "stdio",
        "allowed_origins": [format!("chrome-extension://{EXTENSION}/")],
    });
    let mut written = Vec::new();
    for (browser, folder) in places(args)? {
        let folder = folder.join("NativeMessagingHosts");
        let file = folder.join(format!("{HOST}.json"));
        let failed = |error| Failure::io(format_args!("cannot write `{}`", file.display()), &error);
        fs::create_dir_all(&folder).map_err(failed)?;
        fs::write(&file, format!("{manifest:#}\n")).map_err(failed)?;
        written.push((browser, file));
    }
    if written.is_empty() {
        return Err(Failure::new("tabs.no-browser", "no browser was found that takes the extension").hint(
            "name its folder: `toolgrove tabs install --user-data-dir DIR`, or use `toolgrove tabs pair`",
        ));
    }
    let files: Vec<_> = written.iter().map(|it| json!({ "browser": it.0, "file": it.1 })).collect();
    printer.json(&json!({ "extension": EXTENSION, "program": program, "written": files }));
    for (browser, file) in &written {
        printer.line(format_args!("{browser} knows this hub now ({})", file.display()));
    }
    printer.line("\nLoad the extension, if it is not there yet:");
    printer.line("  1. open `chrome://extensions` and turn on Developer mode");
    printer.line("  2. press Load unpacked and choose the folder `extension/dist` (`cargo xtask extension`)");
    printer.line("  3. open its popup, allow it to talk to the hub, and share a site");
    Ok(Exit::Done)
}

/// The folders of the browsers that are there, or those that were named.
fn places(args: &TabsInstall) -> Result<Vec<(String, PathBuf)>, Failure> {
    if !args.user_data_dirs.is_empty() {
        let named = args.user_data_dirs.iter().map(|it| (it.display().to_string(), it.clone()));
        return Ok(named.collect());
    }
    let home = std::env::home_dir().ok_or_else(|| Failure::usage("there is no home folder"))?;
    let base = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
    let all = BROWSERS.iter().map(|(name, folder)| ((*name).to_owned(), home.join(base).join(folder)));
    Ok(all.filter(|it| it.1.is_dir()).collect())
}

/// What browsers are to start. Where the data is not in its usual place a script of ours remembers it.
fn program(paths: &Paths) -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::io("cannot find this program", &error))?;
    if std::env::var_os("TOOLGROVE_DATA").is_none_or(|it| it.is_empty()) {
        return Ok(own);
    }
    paths.make_data()?;
    let script = paths.data.join("pair-browser");
    let failed = |error| Failure::io(format_args!("cannot write `{}`", script.display()), &error);
    let text = format!("#!/bin/sh\nTOOLGROVE_DATA={} exec {} \"$@\"\n", quoted(&paths.data), quoted(&own));
    fs::write(&script, text).map_err(failed)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).map_err(failed)?;
    Ok(script)
}

/// A path as a shell reads it back.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

async fn list(api: &Api, printer: &Printer) -> Result<Exit, Failure> {
    let answer = api.get("/api/tabs").await?;
    printer.json_bytes(&answer.bytes);
    let all = answer.value()?;
    let items = |key: &str| all[key].as_array().cloned().unwrap_or_default();
    let (browsers, tabs, remembered) = (items("browsers"), items("tabs"), items("remembered"));
    if browsers.is_empty() && tabs.is_empty() {
        printer.line("no browser is paired");
        printer.hint("run `toolgrove tabs install`, or `toolgrove tabs pair` for a browser elsewhere");
    } else {
        let rows: Vec<_> = browsers
            .iter()
            .map(|it| {
                let state = if it["connected"] == true { "connected" } else { "away" };
                vec![text(it, "name"), state.to_owned(), text(it, "id")]
            })
            .collect();
        printer.table(&["BROWSER", "STATE", "ID"], &rows);
    }
    if !tabs.is_empty() {
        let rows: Vec<_> = tabs
            .iter()
            .map(|it| {
                let active = if it["active"] == true { "active" } else { "" };
                let tools = it["tools"].as_array().map_or(0, Vec::len);
                let tools = if tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") };
                vec![text(it, "domain"), it["tab"].to_string(), tools, active.to_owned(), text(it, "title")]
            })
            .collect();
        printer.line("");
        printer.table(&["DOMAIN", "TAB", "OFFERS", "", "TITLE"], &rows);
    }
    if !remembered.is_empty() {
        let rows: Vec<_> = remembered.iter().map(|it| vec![text(it, "name"), text(it, "domain")]).collect();
        printer.line("");
        printer.table(&["REMEMBERED TOOL", "DOMAIN"], &rows);
    }
    Ok(Exit::Done)
}

async fn pair(api: &Api, printer: &Printer) -> Result<Exit, Failure> {
    if !api.is_running() {
        return Err(Failure::new("hub.none", "there is no running hub that a browser could be paired with")
            .hint("start one with `toolgrove serve`"));
    }
    let answer = api.post("/api/tabs/pair", &Value::Null).await?;
    printer.json_bytes(&answer.bytes);
    let pairing = answer.value()?;
    printer.line("Paste this into the popup of the extension:");
    printer.line(text(&pairing, "paste"));
    printer.line(format_args!("\nor open this address in the browser:\n{}", text(&pairing, "link")));
    printer.note(format_args!("it works once, within {} s", pairing["seconds"]));
    Ok(Exit::Done)
}

/// Forgets a browser, a remembered tool, or everything that is remembered of a domain.
async fn forget(api: &Api, what: &str, printer: &Printer) -> Result<Exit, Failure> {
    let all = api.get("/api/tabs").await?.value()?;
    let browsers = all["browsers"].as_array().cloned().unwrap_or_default();
    let meant: Vec<_> = browsers.iter().filter(|it| it["id"] == what || it["name"] == what).collect();
    let path = match meant[..] {
        [one] => format!("/api/tabs/browsers/{}", segment(&text(one, "id"))),
        [] => format!("/api/tabs/tools/{}", segment(what)),
        _ => {
            return Err(Failure::new("request.invalid", format!("several browsers are called `{what}`"))
                .hint("give the id that `toolgrove tabs list` shows"));
        }
    };
    let answer = api.send(Method::DELETE, &path, None).await.map_err(|failure| {
        if meant.is_empty() {
            Failure::new(
                "request.not-found",
                format!("no browser, remembered tool or domain is called `{what}`"),
            )
            .hint("run `toolgrove tabs list` to see them")
        } else {
            failure
        }
    })?;
    printer.json_bytes(&answer.bytes);
    printer.line(format_args!("forgot `{what}`"));
    Ok(Exit::Done)
}
