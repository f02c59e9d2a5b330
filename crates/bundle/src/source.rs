//! Where a bundle can be got from, and what to ask there. Nothing here opens a connection: addresses go out, answers
//! come in.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use url::Url;

use crate::error::{BundleError, Result};
use crate::manifest::is_registry_name;

/// What somebody typed after `bundle install`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Folder(PathBuf),
    Archive(PathBuf),
    /// An archive to be fetched.
    Url(Url),
    /// The archive of a release; without a tag the newest.
    Github {
        owner: String,
        repo: String,
        tag: Option<String>,
    },
    /// An entry of the registry; without a version the newest.
    Registry {
        name: String,
        version: Option<String>,
    },
}

impl Source {
    pub fn parse(text: &str) -> Result<Self> {
        let unknown = || BundleError::Source { text: text.to_owned() };
        if let Some(rest) = text.strip_prefix("github:") {
            return github(rest).ok_or_else(unknown);
        }
        if text.contains("://") {
            let url = Url::parse(text).map_err(|_| unknown())?;
            return if url.scheme() == "https" { Ok(Self::Url(url)) } else { Err(unknown()) };
        }
        let path = Path::new(text);
        if path.is_dir() {
            return Ok(Self::Folder(path.to_owned()));
        }
        let is_archive = path.extension().is_some_and(|it| it == "zip" || it == "mcpb" || it == "dxt");
        if path.is_file() && is_archive {
            return Ok(Self::Archive(path.to_owned()));
        }
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let names_path = path.is_absolute() || text.starts_with('.') || is_archive;
        if names_path || !is_registry_name(name) || version.is_some_and(|it| !is_part(it)) {
            return Err(unknown());
        }
        Ok(Self::Registry { name: name.to_owned(), version: version.map(str::to_owned) })
    }

    /// What the lockfile and the store call it.
    pub fn origin(&self) -> crate::repository::Origin {
        let (id, kind) = match self {
            Self::Folder(path) | Self::Archive(path) => (path.display().to_string(), "local"),
            Self::Url(url) => (url.to_string(), "url"),
            Self::Github { owner, repo, .. } => (format!("github:{owner}/{repo}"), "github"),
            Self::Registry { name, .. } => (name.clone(), "registry"),
        };
        crate::repository::Origin { id, kind: kind.to_owned() }
    }
}

/// `<owner>/<repo>[@tag]`
fn github(text: &str) -> Option<Source> {
    let (place, tag) = match text.split_once('@') {
        Some((place, tag)) => (place, Some(tag)),
        None => (text, None),
    };
    let (owner, repo) = place.split_once('/')?;
    // A tag may hold slashes; it is escaped wherever it goes.
    let tag_fits = tag.is_none_or(|it| !it.is_empty() && it.split('/').all(is_part));
    (is_part(owner) && is_part(repo) && tag_fits).then(|| Source::Github {
        owner: owner.to_owned(),
        repo: repo.to_owned(),
        tag: tag.map(str::to_owned),
    })
}

fn is_part(text: &str) -> bool {
    let fits = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_' | b'-' | b'+');
    !text.is_empty() && !text.starts_with(['.', '-']) && text.bytes().all(fits)
}

/// The address that describes a release. `base` is the API's, such as `https://api.github.com`.
pub fn github_release(base: &Url, owner: &str, repo: &str, tag: Option<&str>) -> Url {
    match tag {
        Some(tag) => below(base, &["repos", owner, repo, "releases", "tags", tag]),
        None => below(base, &["repos", owner, repo, "releases", "latest"]),
    }
}

/// A file of a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Asset {
    pub name: String,
    pub url: String,
    pub tag: String,
    /// When the answer names it.
    pub sha256: Option<String>,
}

