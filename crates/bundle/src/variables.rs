//! `${bundlePath}`, `${bundleId}`, `${bundleVersion}`, `${env:VAR}` and a bundle's settings, put into a definition.
//!
//! One pass of plain text: what a value brings in is not looked at again, and nothing is ever handed to a shell.
//! Anything else in `${…}` stays as it is.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use serde_json::Value;

use crate::identity::Definition;

/// What happens to `${env:VAR}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Env {
    /// Its value is put in.
    #[default]
    Filled,
    /// It stays, for whoever starts the server.
    Kept,
}

/// What the variables of one bundle stand for.
pub struct Context<'a> {
    /// `bundlePath` … and `user_config.<key>`, which may stand for several texts or for none.
    pub named: HashMap<String, Vec<String>>,
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    pub env: Env,
}

/// A definition with its variables put in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filled {
    pub definition: Definition,
    pub used: Used,
}

/// Which variables of the environment went in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Used {
    pub set: BTreeSet<String>,
    /// Not set, and therefore empty.
    pub unset: BTreeSet<String>,
}

impl<'a> Context<'a> {
    pub fn new(
        bundle_path: &Path,
        bundle_id: &str,
        bundle_version: &str,
        environment: &'a dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let named = [
            ("bundlePath", bundle_path.display().to_string()),
            ("bundleId", bundle_id.to_owned()),
            ("bundleVersion", bundle_version.to_owned()),
        ];
        Self {
            named: named.into_iter().map(|(name, value)| (name.to_owned(), vec![value])).collect(),
            environment,
            env: Env::Filled,
        }
    }

    /// Puts values into the members that may hold variables: the rest is copied.
    pub fn fill(&self, definition: &Definition) -> Filled {
        let mut used = Used::default();
        let mut filled = Definition::new();
        for (key, value) in definition {
            let value = match (key.as_str(), value) {
                ("command" | "envFile" | "url", Value::String(text)) => self.text(text, &mut used).into(),
                ("args", Value::Array(args)) => {
                    args.iter().flat_map(|it| self.argument(it, &mut used)).collect()
                }
                ("env" | "headers", Value::Object(pairs)) => pairs
                    .iter()
                    .filter(|(_, value)| !self.is_left_out(value))
                    .map(|(name, value)| (name.clone(), self.value(value, &mut used)))
                    .collect(),
                _ => value.clone(),
            };
            filled.insert(key.clone(), value);
        }
        Filled { definition: filled, used }
    }

    /// One text with its variables put in.
    pub fn text(&self, text: &str, used: &mut Used) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            filled.push_str(&rest[..start]);
            let inner = &rest[start + 2..];
            let Some(end) = inner.find('}') else {
                rest = &rest[start..];
                break;
            };
            if let Some(value) = self.variable(&inner[..end], used) {
                filled.push_str(&value);
                rest = &inner[end + 1..];
            } else {
                // `${a${b}`: a variable may still begin inside.
                filled.push_str("${");
                rest = inner;
            }
        }
        filled.push_str(rest);
        filled
    }

    fn variable(&self, name: &str, used: &mut Used) -> Option<String> {
        if let Some(values) = self.named.get(name) {
            return Some(values.join(","));
        }
        let variable = name.strip_prefix("env:").filter(|it| !it.is_empty() && !it.contains("${"))?;
        if self.env == Env::Kept {
            return None;
        }
        let value = (self.environment)(variable);
        let names = if value.is_some() { &mut used.set } else { &mut used.unset };
        names.insert(variable.to_owned());
        Some(value.unwrap_or_default())
    }

    /// A setting that holds several texts becomes several arguments.
    fn argument(&self, argument: &Value, used: &mut Used) -> Vec<Value> {
        if self.is_left_out(argument) {
            return Vec::new();
        }
        match argument.as_str().and_then(|it| self.whole(it)) {
            Some(values) => values.iter().map(|it| Value::from(it.as_str())).collect(),
            None => vec![self.value(argument, used)],
        }
    }

    fn value(&self, value: &Value, used: &mut Used) -> Value {
        match value {
            Value::String(text) => self.text(text, used).into(),
            other => other.clone(),
        }
    }

    /// What speaks of a setting that nobody gave a value is left out: an empty flag or header would mean something.
    fn is_left_out(&self, value: &Value) -> bool {
        let mentions = |text: &str, name: &str| text.contains(&format!("${{{name}}}"));
        let mut unanswered = self.named.iter().filter(|(_, values)| values.is_empty());
        value.as_str().is_some_and(|text| unanswered.any(|(name, _)| mentions(text, name)))
    }

    /// The values of a text that is one named variable and nothing else.
    fn whole(&self, text: &str) -> Option<&Vec<String>> {
        self.named.get(text.strip_prefix("${")?.strip_suffix('}')?)
    }
}
