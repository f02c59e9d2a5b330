//! A JSONC file whose one object of named entries is edited as text.
//!
//! Every edit is a handful of splices: what is not an entry we were told to touch keeps its bytes — comments, order,
//! trailing commas, unknown keys, line ends, tabs, a byte order mark. What was added and is taken out again leaves the
//! text as it was. The file is never written back from a parse.

mod object;
mod style;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::TokenAndRange;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::error::{BundleError, Result};
use object::Edits;
use style::Style;

const BOM: &str = "\u{feff}";

/// Comments and trailing commas, as editors write them. Nothing looser: a typo must not be guessed at.
const JSONC: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// What happens to one entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    Remove,
    /// Replaced where it stands, or appended.
    Set(Value),
    /// Members of an existing entry: set, or taken out.
    Patch(Vec<(String, Option<Value>)>),
}

/// How much of the file was not there before we came, and goes when our last entry goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Created {
    File,
    /// The file was there, but it held no JSON.
    Document,
    /// There was JSON, but not the key that holds the entries.
    Key,
}

/// A text that was read and found valid.
#[derive(Debug, Clone)]
pub struct Document {
    file: String,
    key: &'static str,
    text: String,
    created: Option<Created>,
}

impl Document {
    /// `key` holds the entries. No bytes: there is no file yet.
    pub fn parse(file: &str, key: &'static str, bytes: Option<&[u8]>) -> Result<Self> {
        let text = match std::str::from_utf8(bytes.unwrap_or_default()) {
            Ok(text) => text.to_owned(),
            Err(error) => {
                let valid = &bytes.unwrap_or_default()[..error.valid_up_to()];
                return Err(invalid(file, &String::from_utf8_lossy(valid), error.valid_up_to()));
            }
        };
        let mut document = Self { file: file.to_owned(), key, text, created: None };
        document.created = match (bytes, document.tree()?) {
            (None, _) => Some(Created::File),
            (_, Tree { root: None, .. }) => Some(Created::Document),
            (_, tree) if tree.entries(key).is_none() => Some(Created::Key),
            _ => None,
        };
        Ok(document)
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// What an edit that adds an entry will have to create first.
    pub fn created(&self) -> Option<Created> {
        self.created
    }

    /// All entries, in order. One that stands twice is there twice.
    pub fn entries(&self) -> Result<Vec<(String, Value)>> {
        let tree = self.tree()?;
        let entries = tree.entries(self.key).map(|it| it.properties.as_slice()).unwrap_or_default();
        Ok(entries.iter().map(|it| (it.name.as_str().to_owned(), plain(&it.value))).collect())
    }

    /// The text after the edits. Those of entries that are not there add them, in the order given.
    pub fn edit(&self, edits: &[(String, Edit)]) -> Result<String> {
        let tree = self.tree()?;
        let style = Style::of(&tree);
        let mut splices = Vec::new();
        match (&tree.root, tree.entries(self.key)) {
            (_, Some(entries)) => {
                object::edit(&tree, &style, entries, &edits.iter().collect::<Edits<'_>>(), &mut splices);
            }
            (root, None) => {
                let added: Map<_, _> = edits
                    .iter()
                    .filter_map(|(name, edit)| match edit {
                        Edit::Set(value) => Some((name.clone(), value.clone())),
                        Edit::Remove | Edit::Patch(_) => None,
                    })
                    .collect();
                if added.is_empty() {
                    return Ok(self.text.clone());
                }
                match root {
                    Some(root) => {
                        let edit = (self.key.to_owned(), Edit::Set(added.into()));
                        object::edit(&tree, &style, root, &[&edit], &mut splices);
                    }
                    None => return Ok(self.with_root(&style, added)),
                }
            }
        }
        Ok(object::splice(tree.text, splices, self.offset()))
    }

    /// The text after our last entry has gone, with what we had created gone too. None: the file goes.
    pub fn retract(&self, created: Created) -> Result<Option<String>> {
        let tree = self.tree()?;
        let (Some(root), Some(entries)) = (&tree.root, tree.entries(self.key)) else {
            return Ok(Some(self.text.clone()));
        };
        if !tree.is_blank(entries) {
            return Ok(Some(self.text.clone()));
        }
        let alone = root.properties.len() == 1 && !tree.has_comments(root);
        if created == Created::Key || !alone {
            let mut splices = Vec::new();
            let edit = (self.key.to_owned(), Edit::Remove);
            object::edit(&tree, &Style::of(&tree), root, &[&edit], &mut splices);
            return Ok(Some(object::splice(tree.text, splices, self.offset())));
        }
        let (before, after) = (&tree.text[..root.start()], &tree.text[root.end()..]);
        let after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n')).unwrap_or(after);
        let rest = format!("{}{before}{after}", self.offset());
        let is_empty = rest.trim_start_matches(BOM).trim().is_empty();
        Ok((created == Created::Document || !is_empty).then_some(rest))
    }

    fn with_root(&self, style: &Style, added: Map<String, Value>) -> String {
        let mut root = Map::new();
        root.insert(self.key.to_owned(), added.into());
        let newline = style.newline;
        let gap = if self.text.is_empty() || self.text.ends_with(['\n', '\u{feff}']) { "" } else { newline };
        format!("{}{gap}{}{newline}", self.text, style.pretty(&root.into(), ""))
    }

    /// What stands before the text that is parsed.
    fn offset(&self) -> &'static str {
        if self.text.starts_with(BOM) { BOM } else { "" }
    }

    fn tree(&self) -> Result<Tree<'_>> {
        let text = self.text.strip_prefix(BOM).unwrap_or(&self.text);
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(text, &collect, &JSONC)
            .map_err(|error| invalid(&self.file, text, error.range().start))?;
        let wrong = |range: &dyn Ranged| Err(invalid(&self.file, text, range.start()));
        let root = match parsed.value {
            Some(ast::Value::Object(root)) => Some(root),
            Some(_) => return Err(invalid(&self.file, text, text.len() - text.trim_start().len())),
            None => None,
        };
        let mut holders = root.iter().flat_map(|it| &it.properties).filter(|it| it.name.as_str() == self.key);
        if let Some(holder) = holders.next()
            && holder.value.as_object().is_none()
        {
            return wrong(holder);
        }
        // A reader takes the last of two, so an edit of the first would change nothing.
        if let Some(second) = holders.next() {
            return wrong(second);
        }
        Ok(Tree { text, root, tokens: parsed.tokens.unwrap_or_default() })
    }
}

