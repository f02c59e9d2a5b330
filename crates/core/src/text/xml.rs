//! Calls that a model writes into its text: `<tool_calls><invoke name="…"><parameter name="…">…`.
//!
//! A reader of characters: how the text was cut into pieces cannot matter, because nothing is decided by piece,
//! and every character is looked at a bounded number of times. The wrapper is optional, `<tools_call>` is
//! tolerated. Values are raw text without entities. What merely looks like a tag (`<invoked>`, `a < b`) is text.

mod coerce;
mod tag;
mod value;

use serde_json::{Map, Value};

pub use coerce::coerce;

use tag::{Step, Tag, TagReader};

/// What has become certain: some text, or a finished call.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Text(String),
    Call(XmlCall),
}

/// A call as written: values are still text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct XmlCall {
    pub name: String,
    pub params: Vec<(String, String)>,
}

impl XmlCall {
    /// The arguments, typed by the tool's input schema, or by their look where it says nothing. The last of two
    /// parameters with one name counts.
    pub fn arguments(&self, schema: Option<&Value>) -> Map<String, Value> {
        let properties = schema.and_then(|it| it.get("properties"));
        let typed = |name: &str| properties.and_then(|it| it.get(name)).and_then(|it| it.get("type"));
        self.params.iter().map(|(name, text)| (name.clone(), coerce(text, typed(name)))).collect()
    }
}

/// Reads a stream of text. Feed it with [`XmlCalls::push`], and end with [`XmlCalls::finish`].
#[derive(Debug, Default)]
pub struct XmlCalls {
    place: Place,
    /// A `<…` that may still become a tag of ours.
    tag: Option<TagReader>,
    in_wrapper: bool,
    /// White space inside the wrapper, which counts only if text follows.
    blank: String,
    call: XmlCall,
    value: value::Reader,
    ready: Vec<Piece>,
}

#[derive(Debug, Default, PartialEq)]
enum Place {
    #[default]
    Outside,
    InInvoke,
    InParameter,
}

impl XmlCalls {
    pub fn push(&mut self, piece: &str) -> Vec<Piece> {
        for it in piece.chars() {
            match self.place {
                Place::InParameter => self.read_value(it),
                _ => self.read(it),
            }
        }
        std::mem::take(&mut self.ready)
    }

    /// The end of the text: an unfinished call is dropped, and so is the beginning of a tag.
    pub fn finish(mut self) -> Vec<Piece> {
        if let Some(tag) = self.tag.take()
            && !tag.is_recognisable()
        {
            self.emit(tag.text());
        }
        self.ready
    }

    fn read(&mut self, it: char) {
        let Some(mut tag) = self.tag.take() else {
            match it {
                '<' => self.tag = Some(TagReader::default()),
                it => self.emit_char(it),
            }
            return;
        };
        match tag.read(it, self.place == Place::InInvoke) {
            Step::More => self.tag = Some(tag),
            Step::Done(done) => self.enter(done),
            Step::NoTag => {
                self.emit(tag.text());
                self.read(it);
            }
        }
    }

    fn enter(&mut self, tag: Tag) {
        self.blank.clear();
        match tag {
            Tag::Wrapper => self.in_wrapper = true,
            Tag::WrapperEnd => {
                self.in_wrapper = false;
                self.place = Place::Outside;
            }
            Tag::Invoke { name, closed } => {
                self.call = XmlCall { name, params: Vec::new() };
                self.place = Place::InInvoke;
                if closed {
                    self.enter(Tag::InvokeEnd);
                }
            }
            Tag::InvokeEnd => {
                self.place = Place::Outside;
                self.ready.push(Piece::Call(std::mem::take(&mut self.call)));
            }
            Tag::Parameter { name, closed } => {
                self.call.params.push((name, String::new()));
                if !closed {
                    self.value = value::Reader::default();
                    self.place = Place::InParameter;
                }
            }
        }
    }

    fn read_value(&mut self, it: char) {
        if let Some(text) = self.value.read(it) {
            if let Some((_, value)) = self.call.params.last_mut() {
                *value = text;
            }
            self.place = Place::InInvoke;
        }
    }

    fn emit(&mut self, text: &str) {
        text.chars().for_each(|it| self.emit_char(it));
    }

    fn emit_char(&mut self, it: char) {
        if self.place == Place::InInvoke {
            return;
        }
        if self.in_wrapper && it.is_whitespace() {
            self.blank.push(it);
            return;
        }
        let blank = std::mem::take(&mut self.blank);
        if let Some(Piece::Text(text)) = self.ready.last_mut() {
            text.push_str(&blank);
            text.push(it);
        } else {
            self.ready.push(Piece::Text(blank + it.encode_utf8(&mut [0; 4])));
        }
    }
}

#[cfg(test)]
mod tests;
