//! Bundles from where they are: a folder, an archive, an address, a release, the registry.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tempfile::TempDir;
use toolgrove_bundle::manifest::{Expected, Manifest};
use toolgrove_bundle::places::System;
use toolgrove_bundle::repository::Origin;
use toolgrove_bundle::shelf::{Shelf, Staged};
use toolgrove_bundle::source::{
    Source, github_asset, github_release, read_entry, read_page, registry_entry, registry_search,
};
use toolgrove_bundle::{BundleError, source};
use toolgrove_core::Error;
use toolgrove_core::call::Caller;
use toolgrove_core::config::Mode;
use toolgrove_upstream::Fetch;
use ts_rs::TS;
use url::Url;

use super::{on_disk, refused};
use crate::App;

const REGISTRY: &str = "https://registry.modelcontextprotocol.io";
const GITHUB: &str = "https://api.github.com";
/// The largest archive that is fetched.
const ARCHIVE_MAX: u64 = 512 * 1024 * 1024;
/// Entries on a page of a search.
const PAGE: usize = 30;

/// A bundle that was read, and where it came from.
pub(super) struct Fetched {
    pub(super) staged: Staged,
    pub(super) origin: Origin,
    pub(super) warnings: Vec<String>,
}

/// Reads the bundle at `typed` onto the caller's shelf, without putting it in its place.
pub(super) async fn stage(
    app: &Arc<App>,
    caller: &Caller,
    typed: &str,
    wanted: Option<&str>,
) -> Result<Fetched, Error> {
    let parsed = Source::parse(typed).map_err(refused)?;
    let shelf = app.bundle_shelf(caller);
    let expected = Expected { id: wanted.map(str::to_owned), version: None };
    let origin = parsed.origin();
    let mut warnings = Vec::new();
    let staged = match parsed {
        Source::Folder(_) | Source::Archive(_) if app.config.mode != Mode::Solo => {
            // Whose files these are, the hub cannot know.
            return Err(refused(BundleError::Source { text: typed.to_owned() }));
        }
        Source::Folder(path) => {
            on_disk(app, move |_| shelf.stage_folder(&path, &expected, System::here())).await?
        }
        Source::Archive(path) => {
            on_disk(app, move |_| shelf.stage_archive(&path, None, &expected, System::here())).await?
        }
        Source::Url(url) => download(app, shelf, &url, None, expected).await?,
        Source::Github { owner, repo, tag } => {
            let base = app.config.sources.github.clone().map_or_else(|| address(GITHUB), Ok)?;
            let release = github_release(&base, &owner, &repo, tag.as_deref());
            let answer = document(app, "GitHub", &release).await?;
            let asset = github_asset(&answer, wanted).map_err(refused)?;
            // Which file of a release it is says nothing about what is in it.
            let expected = Expected::default();
            download(app, shelf, &address(&asset.url)?, asset.sha256, expected).await?
        }
        Source::Registry { name, version } => {
            let base = registry_base(app)?;
            let entry = registry_entry(&base, &name, version.as_deref());
            let answer = document(app, "the registry", &entry).await?;
            let entry = read_entry(&answer).map_err(refused)?;
            if entry.status != "active" {
                warnings.push(format!("the registry calls `{name}` {}", entry.status));
            }
            registered(app, shelf, &entry.server).await?
        }
    };
    Ok(Fetched { staged, origin, warnings })
}

async fn registered(app: &Arc<App>, shelf: Shelf, server: &Value) -> Result<Staged, Error> {
    let text = server.to_string();
    let manifest = Manifest::from_server_json(&text).map_err(refused)?;
    match manifest.download {
        Some(archive) => {
            let url = address(&archive.url)?;
            download(app, shelf, &url, Some(archive.sha256), Expected::default()).await
        }
        None => {
            on_disk(app, move |_| shelf.stage_server_json(&text, &Expected::default(), System::here())).await
        }
    }
}

async fn download(
    app: &Arc<App>,
    shelf: Shelf,
    url: &Url,
    digest: Option<String>,
    expected: Expected,
) -> Result<Staged, Error> {
    let folder = TempDir::new().map_err(|it| Error::Internal(it.to_string()))?;
    let file = folder.path().join("bundle.zip");
    let limit = ARCHIVE_MAX;
    fetch(app).download(url, &file, limit).await.map_err(|it| unanswered(it.to_string()))?;
    on_disk(app, move |_| {
        let staged = shelf.stage_archive(&file, digest.as_deref(), &expected, System::here());
        drop(folder);
        staged
    })
    .await
}

