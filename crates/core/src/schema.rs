//! Arguments against a tool's schema: compiled once per tool, no reference is ever fetched.
//!
//! 2020-12 unless `$schema` says otherwise. A schema that does not compile is the server's mistake, not the
//! caller's: treat the error of [`Validator::compile`] as "no check".

mod bound;
mod plain;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{Draft, PatternOptions, ValidationError};
use serde_json::Value;
use toolgrove_wire::Raw;

use bound::Bound;
use plain::Plain;

/// Steps a pattern may take back before it is given up.
const BACKTRACK_MAX: usize = 50_000;

/// A compiled schema. Cheap to share between threads, dear to build.
#[derive(Debug)]
pub struct Validator {
    compiled: jsonschema::Validator,
    bound: Bound,
    /// Whether it says anything about what texts hold.
    reads_texts: bool,
    /// The schema in short, if that says it all.
    plain: Option<Plain>,
}

/// What only looks at a text's kind has none of these.
const READ_TEXTS: [&str; 9] = [
    "pattern",
    "minLength",
    "maxLength",
    "format",
    "enum",
    "const",
    "uniqueItems",
    "contentEncoding",
    "contentMediaType",
];

/// Whether such a word stands anywhere as a key. Where it only names a property, more is read than need be.
fn reads_texts(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.iter().any(|(key, it)| READ_TEXTS.contains(&key.as_str()) || reads_texts(it))
        }
        Value::Array(items) => items.iter().any(reads_texts),
        _ => false,
    }
}

impl Validator {
    pub fn compile(schema: &Value) -> Result<Self, String> {
        let bound = Bound::of(schema)?;
        let mut options = jsonschema::options()
            .offline()
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_MAX));
        if schema.get("$schema").is_none() {
            options = options.with_draft(Draft::Draft202012);
        }
        let compiled = options.build(schema).map_err(|error| error.to_string())?;
        Ok(Self { compiled, bound, reads_texts: reads_texts(schema), plain: Plain::of(schema) })
    }

    /// The same for arguments as they were sent. Long texts are read only where the schema does.
    pub fn check_raw(&self, args: &Raw) -> Result<(), String> {
        if self.plain.as_ref().is_some_and(|it| it.surely_takes(args)) {
            return Ok(());
        }
        self.check(&if self.reads_texts { args.to_value() } else { args.to_outline() })
    }

    /// `<pointer> <problem>` of the first problem. Never repeats a value: arguments may hold secrets. Arguments
    /// that this schema could check without end are let through: the server has the last word on them anyway.
    pub fn check(&self, args: &Value) -> Result<(), String> {
        if !self.bound.allows(args) {
            return Ok(());
        }
        self.compiled.validate(args).map_err(|error| sentence(&error))
    }
}

fn sentence(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().as_str();
    let member = |name: &str| format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
    let here = if place.is_empty() { "/" } else { place };
    match error.kind() {
        Kind::Required { property } => {
            format!("{} is required", member(property.as_str().unwrap_or_default()))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            format!("{} is not allowed", member(unexpected.first().map_or("", String::as_str)))
        }
        Kind::Type { kind: TypeKind::Single(kind) } => format!("{here} must be of type {kind}"),
        Kind::Type { kind: TypeKind::Multiple(kinds) } => {
            let kinds: Vec<_> = kinds.iter().map(|it| it.to_string()).collect();
            format!("{here} must be of type {}", kinds.join(" or "))
        }
        Kind::Enum { options } => format!("{here} must be one of {}", listed(options)),
        Kind::Constant { expected_value } => format!("{here} must be {expected_value}"),
        Kind::Format { format } => format!("{here} is not in the format {format}"),
        Kind::Pattern { pattern } => format!("{here} does not match the pattern {pattern}"),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => format!("{here} has none of the allowed forms"),
        Kind::OneOfMultipleValid { .. } => format!("{here} has more than one of the allowed forms"),
        Kind::Not { .. } | Kind::FalseSchema => format!("{here} is not allowed"),
        Kind::Contains => format!("{here} lacks a required item"),
        Kind::PropertyNames { .. } => format!("{here} has a member whose name is not allowed"),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            format!("{here} is too long for its pattern")
        }
        // What is left begins with the value: "<value> is longer than 5 characters".
        _ => format!("{here} {}", error.masked_with("").to_string().trim_start()),
    }
}

fn listed(options: &Value) -> String {
    match options.as_array() {
        Some(options) => options.iter().map(Value::to_string).collect::<Vec<_>>().join(", "),
        None => options.to_string(),
    }
}

#[cfg(test)]
mod tests;
