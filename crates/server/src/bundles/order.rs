//! What somebody asks for: a source, a place for its servers, and the answers to its questions.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolgrove_bundle::install::Existing;
use toolgrove_bundle::manifest::Answers;
use toolgrove_bundle::places::{Client, CommitMode, Editor, Home, Target};
use toolgrove_bundle::servers::Scope;
use toolgrove_bundle::variables::Env;
use toolgrove_core::Error;
use toolgrove_core::config::Mode;

use super::refused;
use crate::App;

/// The body of an install, an update or a preview.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    #[serde(default)]
    pub source: String,
    /// Which of several collections, or which file of a release.
    pub bundle: Option<String>,
    /// `user`, `workspace`, `repository` or `none`; one person's hub writes for the user, any other nowhere.
    pub target: Option<Where>,
    /// An editor of the VS Code family, by the name of its folder.
    pub editor: Option<String>,
    /// Another client, by its name.
    pub client: Option<String>,
    /// The project that `workspace` and `repository` mean.
    pub folder: Option<PathBuf>,
    /// Keep a repository's files out of its commits.
    #[serde(default)]
    pub local_only: bool,
    #[serde(default)]
    pub existing: Taken,
    /// Leave `${env:X}` for whoever starts the server.
    #[serde(default)]
    pub keep_env: bool,
    #[serde(default)]
    pub settings: Answers,
    /// Of the plan that somebody agreed to.
    pub digest: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Where {
    User,
    Workspace,
    Repository,
    None,
}

/// What to do about names that are there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Taken {
    #[default]
    Refuse,
    Overwrite,
    Skip,
}

impl Order {
    pub(super) fn existing(&self) -> Existing {
        match self.existing {
            Taken::Refuse => Existing::Refuse,
            Taken::Overwrite => Existing::Overwrite,
            Taken::Skip => Existing::Skip,
        }
    }

    pub(super) fn env(&self) -> Env {
        if self.keep_env { Env::Kept } else { Env::Filled }
    }

    /// The file that the servers go into; none: no file.
    pub(super) fn target(&self, app: &App) -> Result<Option<Target>, Error> {
        let solo = app.config.mode == Mode::Solo;
        let wanted = self.target.unwrap_or(if solo { Where::User } else { Where::None });
        if wanted == Where::None {
            return Ok(None);
        }
        // The files of this machine belong to whoever runs the hub, which is not everybody who uses it.
        if !solo {
            return Err(Error::Request(
                "a shared hub writes no client's files; use the target `none`".into(),
            ));
        }
        let home = home(app)?;
        if let Some(name) = &self.client {
            return self.in_client(home, name, wanted).map(Some);
        }
        let editor = match &self.editor {
            Some(name) => Editor::parse(name).ok_or_else(|| {
                let names: Vec<_> = Editor::ALL.iter().map(|it| format!("`{}`", it.as_str())).collect();
                Error::Request(format!("no editor is called `{name}`; there are {}", names.join(", ")))
            })?,
            None => Editor::default(),
        };
        Ok(Some(match wanted {
            Where::Workspace => Target::workspace(self.folder()?),
            Where::Repository => {
                let mode = if self.local_only { CommitMode::LocalOnly } else { CommitMode::Commit };
                Target::repository(self.folder()?, mode)
            }
            Where::User | Where::None => Target::user(home, editor),
        }))
    }

    fn in_client(&self, home: &Home, name: &str, wanted: Where) -> Result<Target, Error> {
        let client = Client::parse(name).map_err(refused)?;
        let (file, scope) = match wanted {
            Where::User | Where::None => (client.user_file(home), Scope::User),
            Where::Workspace | Where::Repository => {
                let file = client.project_file(self.folder()?);
                let file = file
                    .ok_or_else(|| Error::Request(format!("`{name}` has no configuration for a project")))?;
                (file, Scope::Workspace)
            }
        };
        Target::client(client, file, scope).ok_or_else(|| {
            Error::Request(format!(
                "bundles cannot be written for `{name}`; connect it to the hub with `toolgrove connect {name}`"
            ))
        })
    }

    fn folder(&self) -> Result<&Path, Error> {
        match &self.folder {
            Some(folder) if folder.is_absolute() && folder.is_dir() => Ok(folder),
            Some(folder) => {
                Err(Error::Request(format!("`{}` is not the whole path of a folder", folder.display())))
            }
            None => Err(Error::RequestMissing(vec!["folder".into()])),
        }
    }

    /// What has to be known to find the file again.
    pub(super) fn remembered(&self, target: &Target) -> Value {
        json!({
            "file": target.file,
            "client": self.client,
            "editor": self.editor,
            "target": match target.scope {
                Scope::User => Where::User,
                Scope::Workspace => Where::Workspace,
                Scope::Repository => Where::Repository,
            },
            "folder": self.folder,
            "local_only": self.local_only,
            "keep_env": self.keep_env,
        })
    }

    /// The place of a bundle that is there already, with everything else as it is asked for now.
    pub(super) fn again(&self, remembered: Option<&Value>) -> Self {
        let mut order = self.clone();
        let Some(it) = remembered else {
            order.target = Some(Where::None);
            return order;
        };
        let text = |key: &str| it[key].as_str().map(str::to_owned);
        order.target = serde_json::from_value(it["target"].clone()).ok();
        order.client = text("client");
        order.editor = text("editor");
        order.folder = text("folder").map(PathBuf::from);
        order.local_only = it["local_only"] == true;
        order.keep_env |= it["keep_env"] == true;
        order
    }
}

pub(super) fn home(app: &App) -> Result<&Home, Error> {
    app.bundles
        .home
        .as_ref()
        .ok_or_else(|| Error::Request("this system does not say where the home folder is".into()))
}
