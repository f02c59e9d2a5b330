//! Where the long values of a message end. They are found once, while the message is checked, so that nobody who looks
//! for another member has to walk through a megabyte again.

use std::sync::Arc;

/// Values of so many bytes are noted: a message is looked through more than once. Shorter ones are walked through
/// quickly enough.
pub(crate) const NOTED: usize = 32;

/// Start and end of a long value.
pub(crate) type Span = (usize, usize);

/// The long values of a text, or of the text it was cut out of.
#[derive(Debug, Clone, Default)]
pub(crate) struct Long {
    /// By their start.
    spans: Option<Arc<[Span]>>,
    /// Where this text begins in the one the spans were found in.
    base: usize,
}

impl Long {
    /// By their start, as a text is written.
    pub(crate) fn new(spans: Vec<Span>) -> Self {
        if spans.is_empty() {
            return Self::default();
        }
        debug_assert!(spans.is_sorted());
        Self { spans: Some(spans.into()), base: 0 }
    }

    /// The same for a part of the text.
    pub(crate) fn cut(&self, start: usize, end: usize) -> Self {
        match &self.spans {
            Some(spans) if end - start >= NOTED => {
                Self { spans: Some(spans.clone()), base: self.base + start }
            }
            _ => Self::default(),
        }
    }

    /// The end of the value that begins here, if it is a long one.
    pub(crate) fn end(&self, start: usize) -> Option<usize> {
        let spans = self.spans.as_ref()?;
        let place = spans.binary_search_by_key(&(self.base + start), |it| it.0).ok()?;
        Some(spans[place].1 - self.base)
    }

    /// All that lie within the first so many bytes, by their start.
    pub(crate) fn within(&self, length: usize) -> impl Iterator<Item = Span> {
        let (base, spans) = (self.base, self.spans.as_deref().unwrap_or_default());
        let first = spans.partition_point(|it| it.0 < base);
        let inside = spans[first..].iter().take_while(move |it| it.0 < base + length);
        inside.filter(move |it| it.1 <= base + length).map(move |it| (it.0 - base, it.1 - base))
    }

    /// Tells where the long values between two places come to lie when the first of them becomes `to`.
    pub(crate) fn move_to(&self, from: usize, end: usize, to: usize, spans: &mut Vec<Span>) {
        // What encloses both places stays behind.
        let part = Self { spans: self.spans.clone(), base: self.base + from };
        spans.extend(part.within(end - from).map(|it| (it.0 + to, it.1 + to)));
    }
}
