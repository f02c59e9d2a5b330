//! Where editors and other clients keep their servers, and in which form.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{BundleError, Result};
use crate::servers::{Scope, TRACKING_FILE};

/// The folders of a person that everything here hangs from.
#[derive(Debug, Clone)]
pub struct Home {
    pub folder: PathBuf,
    /// `~/.config`, `~/Library/Application Support` or `%APPDATA%`.
    pub config: PathBuf,
    pub system: System,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    Linux,
    MacOs,
    Windows,
}

impl System {
    pub fn here() -> Self {
        match std::env::consts::OS {
            "macos" => Self::MacOs,
            "windows" => Self::Windows,
            _ => Self::Linux,
        }
    }

    /// As MCPB manifests call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::MacOs => "darwin",
            Self::Windows => "win32",
        }
    }
}

impl Home {
    /// The home of whoever runs this. None when the system does not say.
    pub fn here() -> Option<Self> {
        use etcetera::BaseStrategy as _;
        let strategy = etcetera::base_strategy::choose_native_strategy().ok()?;
        let system = System::here();
        let config = match system {
            System::MacOs => strategy.data_dir(),
            System::Linux | System::Windows => strategy.config_dir(),
        };
        Some(Self { folder: strategy.home_dir().to_owned(), config, system })
    }

    /// A home as a fresh system lays it out.
    pub fn at(folder: &Path, system: System) -> Self {
        let config = match system {
            System::Linux => ".config",
            System::MacOs => "Library/Application Support",
            System::Windows => "AppData/Roaming",
        };
        Self { folder: folder.to_owned(), config: folder.join(config), system }
    }
}

/// An editor of the VS Code family, named as its folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Editor {
    #[default]
    Code,
    Insiders,
    Cursor,
    Windsurf,
}

impl Editor {
    pub const ALL: [Self; 4] = [Self::Code, Self::Insiders, Self::Cursor, Self::Windsurf];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "Code",
            Self::Insiders => "Code - Insiders",
            Self::Cursor => "Cursor",
            Self::Windsurf => "Windsurf",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str().eq_ignore_ascii_case(text))
    }
}

/// A program that servers, or the hub itself, can be written into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Cursor,
    Goose,
    VsCode,
    VsCodeInsiders,
    Windsurf,
    Zed,
}

/// How a client writes its servers down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Json(Form),
    Toml,
    Yaml,
}

/// Where in a JSON file the servers are, and what a remote one looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    pub key: &'static str,
    pub url_key: &'static str,
    /// Whether it can reach servers that it does not start.
    pub remote: bool,
}

impl Form {
    const SERVERS: Self = Self { key: "servers", url_key: "url", remote: true };
    const MCP_SERVERS: Self = Self { key: "mcpServers", ..Self::SERVERS };
}

impl Client {
    pub const ALL: [Self; 9] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Codex,
        Self::Cursor,
        Self::Goose,
        Self::VsCode,
        Self::VsCodeInsiders,
        Self::Windsurf,
        Self::Zed,
    ];

    /// What it is called on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::Goose => "goose",
            Self::VsCode => "vscode",
            Self::VsCodeInsiders => "vscode-insiders",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
        }
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::Goose => "Goose",
            Self::VsCode => "VS Code",
            Self::VsCodeInsiders => "VS Code Insiders",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
        }
    }

    pub fn parse(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|it| it.as_str() == name);
        known.ok_or_else(|| BundleError::UnknownClient { name: name.to_owned() })
    }

    pub fn language(self) -> Language {
        Language::Json(match self {
            Self::VsCode | Self::VsCodeInsiders => Form::SERVERS,
            Self::ClaudeCode | Self::Cursor => Form::MCP_SERVERS,
            Self::ClaudeDesktop => Form { remote: false, ..Form::MCP_SERVERS },
            Self::Windsurf => Form { url_key: "serverUrl", ..Form::MCP_SERVERS },
            Self::Zed => Form { key: "context_servers", ..Form::SERVERS },
            Self::Codex => return Language::Toml,
            Self::Goose => return Language::Yaml,
        })
    }

    /// Its configuration for this person.
    pub fn user_file(self, home: &Home) -> PathBuf {
        let Home { folder, config, system } = home;
        let dotted = folder.join(".config");
        match self {
            Self::ClaudeCode => folder.join(".claude.json"),
            Self::ClaudeDesktop => config.join("Claude/claude_desktop_config.json"),
            Self::Codex => folder.join(".codex/config.toml"),
            Self::Cursor => folder.join(".cursor/mcp.json"),
            Self::Goose if *system == System::Windows => config.join("Block/goose/config/config.yaml"),
            Self::Goose if *system == System::MacOs => dotted.join("goose/config.yaml"),
            Self::Goose => config.join("goose/config.yaml"),
            Self::VsCode => user_file(home, Editor::Code),
            Self::VsCodeInsiders => user_file(home, Editor::Insiders),
            Self::Windsurf => folder.join(".codeium/windsurf/mcp_config.json"),
            Self::Zed if *system == System::Windows => config.join("Zed/settings.json"),
            Self::Zed if *system == System::MacOs => dotted.join("zed/settings.json"),
            Self::Zed => config.join("zed/settings.json"),
        }
    }

    /// Its configuration for one project, where it has such a thing.
    pub fn project_file(self, project: &Path) -> Option<PathBuf> {
        Some(project.join(match self {
            Self::ClaudeCode => ".mcp.json",
            Self::Codex => ".codex/config.toml",
            Self::Cursor => ".cursor/mcp.json",
            Self::VsCode | Self::VsCodeInsiders => ".vscode/mcp.json",
            Self::Zed => ".zed/settings.json",
            Self::ClaudeDesktop | Self::Goose | Self::Windsurf => return None,
        }))
    }
}

fn user_file(home: &Home, editor: Editor) -> PathBuf {
    home.config.join(editor.as_str()).join("User").join("mcp.json")
}

/// A file that the servers of bundles are written to.
#[derive(Debug, Clone)]
pub struct Target {
    pub file: PathBuf,
    pub form: Form,
    pub scope: Scope,
    pub repository: Option<Repository>,
}

/// The repository around a target, and whether what is installed there is for everybody.
#[derive(Debug, Clone)]
pub struct Repository {
    pub root: PathBuf,
    pub mode: CommitMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommitMode {
    #[default]
    Commit,
    LocalOnly,
}

impl Target {
    pub fn user(home: &Home, editor: Editor) -> Self {
        Self { file: user_file(home, editor), form: Form::SERVERS, scope: Scope::User, repository: None }
    }

    pub fn workspace(folder: &Path) -> Self {
        let file = folder.join(".vscode").join("mcp.json");
        Self { file, form: Form::SERVERS, scope: Scope::Workspace, repository: None }
    }

    pub fn repository(root: &Path, mode: CommitMode) -> Self {
        let repository = Some(Repository { root: root.to_owned(), mode });
        Self { scope: Scope::Repository, repository, ..Self::workspace(root) }
    }

    /// A client's own file. None for one that does not write JSON.
    pub fn client(client: Client, file: PathBuf, scope: Scope) -> Option<Self> {
        match client.language() {
            Language::Json(form) => Some(Self { file, form, scope, repository: None }),
            Language::Toml | Language::Yaml => None,
        }
    }

    pub fn tracking_file(&self) -> PathBuf {
        self.file.with_file_name(TRACKING_FILE)
    }

    /// As messages call it: `mcp.json`.
    pub fn title(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}
