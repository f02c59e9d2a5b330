//! Why a bundle could not be read, installed or removed, or a client's configuration not be changed.

use std::io;
use std::path::{Path, PathBuf};

/// Everything that can go wrong. Whatever it is, the files are as they were.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("already in {file}: {}", list(names))]
    Conflict { file: String, names: Vec<String> },
    #[error("{file} is not valid: {line}:{column}")]
    File { file: String, line: usize, column: usize },
    #[error("`{}` is a link to nowhere", path.display())]
    DeadLink { path: PathBuf },
    #[error("`{}` is not a tracking file: {problem}", path.display())]
    Tracking { path: PathBuf, problem: String },
    #[error("bundle `{bundle}` is already installed in scope `{scope}`")]
    Scope { bundle: String, scope: &'static str },
    #[error("manifest lacks `{key}`")]
    Lacks { key: String },
    #[error("{0}")]
    Manifest(String),
    #[error("no manifest in `{}`", path.display())]
    NoManifest { path: PathBuf },
    #[error("manifest id is `{found}`, expected `{expected}`")]
    OtherId { found: String, expected: String },
    #[error("manifest version is `{found}`, expected `{expected}`")]
    OtherVersion { found: String, expected: String },
    #[error("item file `{path}` does not exist")]
    ItemMissing { path: String },
    #[error("setting `{key}` {problem}")]
    Setting { key: String, problem: String },
    #[error("the archive is refused: {0}")]
    Archive(String),
    #[error("the archive has the digest `{found}`, expected `{expected}`")]
    Digest { found: String, expected: String },
    #[error("`{text}` is not a place to get a bundle from")]
    Source { text: String },
    #[error("the answer of {from} cannot be used: {problem}")]
    Answer { from: &'static str, problem: String },
    #[error("somebody else is changing `{}`", folder.display())]
    Busy { folder: PathBuf },
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write `{}`", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot put `{}` back after a failure", path.display())]
    RollBack { path: PathBuf, source: io::Error },
    #[error("no client is called `{name}`")]
    UnknownClient { name: String },
    #[error("{client} can only start a local server")]
    LocalOnly { client: &'static str },
    #[error("`{}` is written in a way that cannot be changed safely", path.display())]
    Unsafe { path: PathBuf, snippet: String },
}

impl BundleError {
    /// The stable, dotted name of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "bundle.conflict",
            Self::File { .. } | Self::DeadLink { .. } => "bundle.file",
            Self::Tracking { .. } => "bundle.tracking",
            Self::Scope { .. } => "bundle.scope",
            Self::Lacks { .. }
            | Self::Manifest(_)
            | Self::NoManifest { .. }
            | Self::OtherId { .. }
            | Self::OtherVersion { .. }
            | Self::ItemMissing { .. } => "bundle.manifest",
            Self::Setting { .. } => "bundle.setting",
            Self::Archive(_) => "bundle.archive",
            Self::Digest { .. } => "bundle.digest",
            Self::Source { .. } => "bundle.source",
            Self::Answer { .. } => "bundle.answer",
            Self::Busy { .. } => "bundle.busy",
            Self::Read { .. } => "bundle.read",
            Self::Write { .. } => "bundle.write",
            Self::RollBack { .. } => "bundle.rollback",
            Self::UnknownClient { .. } => "connect.client",
            Self::LocalOnly { .. } => "connect.local",
            Self::Unsafe { .. } => "connect.unsafe",
        }
    }

    /// The HTTP status that says the same.
    pub fn status(&self) -> u16 {
        match self {
            Self::Conflict { .. } | Self::Scope { .. } | Self::Busy { .. } => 409,
            Self::Source { .. } | Self::UnknownClient { .. } | Self::LocalOnly { .. } => 400,
            Self::Answer { .. } => 502,
            Self::Read { .. } | Self::Write { .. } | Self::RollBack { .. } => 500,
            _ => 422,
        }
    }

    /// What the reader can do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Conflict { .. } => "use `--overwrite` to replace, `--skip` to leave what is there".into(),
            Self::File { file, .. } => format!("mend {file} in an editor; it was not touched"),
            Self::DeadLink { .. } => "create the file it points to, or remove the link".into(),
            Self::Tracking { path, .. } => format!(
                "mend or remove `{}`; without it Toolgrove no longer knows which servers it wrote",
                path.display()
            ),
            Self::Scope { bundle, .. } => format!("run `toolgrove bundle uninstall {bundle}` first"),
            Self::NoManifest { .. } => {
                "a bundle has `deployment-manifest.yml`, `*.collection.yml`, `manifest.json` or `server.json`"
                    .into()
            }
            Self::Setting { key, .. } => format!("give it with `--set {key}=<value>`"),
            Self::Source { .. } => {
                "give a folder, a `.zip` or `.mcpb` file, an https address, `github:<owner>/<repo>[@tag]`, \
                 or the name of a server in the registry"
                    .into()
            }
            Self::Busy { .. } => "try again when the other change is done".into(),
            Self::Write { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "make the folder writable for yourself; nothing was changed".into()
                }
                io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge | io::ErrorKind::QuotaExceeded => {
                    "make room on the disk; nothing was changed".into()
                }
                _ => return None,
            },
            Self::RollBack { .. } => {
                "the next install or uninstall puts it right; the old text is beside it \
                                      as `.backup`"
                    .into()
            }
            Self::LocalOnly { .. } => "connect it over stdio".into(),
            Self::Unsafe { snippet, .. } => format!("add this by hand:\n{snippet}"),
            _ => return None,
        })
    }

    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Read { path, source }
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Write { path, source }
    }
}

fn list(names: &[String]) -> String {
    names.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
}

pub(crate) type Result<T> = std::result::Result<T, BundleError>;
