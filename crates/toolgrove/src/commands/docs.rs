//! `toolgrove __docs`: the reference pages, written from what the program itself knows.

mod examples;

use std::fmt::Write;

use clap::{Arg, ArgAction, Command, CommandFactory};
use toolgrove_bundle::manifest::schema;
use toolgrove_core::Error;
use toolgrove_core::config::KEYS;
use toolgrove_core::tabs::wire;

use crate::args::{Args, Page};
use crate::failure::OWN_CODES;

const MADE: &str = "<!-- Written by `cargo xtask docs`; do not edit. -->\n";

pub(super) fn page(page: Page) -> String {
    match page {
        Page::Errors => errors(),
        Page::Config => config(),
        Page::Cli => cli(),
        Page::Manifest => format!("{:#}\n", schema::manifest()),
        Page::Collection => format!("{:#}\n", schema::collection()),
        Page::Types => toolgrove_server::types::typescript(),
        Page::TabTypes => wire::typescript(),
        Page::TabSchema => format!("{:#}\n", wire::json_schema()),
    }
}

fn errors() -> String {
    let mut page = format!(
        "# Errors\n\n{MADE}\nEvery error has a stable code. On `/api` it is `application/problem+json` \
         `{{status, code, detail, hint?, data?}}`; over MCP it is a JSON-RPC error `{{code, message, data: {{code, hint?, \
         data?}}}}`; the command line prints `error:` and `hint:`. A tool that ran and failed is a result, not an error. \
         The sentences below are examples.\n"
    );
    let mut examples: Vec<Error> =
        std::iter::successors(examples::after(None), |it| examples::after(Some(it))).collect();
    examples.sort_by_key(Error::code);
    for error in &examples {
        let _ = write!(
            page,
            "\n## {}\n\n> {error}\n\nStatus {}, JSON-RPC {}.{}\n",
            error.code(),
            error.status(),
            match error {
                Error::Server { .. } => "as the server sent it".to_owned(),
                _ => error.rpc_code().to_string(),
            },
            error.hint().map(|it| format!(" Hint: {it}.")).unwrap_or_default()
        );
    }
    page.push_str(
        "\n# Errors of the store\n\nSeen at start, and in the log as the cause of `hub.internal`.\n",
    );
    for (code, sentence, hint) in examples::STORE {
        let hint = hint.map(|it| format!("\nHint: {it}.\n")).unwrap_or_default();
        let _ = write!(page, "\n## {code}\n\n> {sentence}\n{hint}");
    }
    page.push_str(
        "\n# Errors of bundles and clients' files\n\nWhatever it is, the files are as they were.\n",
    );
    for (code, sentence) in examples::BUNDLES {
        let _ = write!(page, "\n## {code}\n\n> {sentence}\n");
    }
    page.push_str("\n# Errors of the command line\n\nThese come from the command itself, not from a hub.\n");
    for (code, sentence) in OWN_CODES {
        let _ = write!(page, "\n## {code}\n\n> {sentence}\n");
    }
    page
}

fn config() -> String {
    let mut page = format!(
        "# Configuration\n\n{MADE}\nOne file, `toolgrove.toml` in `~/.config/toolgrove/`; a missing file means the \
         defaults. A key that is not below is an error that names line and column. Secrets are written as \
         `\"${{env:NAME}}\"`.\n\nServers may also stand in a `mcp.json` beside the file. Both files are followed while a \
         hub runs: servers are added, changed and removed as they say; other settings take effect at the next start.\n\n\
         | Environment | Means |\n|---|---|\n\
         | `TOOLGROVE_CONFIG` | path of the file, instead of `~/.config/toolgrove/toolgrove.toml` |\n\
         | `TOOLGROVE_DATA` | the data folder, instead of `~/.local/share/toolgrove` |\n\
         | `TOOLGROVE_LOG` | what is logged to stderr, such as `debug` or `info,toolgrove_upstream=debug` |\n\n\
         | Key | Default | Means |\n|---|---|---|\n"
    );
    for key in KEYS {
        let default = if key.default.is_empty() { String::new() } else { format!("`{}`", key.default) };
        let _ = writeln!(page, "| `{}` | {default} | {} |", key.key, key.doc.replace('|', "\\|"));
    }
    page
}

