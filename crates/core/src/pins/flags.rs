//! What a person who reads a description may not see, or may read as something it is not.

use serde::Serialize;
use ts_rs::TS;

/// One odd place of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
pub struct Flag {
    pub kind: FlagKind,
    /// Where it begins, in characters.
    pub at: usize,
    /// The place with a few characters around it, hidden ones written out.
    pub excerpt: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "kebab-case")]
pub enum FlagKind {
    /// A character that shows nothing, turns the writing direction, or steers a terminal.
    Hidden,
    /// Words that speak to a model instead of describing a tool.
    Instruction,
}

/// Characters shown on either side of a place.
const AROUND: usize = 24;

/// Words that tool descriptions have no need of, and attacks have. Compared without case, hidden characters and runs of
/// white space.
const PHRASES: &[&str] = &[
    "ignore previous",
    "ignore all previous",
    "ignore the above",
    "ignore any other",
    "ignore your instructions",
    "disregard previous",
    "disregard all",
    "disregard the above",
    "forget previous",
    "new instructions",
    "system prompt",
    "<important>",
    "<system>",
    "[system]",
    "you are now",
    "you must first",
    "you must call",
    "you must read",
    "you must always",
    "before using this tool",
    "before calling this tool",
    "before you use any other tool",
    "instead of the other tool",
    "use this tool instead of",
    "do not tell the user",
    "don't tell the user",
    "do not inform the user",
    "do not mention",
    "don't mention",
    "without telling the user",
    "without asking the user",
    "hide this from the user",
    "not visible to the user",
    "secretly",
    "exfiltrate",
    "~/.ssh",
    "id_rsa",
    "~/.aws",
    "/etc/passwd",
    "mcp.json",
];

/// Everything odd in a text, in order. A run of hidden characters is one flag.
pub fn flags(text: &str) -> Vec<Flag> {
    let characters: Vec<char> = text.chars().collect();
    let mut flags = hidden(&characters);
    flags.extend(instructions(&characters));
    flags.sort_by_key(|it| it.at);
    flags
}

fn hidden(characters: &[char]) -> Vec<Flag> {
    let mut flags = Vec::new();
    let mut last = None;
    for (at, it) in characters.iter().enumerate() {
        if !is_hidden(*it) || is_emoji_joint(characters, at) {
            continue;
        }
        if last != at.checked_sub(1) || at == 0 {
            flags.push(Flag { kind: FlagKind::Hidden, at, excerpt: excerpt(characters, at, 1) });
        }
        last = Some(at);
    }
    flags
}

fn instructions(characters: &[char]) -> Vec<Flag> {
    // What is compared, each character with the place it came from.
    let mut plain: Vec<(char, usize)> = Vec::with_capacity(characters.len());
    for (at, it) in characters.iter().enumerate().filter(|(_, it)| !is_hidden(**it) || it.is_whitespace()) {
        match it {
            it if it.is_whitespace() => {
                if plain.last().is_some_and(|(last, _)| *last != ' ') {
                    plain.push((' ', at));
                }
            }
            it => plain.extend(it.to_lowercase().map(|it| (it, at))),
        }
    }
    let mut flags = Vec::new();
    for phrase in PHRASES {
        let phrase: Vec<char> = phrase.chars().collect();
        let is_here = |window: &[(char, usize)]| window.iter().map(|(it, _)| it).eq(phrase.iter());
        if let Some(start) = plain.windows(phrase.len()).position(is_here) {
            let (from, to) = (plain[start].1, plain[start + phrase.len() - 1].1);
            flags.push(Flag {
                kind: FlagKind::Instruction,
                at: from,
                excerpt: excerpt(characters, from, to + 1 - from),
            });
        }
    }
    flags
}

fn excerpt(characters: &[char], at: usize, length: usize) -> String {
    let from = at.saturating_sub(AROUND);
    let to = (at + length + AROUND).min(characters.len());
    let shown = |it: &char| match it {
        '\n' | '\r' | '\t' => " ".to_owned(),
        it if is_hidden(*it) => format!("‹U+{:04X}›", u32::from(*it)),
        it => it.to_string(),
    };
    characters[from..to].iter().map(shown).collect()
}

/// A joiner or a selector behind a symbol is part of an emoji.
fn is_emoji_joint(characters: &[char], at: usize) -> bool {
    matches!(characters[at], '\u{200d}' | '\u{fe0f}')
        && at
            .checked_sub(1)
            .is_some_and(|before| characters[before] >= '\u{2190}' && !is_hidden(characters[before]))
}

fn is_hidden(it: char) -> bool {
    match it {
        '\n' | '\r' | '\t' => false,
        it if it.is_control() => true,
        '\u{ad}' // soft hyphen
        | '\u{34f}' // grapheme joiner
        | '\u{61c}' // Arabic direction mark
        | '\u{115f}'..='\u{1160}' | '\u{3164}' | '\u{ffa0}' // Hangul fillers
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' // zero width, direction marks
        | '\u{202a}'..='\u{202e}' // direction overrides
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}' // empty braille
        | '\u{fe00}'..='\u{fe0f}' // selectors
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' // tags and more selectors
        => true,
        _ => false,
    }
}
