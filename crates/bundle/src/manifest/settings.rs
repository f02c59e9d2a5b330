//! What a person is asked before a bundle's servers can run, and what was answered.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};
use ts_rs::TS;

use super::{Format, Manifest};
use crate::error::{BundleError, Result};
use crate::places::{Home, System};
use crate::variables::{Context, Env, Used};

/// One question. Its answer takes the place of `${user_config.<key>}`.
#[derive(Debug, Clone, PartialEq, Serialize, TS)]
pub struct Setting {
    pub key: String,
    pub title: String,
    pub description: String,
    pub kind: SettingKind,
    pub required: bool,
    /// Kept as a secret, and never shown.
    pub sensitive: bool,
    /// Takes a list.
    pub multiple: bool,
    #[ts(type = "Json")]
    pub default: Option<Value>,
    pub choices: Vec<String>,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum SettingKind {
    String,
    Number,
    Boolean,
    Directory,
    File,
}

/// Key → value, as they were given in a form or with `--set`.
pub type Answers = Map<String, Value>;

impl Setting {
    pub(super) fn new(key: &str, kind: SettingKind) -> Self {
        Self {
            key: key.to_owned(),
            title: key.to_owned(),
            description: String::new(),
            kind,
            required: false,
            sensitive: false,
            multiple: false,
            default: None,
            choices: Vec::new(),
            min: None,
            max: None,
        }
    }

    /// The texts that stand for `${user_config.<key>}`: none when nobody said anything.
    fn values(&self, answers: &Answers) -> Result<Vec<String>> {
        let given = answers.get(&self.key).or(self.default.as_ref());
        let values = match given {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) if self.multiple => {
                items.iter().map(|it| self.value(it)).collect::<Result<_>>()?
            }
            Some(value) => vec![self.value(value)?],
        };
        if self.required && values.iter().all(String::is_empty) {
            return Err(self.wrong("is needed"));
        }
        Ok(values)
    }

    fn value(&self, value: &Value) -> Result<String> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            _ => return Err(self.wrong("must be one value")),
        };
        if text.contains('\0') {
            return Err(self.wrong("holds a character that cannot be used"));
        }
        match self.kind {
            SettingKind::Boolean if text != "true" && text != "false" => {
                return Err(self.wrong("must be true or false"));
            }
            SettingKind::Number => self.check_number(&text)?,
            _ => {}
        }
        if !self.choices.is_empty() && !self.choices.contains(&text) {
            return Err(self.wrong(&format!("must be one of {}", self.choices.join(", "))));
        }
        Ok(text)
    }

    fn check_number(&self, text: &str) -> Result<()> {
        let number: f64 = text.parse().map_err(|_| self.wrong("must be a number"))?;
        match (self.min, self.max) {
            (Some(min), _) if number < min => Err(self.wrong(&format!("must be at least {min}"))),
            (_, Some(max)) if number > max => Err(self.wrong(&format!("must be at most {max}"))),
            _ => Ok(()),
        }
    }

    fn wrong(&self, problem: &str) -> BundleError {
        BundleError::Setting { key: self.key.clone(), problem: problem.to_owned() }
    }
}

impl Manifest {
    /// What the bundle's own variables stand for: its settings, and for an `.mcpb` the folders it may name. The first
    /// answer that is missing or wrong is an error.
    pub fn variables(
        &self,
        folder: &Path,
        home: &Home,
        answers: &Answers,
    ) -> Result<HashMap<String, Vec<String>>> {
        if let Some(key) = answers.keys().find(|key| self.settings.iter().all(|it| it.key != **key)) {
            return Err(BundleError::Setting { key: key.clone(), problem: "is not asked for".into() });
        }
        let mut named = match self.format {
            Format::Mcpb => folders(folder, home),
            Format::Deployment | Format::Collection | Format::ServerJson => HashMap::new(),
        };
        let context = Context { named: named.clone(), environment: &|_| None, env: Env::Kept };
        let expand = |value: &Value| match value {
            Value::String(text) => context.text(text, &mut Used::default()).into(),
            other => other.clone(),
        };
        for setting in &self.settings {
            let default = setting.default.as_ref().map(|it| match it {
                Value::Array(items) => items.iter().map(expand).collect(),
                one => expand(one),
            });
            let values = Setting { default, ..setting.clone() }.values(answers)?;
            named.insert(format!("user_config.{}", setting.key), values);
        }
        Ok(named)
    }
}

/// The variables of MCPB manifests that name places of this machine.
fn folders(folder: &Path, home: &Home) -> HashMap<String, Vec<String>> {
    let separator = if home.system == System::Windows { "\\" } else { "/" };
    let text = |path: &Path| path.display().to_string();
    [
        ("__dirname", text(folder)),
        ("HOME", text(&home.folder)),
        ("DESKTOP", text(&home.folder.join("Desktop"))),
        ("DOCUMENTS", text(&home.folder.join("Documents"))),
        ("DOWNLOADS", text(&home.folder.join("Downloads"))),
        ("pathSeparator", separator.to_owned()),
        ("/", separator.to_owned()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), vec![value]))
    .collect()
}