fn cli() -> String {
    let mut page = format!(
        "# Command line\n\n{MADE}\nCommands use the running hub if there is one, else they start one for themselves until \
         they end.\n\nWith `--json` a command prints exactly the API's JSON to stdout, one document (with `--follow` one \
         per line), and nothing else; a failure is a problem in JSON on stderr. Exit codes: 0 done, 1 failed, 2 what was \
         typed or a file it names cannot be understood, 3 the tool said `isError`, 4 a server wants a sign-in, 130 \
         stopped with Ctrl-C.\n\nTables fit the terminal; in a pipe nothing is cut. There is no colour in a pipe, nor with \
         `NO_COLOR`.\n"
    );
    let mut root = Args::command();
    root.build();
    for command in root.get_subcommands().filter(|it| it.get_name() != "help") {
        describe(&mut page, "toolgrove", command);
    }
    page
}

fn describe(page: &mut String, above: &str, command: &Command) {
    if command.is_hide_set() {
        return;
    }
    let name = format!("{above} {}", command.get_name());
    let subcommands: Vec<&Command> = command.get_subcommands().filter(|it| it.get_name() != "help").collect();
    if !subcommands.is_empty() {
        for it in subcommands {
            describe(page, &name, it);
        }
        return;
    }
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string().replace("Usage: ", "").replace("\n       ", "\n");
    let _ = write!(page, "\n## {name}\n\n{about}.\n\n```\n{}\n```\n", usage.trim());
    let is_shown =
        |it: &&Arg| !it.is_hide_set() && !matches!(it.get_id().as_str(), "help" | "version" | "json");
    let arguments: Vec<&Arg> = command.get_arguments().filter(is_shown).collect();
    if !arguments.is_empty() {
        page.push('\n');
    }
    for argument in arguments {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(
            page,
            "- `{}`{}{}",
            spelled(argument),
            if help.is_empty() { "" } else { " — " },
            extended(argument, &help)
        );
    }
}

fn spelled(argument: &Arg) -> String {
    let value =
        argument.get_value_names().and_then(|it| it.first()).map(|it| format!("<{it}>")).unwrap_or_default();
    match (argument.get_short(), argument.get_long()) {
        (_, None) => value,
        (short, Some(long)) => {
            let short = short.map(|it| format!("-{it}, ")).unwrap_or_default();
            let takes = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
            format!("{short}--{long}{}", if takes { format!(" {value}") } else { String::new() })
        }
    }
}

/// The help with what can be chosen and what is chosen by default.
fn extended(argument: &Arg, help: &str) -> String {
    let takes = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let choices: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|_| takes)
        .map(|it| match it.get_help() {
            Some(help) => format!("`{}` ({help})", it.get_name()),
            None => format!("`{}`", it.get_name()),
        })
        .collect();
    let default: Vec<_> = argument.get_default_values().iter().map(|it| it.to_string_lossy()).collect();
    let mut text = help.to_owned();
    if !choices.is_empty() {
        let _ = write!(text, ": {}", choices.join(", "));
    }
    if takes && !default.is_empty() {
        let _ = write!(text, "; default `{}`", default.join(" "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_speaks_of_everything() {
        let errors = errors();
        for code in ["tool.unknown", "hub.internal", "store.sealed", "hub.running"] {
            assert!(errors.contains(&format!("\n## {code}\n")), "{code}");
        }
        assert!(config().contains("| `listen` | `\"127.0.0.1:7430\"` |"));
        let cli = cli();
        assert!(cli.contains("\n## toolgrove instance refresh\n"), "{cli}");
        assert!(!cli.contains("__docs"));
    }

    #[test]
    fn no_code_is_described_twice() {
        let page = errors();
        let mut heads: Vec<&str> = page.lines().filter(|it| it.starts_with("## ")).collect();
        let all = heads.len();
        heads.sort_unstable();
        heads.dedup();
        assert_eq!(heads.len(), all);
    }
}
