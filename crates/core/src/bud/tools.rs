//! Which tools a model gets: what a bud is set up with, and what a chat adds or takes away.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What a bud is set up with. A server is named by id, name or slug; a tool as `server.tool` or bare.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields, default)]
pub struct McpConfig {
    pub servers: Vec<String>,
    /// None: all tools of these servers.
    pub available_tools: Vec<String>,
    pub disabled_tools: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub tool_choice: Option<ToolChoice>,
}

/// What a chat has besides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    pub additional_servers: Vec<String>,
    pub disabled_tools: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub tool_choice: Option<ToolChoice>,
}

/// Whether the model has to use a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    Auto,
    None,
    Required,
}

/// Both together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    pub servers: Vec<String>,
    pub available_tools: Vec<String>,
    pub disabled_tools: Vec<String>,
    pub choice: ToolChoice,
}

impl Preset {
    /// Servers are joined in order, what either takes away is away, and the chat's choice wins.
    pub fn of(bud: &McpConfig, chat: &Overrides) -> Self {
        let mut servers = Vec::new();
        for server in bud.servers.iter().chain(&chat.additional_servers) {
            if !servers.contains(server) {
                servers.push(server.clone());
            }
        }
        let disabled_tools = bud.disabled_tools.iter().chain(&chat.disabled_tools).cloned().collect();
        let is_empty = servers.is_empty() && bud.available_tools.is_empty();
        let usual = if is_empty { ToolChoice::None } else { ToolChoice::Auto };
        Self {
            servers,
            available_tools: bud.available_tools.clone(),
            disabled_tools,
            choice: chat.tool_choice.or(bud.tool_choice).unwrap_or(usual),
        }
    }

    /// Whether the model gets a tool of a server that goes by these words.
    pub fn allows(&self, server: &[&str], tool: &str) -> bool {
        let is_named = |entry: &String| {
            entry == tool
                || entry
                    .strip_suffix(tool)
                    .and_then(|it| it.strip_suffix('.'))
                    .is_some_and(|it| server.contains(&it))
        };
        let from_here = match (self.servers.is_empty(), self.available_tools.is_empty()) {
            (true, true) => false,
            (true, false) => true,
            (false, _) => self.servers.iter().any(|it| server.contains(&it.as_str())),
        };
        from_here
            && (self.available_tools.is_empty() || self.available_tools.iter().any(is_named))
            && !self.disabled_tools.iter().any(is_named)
    }
}