async fn document(app: &App, from: &'static str, url: &Url) -> Result<String, Error> {
    let answer = fetch(app).document(url).await.map_err(|it| unanswered(it.to_string()))?;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    match answer.status.as_u16() {
        200..=299 => Ok(text),
        404 => Err(refused(BundleError::Answer { from, problem: "there is no such thing".into() })),
        _ => Err(refused(BundleError::Answer { from, problem: answer.line() })),
    }
}

/// The way out to the sources, which may have an authority of their own.
fn fetch(app: &App) -> Fetch {
    let fetch = app.hub.links().fetch();
    match app.config.sources.ca_file.as_deref() {
        Some(file) => fetch.trusting(Path::new(file)),
        None => fetch.clone(),
    }
}

fn registry_base(app: &App) -> Result<Url, Error> {
    app.config.sources.registry.clone().map_or_else(|| address(REGISTRY), Ok)
}

fn address(text: &str) -> Result<Url, Error> {
    Url::parse(text).map_err(|_| refused(BundleError::Source { text: text.to_owned() }))
}

fn unanswered(detail: String) -> Error {
    Error::Bundle {
        code: "bundle.unreachable",
        status: 502,
        detail,
        hint: Some("check the address and `[sources]` in `toolgrove.toml`".into()),
    }
}

/// One entry of the registry, as a list of them shows it.
#[derive(Debug, Serialize, TS)]
pub struct Hit {
    pub name: String,
    /// Whose namespace it is in, such as `io.github.someone`.
    pub publisher: String,
    pub title: String,
    pub description: String,
    pub version: String,
    /// `active` or `deprecated`.
    pub status: String,
    pub website: Option<String>,
    /// How it can be had: `stdio` (a package that runs here), `http` or `sse`.
    pub kinds: Vec<&'static str>,
    /// What has to be given first.
    pub needs: Vec<String>,
    /// When the registry last heard of it.
    pub updated: Option<String>,
}

/// A page of what the registry has.
#[derive(Debug, Serialize, TS)]
pub struct Hits {
    pub servers: Vec<Hit>,
    pub cursor: Option<String>,
}

/// Looks for servers in the registry.
pub async fn search(app: &App, words: &str, cursor: Option<&str>) -> Result<Hits, Error> {
    let url = registry_search(&registry_base(app)?, words, cursor, PAGE);
    let answer = document(app, "the registry", &url).await?;
    let (entries, cursor) = read_page(&answer).map_err(refused)?;
    Ok(Hits { servers: entries.iter().map(hit).collect(), cursor })
}

fn hit(entry: &source::RegistryEntry) -> Hit {
    let text = |key: &str| entry.server[key].as_str().unwrap_or_default().to_owned();
    let name = text("name");
    let title = match text("title") {
        title if title.is_empty() => name.rsplit('/').next().unwrap_or_default().to_owned(),
        title => title,
    };
    let publisher = name.split_once('/').map(|it| it.0.to_owned()).unwrap_or_default();
    Hit {
        title,
        publisher,
        kinds: kinds(&entry.server),
        needs: needs(&entry.server),
        updated: entry.updated.clone(),
        description: text("description"),
        version: text("version"),
        status: entry.status.clone(),
        website: entry.server["websiteUrl"].as_str().map(str::to_owned),
        name,
    }
}

fn kinds(server: &Value) -> Vec<&'static str> {
    let ways = ["packages", "remotes"].map(|it| server[it].as_array().map(Vec::as_slice).unwrap_or_default());
    let is_remote = |kind: &str| ways[1].iter().any(|it| it["type"] == kind);
    let kinds =
        [("stdio", !ways[0].is_empty()), ("http", is_remote("streamable-http")), ("sse", is_remote("sse"))];
    kinds.into_iter().filter(|it| it.1).map(|it| it.0).collect()
}

/// The names of what every way of having it asks for.
fn needs(server: &Value) -> Vec<String> {
    let lists = [("packages", "environmentVariables"), ("remotes", "headers")];
    let inputs = lists.iter().flat_map(|(ways, inputs)| {
        let ways = server[*ways].as_array().into_iter().flatten();
        ways.flat_map(|it| it[*inputs].as_array().into_iter().flatten())
    });
    let asked =
        inputs.filter(|it| it["isRequired"] == true && it["value"].is_null() && it["default"].is_null());
    let mut names: Vec<String> = asked.filter_map(|it| it["name"].as_str()).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}
