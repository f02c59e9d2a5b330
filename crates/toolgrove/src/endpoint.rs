//! The file from which browsers on this machine learn where the hub is and what to show it, and the way they ask: the
//! browser starts this program as a native-messaging host, puts one question, gets one answer, and that was it.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::ExitCode;

use serde_json::{Value, json};
use toolgrove_core::Secret;
use toolgrove_server::tabs::{EXTENSION, hex};

use crate::failure::Failure;
use crate::paths::Paths;

/// A question has a few members.
const QUESTION_MAX: u32 = 64 * 1024;

/// Writes the port of a hub that starts. The token stays what it was, so that a browser that knows it need not ask.
pub(crate) fn write(paths: &Paths, port: u16) -> Result<Secret, Failure> {
    let file = paths.endpoint();
    let failed = |error| Failure::io(format_args!("cannot write `{}`", file.display()), &error);
    let token =
        read(paths).and_then(|it| it["token"].as_str().map(str::to_owned)).filter(|it| it.len() == 64);
    let token = token.unwrap_or_else(|| hex(&rand::random::<[u8; 32]>()));
    let text = json!({ "port": port, "token": token }).to_string();
    // Beside it and then in its place: a reader finds the old one or the new one.
    let beside = file.with_extension("new");
    let _ = fs::remove_file(&beside);
    let mut out =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside).map_err(failed)?;
    writeln!(out, "{text}").map_err(failed)?;
    fs::rename(&beside, &file).map_err(failed)?;
    Ok(Secret::new(token))
}

fn read(paths: &Paths) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(paths.endpoint()).ok()?).ok()
}

/// Answers a browser that has started this program for its extension.
pub(crate) fn answer_browser(origin: &str) -> ExitCode {
    let answer = || -> io::Result<()> {
        let mut stdin = io::stdin().lock();
        let mut length = [0; 4];
        stdin.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > QUESTION_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut question = vec![0; length as usize];
        stdin.read_exact(&mut question)?;
        let text = reply(origin).to_string();
        let mut stdout = io::stdout().lock();
        stdout.write_all(&(text.len() as u32).to_le_bytes())?;
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    };
    if answer().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn reply(origin: &str) -> Value {
    if origin.trim_end_matches('/') != format!("chrome-extension://{EXTENSION}") {
        return json!({ "error": "this extension is not Toolgrove's" });
    }
    let known = Paths::find(None).ok().as_ref().and_then(read);
    known.unwrap_or_else(|| json!({ "error": "no hub has run here yet; start one with `toolgrove serve`" }))
}
