//! Which headers a person may set on requests to a server. The rest belongs to the protocol.

/// Refuses what Toolgrove sets itself and what is no header at all. The value may hold `${…}`.
pub fn check_header(name: &str, value: &str) -> Result<(), String> {
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!("`{name}` is not a header name"));
    }
    if is_ours(&name.to_ascii_lowercase()) {
        return Err(format!("header `{name}` is set by Toolgrove"));
    }
    if value.chars().any(|it| it.is_control() && it != '\t') {
        return Err(format!("the value of header `{name}` holds a control character"));
    }
    Ok(())
}

fn is_ours(name: &str) -> bool {
    matches!(name, "host" | "accept" | "connection" | "transfer-encoding")
        || name.starts_with("content-")
        || name.starts_with("mcp-")
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_protocol_are_refused_in_any_case() {
        for name in [
            "Host",
            "content-type",
            "Content-Length",
            "ACCEPT",
            "Connection",
            "mcp-session-id",
            "MCP-Protocol-Version",
        ] {
            assert_eq!(check_header(name, "x"), Err(format!("header `{name}` is set by Toolgrove")));
        }
        for name in ["Authorization", "X-Api-Key", "Accept-Language", "Hosting"] {
            assert_eq!(check_header(name, "Bearer ${env:TOKEN}"), Ok(()));
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        assert_eq!(check_header("X Y", "x"), Err("`X Y` is not a header name".into()));
        assert_eq!(
            check_header("X", "a\r\nHost: b"),
            Err("the value of header `X` holds a control character".into())
        );
    }
}
