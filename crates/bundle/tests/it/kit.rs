//! A home with one target, and bundles to put into it.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use toolgrove_bundle::BundleError;
use toolgrove_bundle::files::Disk;
use toolgrove_bundle::install::{self, Change, Existing, How, Outcome, Package};
use toolgrove_bundle::manifest::{Answers, Manifest};
use toolgrove_bundle::places::{CommitMode, Home, System, Target};
use toolgrove_bundle::repository::Origin;
use toolgrove_bundle::variables::Env;

pub(crate) struct Kit {
    pub(crate) folder: TempDir,
    pub(crate) target: Target,
    pub(crate) disk: Disk,
    pub(crate) home: Home,
    pub(crate) existing: Existing,
    pub(crate) env: Env,
    pub(crate) environment: HashMap<String, String>,
    pub(crate) origin: Origin,
}

impl Kit {
    /// A workspace without any `.vscode`.
    pub(crate) fn new() -> Self {
        let folder = quick_folder();
        let target = Target::workspace(&folder.path().join("ws"));
        std::fs::create_dir(folder.path().join("ws")).unwrap();
        let home = Home::at(&folder.path().join("home"), System::Linux);
        Self {
            target,
            home,
            folder,
            disk: Disk::default(),
            existing: Existing::Refuse,
            env: Env::Filled,
            environment: HashMap::new(),
            origin: Origin { id: "here".into(), kind: "local".into() },
        }
    }

    /// A workspace whose `mcp.json` holds this.
    pub(crate) fn with(text: &str) -> Self {
        let kit = Self::new();
        kit.write(text);
        kit
    }

    pub(crate) fn repository(mode: CommitMode) -> Self {
        let mut kit = Self::new();
        let root = kit.folder.path().join("ws");
        std::fs::create_dir_all(root.join(".git/info")).unwrap();
        kit.target = Target::repository(&root, mode);
        kit
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    pub(crate) fn how<'a>(&'a self, environment: &'a dyn Fn(&str) -> Option<String>) -> How<'a> {
        How {
            existing: self.existing,
            env: self.env,
            now: Timestamp::from_second(1_800_000_000).unwrap(),
            home: &self.home,
            environment,
        }
    }

    pub(crate) fn install(&self, bundle: &str, servers: Value) -> Result<Outcome, BundleError> {
        self.put(&manifest(bundle, "1.0.0", servers), false)
    }

    pub(crate) fn update(&self, bundle: &str, version: &str, servers: Value) -> Result<Outcome, BundleError> {
        self.put(&manifest(bundle, version, servers), true)
    }

    pub(crate) fn put(&self, manifest: &Manifest, update: bool) -> Result<Outcome, BundleError> {
        let answers = Answers::new();
        let folder = self.folder.path().join("bundles").join(&manifest.id).join(&manifest.version);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("server.js"), "// a server").unwrap();
        let package = Package { manifest, folder: &folder, origin: &self.origin, answers: &answers };
        self.apply(&if update { Change::Update(package) } else { Change::Install(package) })
    }

    pub(crate) fn uninstall(&self, bundle: &str) -> Result<Outcome, BundleError> {
        self.apply(&Change::Uninstall { bundle })
    }

    pub(crate) fn apply(&self, change: &Change<'_>) -> Result<Outcome, BundleError> {
        let environment = |name: &str| self.environment.get(name).cloned();
        install::apply(&self.disk, &self.target, change, &self.how(&environment))
    }

    pub(crate) fn write(&self, text: &str) {
        std::fs::create_dir_all(self.target.file.parent().unwrap()).unwrap();
        std::fs::write(&self.target.file, text).unwrap();
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(&self.target.file).unwrap()
    }

    /// None when there is no file.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        std::fs::read(&self.target.file).ok()
    }

    /// All servers of the file, in order.
    pub(crate) fn servers(&self) -> Map<String, Value> {
        json_of(&self.target.file)["servers"].as_object().cloned().unwrap_or_default()
    }

    pub(crate) fn tracking(&self) -> Value {
        json_of(&self.target.tracking_file())
    }
}

/// A temporary folder in memory, where there is such a thing: syncing costs nothing there.
pub(crate) fn quick_folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// `{}` for a file that is not there.
pub(crate) fn json_of(path: &Path) -> Value {
    match std::fs::read_to_string(path) {
        Ok(text) => jsonc_parser::parse_to_serde_value(
            text.trim_start_matches('\u{feff}'),
            &jsonc_parser::ParseOptions::default(),
        )
        .unwrap(),
        Err(_) => json!({}),
    }
}

pub(crate) fn manifest(bundle: &str, version: &str, servers: Value) -> Manifest {
    let text = json!({"id": bundle, "version": version, "name": bundle, "mcpServers": servers}).to_string();
    Manifest::from_deployment(&text).unwrap()
}

/// `prompt-registry:<bundle>:<server>`
pub(crate) fn name(bundle: &str, server: &str) -> String {
    toolgrove_bundle::servers::name(bundle, server)
}
