//! The shepherd as a program of its own, for the tests of this crate.

fn main() -> std::process::ExitCode {
    toolgrove_upstream::shepherd::run(std::env::args_os().skip(1).collect())
}
