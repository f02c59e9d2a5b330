//! Where the configuration and the data are. Three environment variables, read here and in `main.rs`.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use toolgrove_core::Config;

use crate::failure::Failure;

#[derive(Debug, Clone)]
pub(crate) struct Paths {
    /// `toolgrove.toml`, which need not exist.
    pub(crate) config: PathBuf,
    pub(crate) data: PathBuf,
    /// The admin for whom commands act on a team's hub; none if there is only one.
    pub(crate) acting_as: Option<String>,
}

impl Paths {
    pub(crate) fn find(acting_as: Option<String>) -> Result<Self, Failure> {
        Ok(Self {
            config: place("TOOLGROVE_CONFIG", ".config/toolgrove/toolgrove.toml")?,
            data: place("TOOLGROVE_DATA", ".local/share/toolgrove")?,
            acting_as,
        })
    }

    /// The watched `mcp.json` beside the configuration.
    pub(crate) fn mcp_json(&self) -> PathBuf {
        self.config.with_file_name("mcp.json")
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.data.join("key")
    }

    /// Where browsers on this machine find the hub.
    pub(crate) fn endpoint(&self) -> PathBuf {
        self.data.join("tabs.json")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.data.join("hub.lock")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.data.join("hub.sock")
    }

    pub(crate) fn secret_key(&self, config: &Config) -> PathBuf {
        match &config.secret_key_file {
            Some(file) => self.config.parent().unwrap_or(Path::new(".")).join(file),
            None => self.data.join("secret.key"),
        }
    }

    pub(crate) fn store_url(&self, config: &Config) -> String {
        match &config.store_url {
            Some(url) => url.reveal().to_owned(),
            None => format!("sqlite:{}", self.data.join("toolgrove.db").display()),
        }
    }

    /// Makes the data folder, for its owner's eyes only. One that is there and empty is made so; any other is as its
    /// owner wants it, and `doctor` says what is wrong with it.
    pub(crate) fn make_data(&self) -> Result<(), Failure> {
        let failed =
            |error| Failure::io(format_args!("cannot use data folder `{}`", self.data.display()), &error);
        match fs::metadata(&self.data) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Some(parent) = self.data.parent() {
                    fs::create_dir_all(parent).map_err(failed)?;
                }
                match DirBuilder::new().mode(0o700).create(&self.data) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                    made => made.map_err(failed),
                }
            }
            Err(error) => Err(failed(error)),
            Ok(found) if !found.is_dir() => Err(failed(io::ErrorKind::NotADirectory.into())),
            Ok(found) => {
                if found.mode() & 0o077 != 0 && fs::read_dir(&self.data).map_err(failed)?.next().is_none() {
                    fs::set_permissions(&self.data, Permissions::from_mode(0o700)).map_err(failed)?;
                }
                Ok(())
            }
        }
    }
}

fn place(variable: &str, default: &str) -> Result<PathBuf, Failure> {
    let path = match std::env::var_os(variable).filter(|it| !it.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => std::env::home_dir()
            .ok_or_else(|| Failure::usage(format!("there is no home folder; set `{variable}`")))?
            .join(default),
    };
    std::path::absolute(&path)
        .map_err(|error| Failure::io(format_args!("cannot use `{}`", path.display()), &error))
}
