//! One `<…>`, a character at a time: ours, not ours, or not known yet.

/// A longer tag is no tag, so that a stray `<invoke "` cannot swallow the rest of a text.
const LENGTH_MAX: usize = 1024;

const WORDS: [&str; 7] =
    ["tool_calls", "/tool_calls", "tools_call", "/tools_call", "invoke", "/invoke", "parameter"];

/// A tag of ours, complete.
#[derive(Debug, PartialEq)]
pub(super) enum Tag {
    Wrapper,
    WrapperEnd,
    Invoke { name: String, closed: bool },
    InvokeEnd,
    Parameter { name: String, closed: bool },
}

pub(super) enum Step {
    More,
    Done(Tag),
    /// What was read is text; the character at hand was not part of it.
    NoTag,
}

/// Starts behind the `<`.
#[derive(Debug)]
pub(super) struct TagReader {
    text: String,
    /// The length of `<` and word, once something else has followed it.
    word_end: Option<usize>,
    quote: Option<char>,
}

impl Default for TagReader {
    fn default() -> Self {
        Self { text: "<".into(), word_end: None, quote: None }
    }
}

impl TagReader {
    /// Everything read so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether this is more than a `<` that any text may end with.
    pub(super) fn is_recognisable(&self) -> bool {
        self.text.len() > 2
    }

    pub(super) fn read(&mut self, it: char, in_invoke: bool) -> Step {
        let step = match (self.word_end, self.quote, it) {
            _ if self.text.len() >= LENGTH_MAX => return Step::NoTag,
            (None, _, it) => return self.read_word(it, in_invoke),
            // Even between quotes: a forgotten quote must not hide the tags that follow.
            (_, _, '<') => return Step::NoTag,
            (_, Some(quote), it) => {
                if it == quote {
                    self.quote = None;
                }
                Step::More
            }
            (_, None, '"' | '\'') => {
                self.quote = Some(it);
                Step::More
            }
            (_, None, '>') => return self.done(),
            _ => Step::More,
        };
        self.text.push(it);
        step
    }

    fn read_word(&mut self, it: char, in_invoke: bool) -> Step {
        let word = &self.text[1..];
        let known = |word: &str| WORDS.iter().filter(|it| is_read(it, in_invoke)).any(|it| *it == word);
        if known(word) && (it == '>' || it == '/' || it.is_whitespace()) {
            self.word_end = Some(self.text.len());
            return self.read(it, in_invoke);
        }
        let longer = |known: &str| known.strip_prefix(word).is_some_and(|rest| rest.starts_with(it));
        if WORDS.iter().filter(|it| is_read(it, in_invoke)).any(|it| longer(it)) {
            self.text.push(it);
            return Step::More;
        }
        Step::NoTag
    }

    fn done(&self) -> Step {
        let (word, rest) = self.text.split_at(self.word_end.unwrap_or(self.text.len()));
        let (attributes, closed) = match rest.trim_end().strip_suffix('/') {
            Some(attributes) => (attributes, true),
            None => (rest, false),
        };
        let tag = match (&word[1..], attribute(attributes, "name")) {
            ("tool_calls" | "tools_call", _) => Tag::Wrapper,
            ("/tool_calls" | "/tools_call", _) => Tag::WrapperEnd,
            ("/invoke", _) => Tag::InvokeEnd,
            ("invoke", Some(name)) => Tag::Invoke { name, closed },
            ("parameter", Some(name)) => Tag::Parameter { name, closed },
            _ => return Step::NoTag,
        };
        Step::Done(tag)
    }
}

/// Parameters and ends of calls mean something inside a call only; elsewhere they are somebody's text.
fn is_read(word: &str, in_invoke: bool) -> bool {
    in_invoke || !matches!(word, "parameter" | "/invoke")
}

/// The non-empty value of `name="…"` or `name='…'`, taken as it is.
fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|it| matches!(it, '"' | '\''))?;
        let (value, after) = after[1..].split_once(quote)?;
        if name.trim() == wanted && !value.trim().is_empty() {
            return Some(value.trim().to_owned());
        }
        rest = after;
    }
}
