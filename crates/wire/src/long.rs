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

    /// Tells where the long values between two places come to lie when the first of them becomes `to`.
    pub(crate) fn move_to(&self, from: usize, end: usize, to: usize, spans: &mut Vec<Span>) {
        let Some(all) = &self.spans else { return };
        let (from, end) = (self.base + from, self.base + end);
        let first = all.partition_point(|it| it.0 < from);
        // What encloses both places stays behind.
        let inside = all[first..].iter().take_while(|it| it.0 < end).filter(|it| it.1 <= end);
        spans.extend(inside.map(|it| (it.0 - from + to, it.1 - from + to)));
    }
}
