//! What must be on the machine before anything else: one sentence for each thing that is not.

use anyhow::{Result, bail};

use crate::peers;
use crate::process::Run;

const RUST: &str = "install Rust with rustup (https://rustup.rs); `rust-toolchain.toml` picks the version";

/// What the full test run needs.
pub(crate) async fn check_to_test() -> Result<()> {
    let mut missing = Vec::new();
    missing.extend(absent("cargo", &["--version"], RUST).await);
    missing.extend(absent("cargo", &["clippy", "--version"], "run `rustup component add clippy`").await);
    missing.extend(absent("cargo", &["fmt", "--version"], "run `rustup component add rustfmt`").await);
    missing.extend(
        at_least("node", &["--version"], (20, 19), "install Node.js 20.19 or newer (https://nodejs.org)")
            .await,
    );
    missing.extend(absent("npm", &["--version"], "install npm, it comes with Node.js").await);
    missing.extend(
        absent("cc", &["--version"], "install a C compiler (Debian: `apt-get install build-essential`)")
            .await,
    );
    missing.extend(
        absent(
            "c++",
            &["--version"],
            "install a C++ compiler for the fuzz targets (Debian: `apt-get install g++`)",
        )
        .await,
    );
    missing.extend(
        at_least(
            "python3",
            &["--version"],
            (3, 10),
            "install Python 3.10 or newer (Debian: `apt-get install python3 python3-venv`)",
        )
        .await,
    );
    if peers::chromium().is_none() {
        missing
            .push("install Chromium for the tests in a browser (Debian: `apt-get install chromium`)".into());
    }
    say(missing)
}

/// What building the hub needs.
pub(crate) async fn check_to_build() -> Result<()> {
    let missing =
        absent("cc", &["--version"], "install a C compiler (Debian: `apt-get install build-essential`)")
            .await;
    say(missing.into_iter().collect())
}

fn say(missing: Vec<String>) -> Result<()> {
    for it in &missing {
        println!("  {it}");
    }
    if missing.is_empty() { Ok(()) } else { bail!("{}", missing.join("; ")) }
}

async fn absent(program: &str, args: &[&str], advice: &str) -> Option<String> {
    match Run::new(program, args).output().await {
        Ok(version) => {
            println!("  {}", version.lines().next().unwrap_or(program).trim());
            None
        }
        Err(_) => Some(format!("`{program} {}` does not work: {advice}", args.join(" "))),
    }
}

async fn at_least(program: &str, args: &[&str], wanted: (u32, u32), advice: &str) -> Option<String> {
    let Ok(said) = Run::new(program, args).output().await else {
        return Some(format!("`{program}` is missing: {advice}"));
    };
    let said = said.trim();
    match version(said) {
        Some(found) if found >= wanted => {
            println!("  {program} {said}");
            None
        }
        _ => Some(format!("`{program}` is too old ({said}): {advice}")),
    }
}

/// The first `major.minor` in what a program says about itself.
fn version(said: &str) -> Option<(u32, u32)> {
    let at = said.find(|it: char| it.is_ascii_digit())?;
    let mut parts = said[at..].split('.').map(|it| it.trim().parse::<u32>());
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_say() {
        assert_eq!(version("v20.19.4"), Some((20, 19)));
        assert_eq!(version("Python 3.11.7"), Some((3, 11)));
        assert_eq!(version("no number"), None);
    }
}
