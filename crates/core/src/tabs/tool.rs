//! One tool of one page: what is let in, and what its annotations mean to the hub.

use serde_json::json;
use toolgrove_wire::{Edit, Raw};
use url::Url;

/// How much a page may say of itself.
const TOOLS_MAX: usize = 256;
const NAME_MAX: usize = 128;
const DESCRIPTION_MAX: usize = 8 * 1024;
const SCHEMA_MAX: usize = 64 * 1024;

/// The `_meta` key of tools and results whose text is not to be trusted.
pub const KEY_UNTRUSTED: &str = "dev.toolgrove/untrusted";

/// A tool as its page offered it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an annotation of its own")]
pub struct PageTool {
    /// The page's own name for it.
    pub name: String,
    /// The definition, with the annotations of pages put into the words of MCP.
    pub raw: Raw,
    pub description: String,
    pub cache: bool,
    pub repeatable: bool,
    pub untrusted: bool,
    pub debugging: bool,
}

impl PageTool {
    /// Reads a definition, or says why it cannot be used.
    pub fn read(raw: &Raw) -> Result<Self, String> {
        let name = raw.get_text("name").filter(|it| !it.is_empty()).ok_or("it has no name")?;
        if name.chars().count() > NAME_MAX || name.chars().any(is_hidden) {
            return Err(format!("`{}` is no name for a tool", clean(&name, NAME_MAX)));
        }
        let schema = raw.get("inputSchema").ok_or_else(|| format!("`{name}` has no inputSchema"))?;
        if !schema.is_object() {
            return Err(format!("the inputSchema of `{name}` is not an object"));
        }
        if schema.bytes().len() > SCHEMA_MAX {
            return Err(format!("the inputSchema of `{name}` is larger than 64 KiB"));
        }
        let description = clean(&raw.get_text("description").unwrap_or_default(), DESCRIPTION_MAX);
        let annotations = raw.get("annotations").filter(Raw::is_object);
        let says = |hint: &str| {
            annotations.as_ref().and_then(|it| it.get(hint)).and_then(|it| it.bool()) == Some(true)
        };
        let mut definition = Edit::of(raw).set_text("description", &description).done();
        if let Some(annotations) = annotations.as_ref().filter(|_| says("consequentialHint")) {
            let annotations = Edit::of(annotations).set("destructiveHint", Raw::of(&true)).done();
            definition = Edit::of(&definition).set("annotations", annotations).done();
        }
        let untrusted = says("untrustedContentHint");
        if untrusted {
            definition = with_untrusted(&definition);
        }
        Ok(Self {
            cache: says("cache"),
            repeatable: says("readOnlyHint") || says("idempotentHint"),
            untrusted,
            debugging: says("debugging"),
            raw: definition,
            description,
            name,
        })
    }

    /// Reads a whole list. What cannot be used is left out, with a sentence for each.
    pub fn read_all(list: &[Raw]) -> (Vec<Self>, Vec<String>) {
        let (mut tools, mut problems) = (Vec::<Self>::new(), Vec::new());
        for (row, raw) in list.iter().enumerate() {
            let problem = match Self::read(raw) {
                Ok(tool) if tools.iter().any(|it| it.name == tool.name) => {
                    format!("`{}` is listed twice", tool.name)
                }
                Ok(tool) if tools.len() >= TOOLS_MAX => {
                    format!("`{}` is one too many, a tab may have {TOOLS_MAX}", tool.name)
                }
                Ok(tool) => {
                    tools.push(tool);
                    continue;
                }
                Err(problem) => problem,
            };
            problems.push(format!("tool {} of the list was left out: {problem}", row + 1));
        }
        (tools, problems)
    }
}

/// Marks a tool or a result as one whose text is not to be trusted.
pub(super) fn with_untrusted(object: &Raw) -> Raw {
    let meta = object.get("_meta").filter(Raw::is_object).unwrap_or_else(Raw::empty_object);
    Edit::of(object).set("_meta", Edit::of(&meta).set(KEY_UNTRUSTED, Raw::of(&true)).done()).done()
}

/// A result that says only that the tool failed.
pub(super) fn failed(text: &str) -> Raw {
    Raw::of(&json!({ "content": [{ "type": "text", "text": text }], "isError": true }))
}

/// Which pages may offer tools: `tabs.allowed_origins`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    Any,
    Listed(Vec<String>),
}

impl Origins {
    pub fn of(list: &[String]) -> Self {
        if list.iter().any(|it| it == "*") {
            return Self::Any;
        }
        Self::Listed(list.iter().map(|it| it.trim_end_matches('/').to_ascii_lowercase()).collect())
    }

    /// Whether a page may come in; a missing origin only where everybody may.
    pub fn permit(&self, origin: Option<&str>) -> bool {
        match (self, origin) {
            (Self::Any, _) => true,
            (Self::Listed(_), None) => false,
            (Self::Listed(list), Some(origin)) => list.iter().any(|it| matches(it, origin)),
        }
    }
}

/// An entry is an origin, or one with `*.` before its domain.
fn matches(entry: &str, origin: &str) -> bool {
    match entry.split_once("://*.") {
        Some((scheme, domain)) => origin
            .strip_prefix(scheme)
            .and_then(|it| it.strip_prefix("://"))
            .is_some_and(|it| it.strip_suffix(domain).is_some_and(|it| it.ends_with('.'))),
        None => entry == origin,
    }
}

/// The origin of an address, as a browser writes it. Files have one of their own.
pub(super) fn origin_of(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    match url.scheme() {
        "http" | "https" => Some(url.origin().ascii_serialization()),
        "file" => Some("file://".to_owned()),
        _ => None,
    }
}

/// A text without what hides what it says, and not too long.
fn clean(text: &str, max: usize) -> String {
    let mut clean: String = text.chars().filter(|it| !is_hidden(*it)).collect();
    if clean.len() > max {
        let end = (0..=max).rev().find(|it| clean.is_char_boundary(*it)).unwrap_or(0);
        clean.truncate(end);
    }
    clean
}

/// Control characters but tab and newline, and those that turn the direction of text.
fn is_hidden(it: char) -> bool {
    (it.is_control() && it != '\t' && it != '\n')
        || matches!(it, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
