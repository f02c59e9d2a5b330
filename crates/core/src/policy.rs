//! Whether a call may go through. Every call asks here, whatever its door.

use crate::Error;
use crate::catalog::Route;
use crate::offer::Permission;

/// Decides on one tool call. Switches are the catalogue's; this is about permission. "Ask" needs somebody who can
/// be asked; until a client can be, it denies.
pub fn decide(route: &Route, name: &str) -> Result<(), Error> {
    if route.tool.is_held() {
        return Err(Error::ToolChanged { tool: name.to_owned() });
    }
    match route.tool.permission {
        Permission::Allow => Ok(()),
        Permission::Ask | Permission::Block => Err(Error::Denied { tool: name.to_owned() }),
    }
}
