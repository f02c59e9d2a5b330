//! A bud: a model preset that acts as a server. What it is, what its model is told, and which of its caller's tools
//! the model may use. Running it is somebody else's.

mod tools;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toolgrove_wire::modern::KEY_DEPTH;
use toolgrove_wire::{Draft, Edit, Raw};
use ts_rs::TS;
use uuid::Uuid;

use crate::Error;
use crate::schema::Validator;

pub use tools::{McpConfig, Overrides, Preset, ToolChoice};

/// How deep buds may call each other.
pub const DEEPEST: u8 = 3;
/// How many bud calls one caller may have running.
pub const MOST_RUNNING: usize = 8;

/// Parameters that say how deep in buds they are. At depth 0 they are as they were.
pub(crate) fn with_depth(params: Draft, depth: u8) -> Draft {
    if depth == 0 {
        return params;
    }
    let meta = params.get("_meta").unwrap_or_else(Raw::empty_object);
    let meta = Edit::of(&meta).set(KEY_DEPTH, Raw::number(depth.into())).done();
    params.set("_meta", meta)
}

/// Everything that makes a model act as this bud.
#[derive(Debug, Clone, PartialEq)]
pub struct Bud {
    pub id: Uuid,
    pub name: String,
    pub preset: BudPreset,
}

/// A temperature is checked to be a number before it gets here.
impl Eq for Bud {}

/// What its author says of a bud: the columns of the table, and the keys of `[bud.<name>]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields, default)]
pub struct BudPreset {
    pub description: String,
    /// An emoji, or a picture as a `data:` URL.
    pub avatar: Option<String>,
    pub system_prompt: String,
    /// `<provider>/<model>`, or a model of the only provider.
    pub model: Option<String>,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u32>,
    /// None: `ask {message}`.
    pub methods: Vec<BudMethod>,
    pub mcp_config: McpConfig,
}

/// One way of calling a bud.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct BudMethod {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(rename = "inputSchema", default = "no_arguments")]
    #[ts(type = "Json")]
    pub input_schema: Value,
    /// What the model is told, with `{{argument}}` where arguments go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub template: Option<String>,
}

fn no_arguments() -> Value {
    json!({ "type": "object", "properties": {} })
}

impl BudMethod {
    /// The method of a bud that has none.
    pub fn ask() -> Self {
        let message = json!({ "type": "string", "description": "What to say to it" });
        Self {
            name: "ask".into(),
            description: "Asks the bud".into(),
            input_schema: json!({
                "type": "object",
                "properties": { "message": message },
                "required": ["message"],
            }),
            template: None,
        }
    }

    /// The method as a list of tools has it.
    pub fn listed(&self) -> Value {
        json!({ "name": self.name, "description": self.description, "inputSchema": self.input_schema })
    }

    /// What the model is told for these arguments: the template, else the only argument if it is a text, else all of
    /// them as JSON.
    pub fn message(&self, arguments: &Map<String, Value>) -> String {
        match (&self.template, arguments.values().next()) {
            (Some(template), _) => fill(template, |name| arguments.get(name).map(plain)),
            (None, Some(Value::String(text))) if arguments.len() == 1 => text.clone(),
            _ => Value::Object(arguments.clone()).to_string(),
        }
    }
}

/// A value inside a text: texts as they are, anything else as JSON.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Puts values in the place of `{{name}}`. One pass: what is put in is not looked at again. What has no value is empty.
fn fill(template: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, tail)) = after.split_once("}}") else { break };
        out.push_str(before);
        out.push_str(&value(name.trim()).unwrap_or_default());
        rest = tail;
    }
    out.push_str(rest);
    out
}

impl BudPreset {
    /// All methods; a bud always has one.
    pub fn methods(&self) -> Vec<BudMethod> {
        if self.methods.is_empty() { vec![BudMethod::ask()] } else { self.methods.clone() }
    }

    pub fn method(&self, name: &str) -> Option<BudMethod> {
        self.methods().into_iter().find(|it| it.name == name)
    }

    /// Says in one sentence what cannot be.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |problem: String| Err(Error::Request(problem));
        if self.temperature.is_some_and(|it| !(0.0..=2.0).contains(&it)) {
            return wrong("`temperature` is a number from 0 to 2".into());
        }
        if self.max_tokens == Some(0) {
            return wrong("`max_tokens` must be at least 1".into());
        }
        let mut names = HashSet::new();
        for method in &self.methods {
            let name = &method.name;
            let is_name = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.');
            if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
                return wrong(format!(
                    "`{name}` is not a method name; use letters, digits, `_`, `-` and `.`"
                ));
            }
            if !names.insert(name) {
                return wrong(format!("method `{name}` stands there twice"));
            }
            if method.input_schema.get("type").and_then(Value::as_str) != Some("object") {
                return wrong(format!("the `inputSchema` of `{name}` must have the type `object`"));
            }
            if let Err(problem) = Validator::compile(&method.input_schema) {
                return wrong(format!("the `inputSchema` of `{name}` cannot be used: {problem}"));
            }
        }
        Ok(())
    }
}
