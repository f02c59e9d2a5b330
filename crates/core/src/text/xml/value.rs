//! The text of one parameter, up to its `</parameter>`.

const CDATA: &str = "<![CDATA[";

/// Gathers raw text, trimmed at the end. CDATA is unwrapped and kept as it is; inside it nothing ends the value.
#[derive(Debug, Default)]
pub(super) struct Reader {
    raw: String,
    /// Where `raw` has its first character that is not white space.
    start: Option<usize>,
    in_cdata: bool,
    unwrapped: Option<String>,
}

impl Reader {
    /// The whole value, when this character has ended it.
    pub(super) fn read(&mut self, it: char) -> Option<String> {
        if self.start.is_none() && !it.is_whitespace() {
            self.start = Some(self.raw.len());
        }
        self.raw.push(it);
        match it {
            '[' if !self.in_cdata && self.raw.get(self.start?..) == Some(CDATA) => self.open_cdata(),
            '>' if self.in_cdata => self.close_cdata(),
            '>' => return self.end(),
            _ => {}
        }
        None
    }

    fn open_cdata(&mut self) {
        self.in_cdata = true;
        self.raw.clear();
    }

    fn close_cdata(&mut self) {
        if let Some(text) = self.raw.strip_suffix("]]>") {
            self.unwrapped.get_or_insert_default().push_str(text);
            self.raw.clear();
            self.start = None;
            self.in_cdata = false;
        }
    }

    fn end(&mut self) -> Option<String> {
        let text = self.raw.strip_suffix('>')?.trim_end().strip_suffix("</parameter")?.trim();
        Some(match self.unwrapped.take() {
            Some(unwrapped) => unwrapped + text,
            None => text.to_owned(),
        })
    }
}
