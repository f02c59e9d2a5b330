//! Bundles on a real disk: crashes, crowds, hand edits, and files that are not as they should be.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic and print its figures")]

mod crash;
mod files;
mod kit;
mod lifecycle;
mod processes;
