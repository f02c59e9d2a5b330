//! `unix:///path.sock#/sub` → where the socket is and which path to ask for on it.

/// The file and the HTTP path (`/` without a fragment) of a resolved `unix:` or `pipe:` URL.
pub fn socket(url: &str) -> (String, String) {
    let (place, fragment) = url.split_once('#').unwrap_or((url, ""));
    let place = place.split_once(':').map_or(place, |(_, rest)| rest);
    let path = percent_decode(place.strip_prefix("//").unwrap_or(place));
    let fragment = if fragment.starts_with('/') { fragment.to_owned() } else { format!("/{fragment}") };
    (path, fragment)
}

fn percent_decode(text: &str) -> String {
    let digit = |at: usize| text.as_bytes().get(at).and_then(|it| (*it as char).to_digit(16));
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at) {
        if let (b'%', Some(high), Some(low)) = (byte, digit(at + 1), digit(at + 2)) {
            bytes.push((high * 16 + low) as u8);
            at += 3;
        } else {
            bytes.push(*byte);
            at += 1;
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_url_is_a_file_and_a_path() {
        let cases = [
            ("unix:///run/a.sock", "/run/a.sock", "/"),
            ("unix:///run/a.sock#/mcp", "/run/a.sock", "/mcp"),
            ("unix:///run/my%20app.sock#mcp", "/run/my app.sock", "/mcp"),
            ("unix:/run/100%.sock", "/run/100%.sock", "/"),
            ("pipe:////./pipe/tools", "//./pipe/tools", "/"),
        ];
        for (url, path, sub) in cases {
            assert_eq!(socket(url), (path.to_owned(), sub.to_owned()), "for `{url}`");
        }
    }
}
