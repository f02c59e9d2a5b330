//! Values that are better not typed into a command line, where others can see them and the shell remembers them.

use std::io::{BufRead, IsTerminal};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::failure::Failure;
use crate::printer::Printer;

/// A name, and where its value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) key: String,
    source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Typed(String),
    File(String),
    /// A person is asked and sees nothing of what they type; a program writes a line to stdin.
    Asked,
}

/// `KEY=VALUE`, or `KEY` alone.
pub(crate) fn plain(typed: &str) -> Result<Given, String> {
    let (key, source) = match typed.split_once('=') {
        Some((key, value)) => (key, Source::Typed(value.to_owned())),
        None => (typed, Source::Asked),
    };
    match key.trim() {
        "" => Err("expected NAME=VALUE, or NAME alone to be asked for the value".into()),
        key => Ok(Given { key: key.to_owned(), source }),
    }
}

/// The same, and `KEY=@FILE`.
pub(crate) fn or_file(typed: &str) -> Result<Given, String> {
    let Given { key, source } = plain(typed)?;
    let source = match source {
        Source::Typed(value) => match value.strip_prefix('@') {
            Some(file) => Source::File(file.to_owned()),
            None => Source::Typed(value),
        },
        other => other,
    };
    Ok(Given { key, source })
}

impl Given {
    /// The pair, read from where it is.
    pub(crate) fn read(self) -> Result<(String, String), Failure> {
        let value = match self.source {
            Source::Typed(value) => value,
            Source::File(file) => {
                let text = std::fs::read_to_string(&file);
                let text = text.map_err(|error| Failure::io(format_args!("cannot read `{file}`"), &error))?;
                text.trim_end_matches(['\r', '\n']).to_owned()
            }
            Source::Asked => asked(&self.key)?,
        };
        Ok((self.key, value))
    }
}

/// All pairs, in the order in which they were typed.
pub(crate) fn read_all(given: Vec<Given>) -> Result<Vec<(String, String)>, Failure> {
    given.into_iter().map(Given::read).collect()
}

fn asked(key: &str) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    let _unseen = if stdin.is_terminal() {
        Printer::prompt(&format!("{key}: "));
        Unseen::start()
    } else {
        None
    };
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line).map_err(|error| Failure::io("cannot read stdin", &error))?;
    if read == 0 {
        return Err(Failure::usage(format!("nobody gave a value for `{key}`"))
            .hint(format!("write it to stdin, or say `{key}=VALUE`")));
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// The terminal shows nothing of what is typed until this is dropped.
struct Unseen(rustix::termios::Termios);

impl Unseen {
    fn start() -> Option<Self> {
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut silent = before.clone();
        silent.local_modes &= !LocalModes::ECHO;
        silent.local_modes |= LocalModes::ECHONL;
        tcsetattr(std::io::stdin(), OptionalActions::Now, &silent).ok()?;
        Some(Self(before))
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_typed_or_in_a_file_or_asked_for() {
        let given = |key: &str, source| Ok(Given { key: key.into(), source });
        assert_eq!(plain("A=b=c"), given("A", Source::Typed("b=c".into())));
        assert_eq!(plain("A=@x"), given("A", Source::Typed("@x".into())));
        assert_eq!(or_file("A=@x"), given("A", Source::File("x".into())));
        assert_eq!(or_file(" A =b"), given("A", Source::Typed("b".into())));
        assert_eq!(or_file("A"), given("A", Source::Asked));
        assert!(plain("=b").is_err() && or_file("").is_err());
    }
}