/// A parsed text: the root object and every token, comments too.
struct Tree<'a> {
    text: &'a str,
    root: Option<ast::Object<'a>>,
    tokens: Vec<TokenAndRange<'a>>,
}

impl<'a> Tree<'a> {
    fn entries(&self, key: &str) -> Option<&ast::Object<'a>> {
        self.root.as_ref()?.get_object(key)
    }

    /// Nothing but white space between its braces.
    fn is_blank(&self, object: &ast::Object<'_>) -> bool {
        object.properties.is_empty() && !self.has_comments(object)
    }
}

fn invalid(file: &str, text: &str, at: usize) -> BundleError {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    BundleError::File { file: file.to_owned(), line, column }
}

fn plain(value: &ast::Value<'_>) -> Value {
    match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(it) => it.value.into(),
        ast::Value::StringLit(it) => it.value.as_ref().into(),
        ast::Value::NumberLit(it) => match serde_json::from_str::<Number>(it.value) {
            Ok(number) => Value::Number(number),
            Err(_) => it.value.into(),
        },
        ast::Value::Array(it) => it.elements.iter().map(plain).collect(),
        ast::Value::Object(it) => {
            it.properties.iter().map(|it| (it.name.as_str().to_owned(), plain(&it.value))).collect()
        }
    }
}

#[cfg(test)]
mod tests;