/// The bundle among the files of a release: the only `.mcpb` or `.zip`, or the one that `wanted` is part of.
pub fn github_asset(answer: &str, wanted: Option<&str>) -> Result<Asset> {
    let wrong = |problem: String| BundleError::Answer { from: "GitHub", problem };
    let release: Value = serde_json::from_str(answer).map_err(|it| wrong(it.to_string()))?;
    let text = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
    let tag = text(&release, "tag_name").ok_or_else(|| wrong("it names no tag".into()))?;
    let assets = release["assets"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut found: Vec<_> = assets
        .iter()
        .filter_map(|it| {
            let (name, url) = (text(it, "name")?, text(it, "browser_download_url")?);
            let sha256 = text(it, "digest").and_then(|it| it.strip_prefix("sha256:").map(str::to_owned));
            Some(Asset { name, url, tag: tag.clone(), sha256 })
        })
        .filter(|it| [".mcpb", ".zip"].iter().any(|end| it.name.ends_with(end)))
        .filter(|it| wanted.is_none_or(|wanted| it.name.contains(wanted)))
        .collect();
    match (found.pop(), found.is_empty()) {
        (Some(asset), true) => Ok(asset),
        (Some(asset), false) => {
            let names: Vec<_> = found.iter().chain([&asset]).map(|it| format!("`{}`", it.name)).collect();
            Err(wrong(format!("release `{tag}` has several bundles: {}", names.join(", "))))
        }
        (None, _) => Err(wrong(format!("release `{tag}` has no `.mcpb` or `.zip`"))),
    }
}

/// The address of one entry of a registry. `base` is such as `https://registry.modelcontextprotocol.io`.
pub fn registry_entry(base: &Url, name: &str, version: Option<&str>) -> Url {
    below(base, &["v0.1", "servers", name, "versions", version.unwrap_or("latest")])
}

/// The address of a page of a registry's list.
pub fn registry_search(base: &Url, search: &str, cursor: Option<&str>, limit: usize) -> Url {
    let mut url = below(base, &["v0.1", "servers"]);
    let mut query = url.query_pairs_mut();
    query.append_pair("limit", &limit.to_string()).append_pair("version", "latest");
    if !search.is_empty() {
        query.append_pair("search", search);
    }
    if let Some(cursor) = cursor {
        query.append_pair("cursor", cursor);
    }
    drop(query);
    url
}

/// One entry of a registry: its `server.json`, and whether it is still to be used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegistryEntry {
    pub server: Value,
    /// `active`, `deprecated` or `deleted`.
    pub status: String,
    pub updated: Option<String>,
}

/// Reads the answer to [`registry_entry`].
pub fn read_entry(answer: &str) -> Result<RegistryEntry> {
    let value: Value = serde_json::from_str(answer).map_err(|it| from_registry(it.to_string()))?;
    let entry = entry(&value).ok_or_else(|| from_registry("it holds no server".into()))?;
    match entry.status.as_str() {
        "deleted" => Err(from_registry("the server was deleted from the registry".into())),
        _ => Ok(entry),
    }
}

/// Reads the answer to [`registry_search`]: the entries that are not deleted, and the cursor of the next page.
pub fn read_page(answer: &str) -> Result<(Vec<RegistryEntry>, Option<String>)> {
    let value: Value = serde_json::from_str(answer).map_err(|it| from_registry(it.to_string()))?;
    let servers = value["servers"].as_array().ok_or_else(|| from_registry("it holds no list".into()))?;
    let entries = servers.iter().filter_map(entry).filter(|it| it.status != "deleted").collect();
    let metadata = &value["metadata"];
    let cursor = metadata["nextCursor"].as_str().or_else(|| metadata["next_cursor"].as_str());
    Ok((entries, cursor.filter(|it| !it.is_empty()).map(str::to_owned)))
}

fn entry(value: &Value) -> Option<RegistryEntry> {
    let server = value.get("server").unwrap_or(value);
    server.get("name")?.as_str()?;
    let official = &value["_meta"]["io.modelcontextprotocol.registry/official"];
    Some(RegistryEntry {
        server: server.clone(),
        status: official["status"].as_str().unwrap_or("active").to_owned(),
        updated: official["updatedAt"].as_str().map(str::to_owned),
    })
}

fn from_registry(problem: String) -> BundleError {
    BundleError::Answer { from: "the registry", problem }
}

