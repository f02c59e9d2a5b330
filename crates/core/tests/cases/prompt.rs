//! `prompt_section.json`: the section `## MCP Tools`. Expectations are lines, or sentences that quote lines.

use serde_json::Value;
use toolgrove_core::name::{Profile, encode};
use toolgrove_core::text::prompt::{PromptTool, section};

use crate::{Case, Ran, text};

pub(crate) fn run(case: &Case) -> Ran {
    let expect = case.expect.as_str().expect("a line or a sentence");
    let quoted: Vec<&str> = expect.split('\'').skip(1).step_by(2).collect();
    let tools = tools(&case.given["tools"]);
    let rendered = section(&tools);
    let lines: Vec<&str> = rendered.as_deref().unwrap_or_default().lines().collect();
    match (case.id.as_str(), quoted.as_slice()) {
        ("section-heading", [heading]) => assert_eq!(lines.first(), Some(heading)),
        ("required-param-line" | "optional-param-line", _) => assert!(lines.contains(&expect), "{lines:#?}"),
        ("no-mcp-tools", [heading]) => assert!(rendered.is_none() && !lines.contains(heading)),
        ("no-disabled", [start]) => {
            assert!(!lines.is_empty() && lines.iter().all(|it| !it.starts_with(start)), "{lines:#?}");
        }
        ("tool-without-parameters", [heading, parameters]) => {
            assert!(lines.contains(heading) && lines.contains(&tools[0].description.as_str()), "{lines:#?}");
            assert!(!lines.contains(parameters), "{lines:#?}");
        }
        _ => return false,
    }
    true
}

fn tools(given: &Value) -> Vec<PromptTool> {
    match given {
        Value::Array(tools) => tools.iter().map(tool).collect(),
        Value::String(words) if words == "only enabled ones" => vec![PromptTool {
            name: "mcp__weather__ping".into(),
            description: "Ping".into(),
            params: Vec::new(),
            enabled: true,
        }],
        other => panic!("not tools: {other}"),
    }
}

fn tool(given: &Value) -> PromptTool {
    PromptTool {
        name: encode(Profile::Double, text(given, "server"), text(given, "name")),
        description: text(given, "description").into(),
        params: serde_json::from_value(given["params"].clone()).expect("parameters"),
        enabled: given["enabled"].as_bool().expect("on or off"),
    }
}
