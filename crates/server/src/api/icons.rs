//! Which picture stands for a server.

use toolgrove_core::offer::Offer;
use toolgrove_store::ServerRow;

/// Where a server's icon is: an address of ours, or a name of the UI's own icons.
pub fn place(server: &ServerRow, _offer: Option<&Offer>) -> String {
    match server.transport.as_str() {
        "stdio" => "terminal".into(),
        "unix" | "pipe" => "socket".into(),
        "wasm" => "box".into(),
        "builtin" => "wrench".into(),
        _ => format!("/api/mcp/icon/{}", server.id),
    }
}