/// `base` with more path segments, each escaped.
fn below(base: &Url, segments: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: &Expect) {
        let parsed = match Source::parse(text) {
            Ok(source) => format!("{source:?}"),
            Err(error) => format!("{}: {error}", error.code()),
        };
        expected.assert_eq(&parsed);
    }

    #[test]
    fn a_source_is_known_by_its_shape() {
        check("github:a/b", &expect![[r#"Github { owner: "a", repo: "b", tag: None }"#]]);
        check("github:a/b@v1.0", &expect![[r#"Github { owner: "a", repo: "b", tag: Some("v1.0") }"#]]);
        check("io.github.x/y", &expect![[r#"Registry { name: "io.github.x/y", version: None }"#]]);
        check(
            "io.github.x/y@1.2.0",
            &expect![[r#"Registry { name: "io.github.x/y", version: Some("1.2.0") }"#]],
        );
        check(".", &expect![[r#"Folder(".")"#]]);
    }

    #[test]
    fn what_could_be_read_as_something_else_is_refused() {
        for text in [
            "",
            "http://x/b.zip",
            "file:///etc/passwd",
            "github:a",
            "github:../b",
            "github:a/b@",
            "github:a/b@--upload",
            "./missing",
            "/missing",
            "missing.zip",
            "a/b@../../c",
            "-x/y",
        ] {
            assert_eq!(Source::parse(text).map_err(|it| it.code()), Err("bundle.source"), "{text}");
        }
    }

    #[test]
    fn names_and_tags_are_escaped_in_addresses() {
        let base = Url::parse("http://127.0.0.1:9/api/").unwrap();
        assert_eq!(
            registry_entry(&base, "io.github.x/y", None).as_str(),
            "http://127.0.0.1:9/api/v0.1/servers/io.github.x%2Fy/versions/latest"
        );
        assert_eq!(
            github_release(&base, "a", "b", Some("x/1?y")).as_str(),
            "http://127.0.0.1:9/api/repos/a/b/releases/tags/x%2F1%3Fy"
        );
        assert_eq!(
            registry_search(&base, "a&b", Some("c=d"), 30).as_str(),
            "http://127.0.0.1:9/api/v0.1/servers?limit=30&version=latest&search=a%26b&cursor=c%3Dd"
        );
    }

    #[test]
    fn a_release_is_its_only_bundle() {
        let asset = |name: &str| format!(r#"{{"name":"{name}","browser_download_url":"https://d/{name}"}}"#);
        let release = |names: &[&str]| {
            let assets: Vec<_> = names.iter().map(|it| asset(it)).collect();
            format!(r#"{{"tag_name":"v1","assets":[{}]}}"#, assets.join(","))
        };
        let found = github_asset(&release(&["notes.txt", "b.zip"]), None).unwrap();
        assert_eq!((found.url.as_str(), found.tag.as_str()), ("https://d/b.zip", "v1"));
        let of = |names: &[&str], wanted| github_asset(&release(names), wanted).map_err(|it| it.to_string());
        assert_eq!(of(&["a.zip", "b.mcpb"], Some("b")).unwrap().name, "b.mcpb");
        assert_eq!(
            of(&["a.zip", "b.mcpb"], None).unwrap_err(),
            "the answer of GitHub cannot be used: release `v1` has several bundles: `a.zip`, `b.mcpb`"
        );
        assert_eq!(
            of(&["notes.txt"], None).unwrap_err(),
            "the answer of GitHub cannot be used: release `v1` has no `.mcpb` or `.zip`"
        );
    }

    #[test]
    fn a_page_leaves_deleted_servers_out() {
        let server = |name: &str, status: &str| {
            format!(
                r#"{{"server":{{"name":"{name}"}},"_meta":{{"io.modelcontextprotocol.registry/official":{{"status":"{status}"}}}}}}"#
            )
        };
        let page = format!(
            r#"{{"servers":[{},{}],"metadata":{{"next_cursor":"c"}}}}"#,
            server("x/a", "deprecated"),
            server("x/b", "deleted")
        );
        let (entries, cursor) = read_page(&page).unwrap();
        assert_eq!(entries.iter().map(|it| it.status.as_str()).collect::<Vec<_>>(), ["deprecated"]);
        assert_eq!(cursor.as_deref(), Some("c"));
        assert!(read_entry(&server("x/b", "deleted")).is_err());
    }
}
