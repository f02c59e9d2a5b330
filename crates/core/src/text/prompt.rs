//! The sections `## Tools` and `## MCP Tools` of a system prompt: the hub's own tools, and those of servers.

use serde_json::Value;

use super::params::Param;

/// A tool as the section shows it. Tools of a server that is off are not given at all.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptTool {
    /// The public name.
    pub name: String,
    pub description: String,
    pub params: Vec<Param>,
    pub enabled: bool,
}

/// The hub's own tools. Markdown without a final line break; nothing when there are no tools.
pub fn own_section(tools: &[PromptTool]) -> Option<String> {
    under("## Tools", tools)
}

/// The tools of servers, in the same form.
pub fn section(tools: &[PromptTool]) -> Option<String> {
    under("## MCP Tools", tools)
}

fn under(heading: &str, tools: &[PromptTool]) -> Option<String> {
    if tools.is_empty() {
        return None;
    }
    let mut blocks = vec![heading.to_owned()];
    blocks.extend(tools.iter().filter(|it| it.enabled).map(block));
    let disabled: Vec<_> = tools.iter().filter(|it| !it.enabled).map(|it| format!("`{}`", it.name)).collect();
    if !disabled.is_empty() {
        blocks.push(format!("Disabled MCP tools (do not use): {}", disabled.join(", ")));
    }
    Some(blocks.join("\n\n"))
}

fn block(tool: &PromptTool) -> String {
    let mut lines = vec![format!("### {}", tool.name)];
    match tool.description.trim() {
        "" => {}
        description => lines.push(description.to_owned()),
    }
    if !tool.params.is_empty() {
        lines.push("Parameters:".to_owned());
        lines.extend(tool.params.iter().map(line));
    }
    lines.join("\n")
}

fn line(param: &Param) -> String {
    let optional = if param.required { "" } else { ", optional" };
    let mut facts = vec![one_line(&param.description)];
    if let Some(options) = param.options.as_ref().filter(|it| !it.is_empty()) {
        facts.push(format!("Options: {}", options.iter().map(plain).collect::<Vec<_>>().join(", ")));
    }
    if let Some(default) = &param.default {
        facts.push(format!("Default: {}", plain(default)));
    }
    facts.retain(|it| !it.is_empty());
    let head = format!("- `{}` ({}{optional})", param.name, param.kind.as_str());
    if facts.is_empty() { head } else { format!("{head}: {}", facts.join(" ")) }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text),
        value => value.to_string(),
    }
}

/// A parameter is one line, whatever its server wrote.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;
    use crate::text::params::params;

    fn tool(name: &str, description: &str, schema: Value, enabled: bool) -> PromptTool {
        PromptTool { name: name.into(), description: description.into(), params: params(&schema), enabled }
    }

    #[test]
    fn a_section_in_full() {
        let schema = json!({
            "properties": {
                "city": {"type": "string", "description": "City\nname"},
                "units": {"type": "string", "description": "Units.", "enum": ["c", "f"], "default": "c"},
                "days": {"type": "integer", "default": 0},
                "raw": {"type": "boolean"}
            },
            "required": ["city"]
        });
        let tools = [
            tool("mcp__weather__get", "Get weather", schema, true),
            tool("mcp__weather__ping", "", json!({}), true),
            tool("mcp__weather__purge", "Purge", json!({}), false),
            tool("mcp__weather__drop", "Drop", json!({}), false),
        ];
        expect![[r"
            ## MCP Tools

            ### mcp__weather__get
            Get weather
            Parameters:
            - `city` (string): City name
            - `units` (string, optional): Units. Options: c, f Default: c
            - `days` (number, optional): Default: 0
            - `raw` (boolean, optional)

            ### mcp__weather__ping

            Disabled MCP tools (do not use): `mcp__weather__purge`, `mcp__weather__drop`"]]
        .assert_eq(&section(&tools).unwrap());
    }

    #[test]
    fn no_tools_make_no_section() {
        assert_eq!(section(&[]), None);
    }
}
