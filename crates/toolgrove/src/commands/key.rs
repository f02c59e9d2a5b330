//! `toolgrove key …`: the key that encrypts the store.

use serde_json::json;

use super::server::number;
use crate::api::Api;
use crate::args::Key;
use crate::failure::{Exit, Failure};
use crate::paths::Paths;
use crate::printer::Printer;

pub(crate) async fn run(args: Key, paths: &Paths, printer: &Printer) -> Result<Exit, Failure> {
    match args {
        Key::Rotate => Api::with(paths, async |api| rotate(api, printer).await).await,
    }
}

async fn rotate(api: &Api, printer: &Printer) -> Result<Exit, Failure> {
    let answer = api.post("/api/key/rotate", &json!({})).await?;
    printer.json_bytes(&answer.bytes);
    let it = answer.value()?;
    let secrets = match number(&it, "resealed") {
        1 => "1 secret has".to_owned(),
        many => format!("{many} secrets have"),
    };
    printer.line(format_args!("{secrets} a new key"));
    match number(&it, "unreadable") {
        0 => {}
        lost => printer.warning(format!("{lost} could not be read and must be entered again")),
    }
    if it["old_key_kept"] == true {
        printer.warning("the old key stays in the key file for now");
        printer.hint("run `toolgrove key rotate` once more");
    }
    Ok(Exit::Done)
}
