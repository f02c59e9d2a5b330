//! Keeps an instance's secrets out of what its server says about a failure. A server may repeat a key or the whole
//! URL in its refusal; that text is stored, logged and shown, so what the hub sent in confidence is blotted out of it.

use toolgrove_wire::Raw;
use url::form_urlencoded;

use crate::instance::Instance;
use crate::{Error, Secret};

const BLOT: &str = "•••";
/// What is shorter occurs by chance, and hiding it would garble the text.
const SHORTEST: usize = 8;

/// The error in the same words, without the instance's secrets.
pub fn redact(error: Error, instance: &Instance) -> Error {
    let hidden = words(instance);
    let clean = |text: String| blot(text, &hidden);
    if hidden.is_empty() {
        return error;
    }
    match error {
        Error::NeedsReauth { slug, text, status, body, challenge } => Error::NeedsReauth {
            slug,
            text: clean(text),
            status,
            body: body.map(clean),
            challenge: challenge.map(clean),
        },
        Error::Unreachable { slug, cause } => Error::Unreachable { slug, cause: clean(cause) },
        Error::Answered { slug, status, reason, body } => {
            Error::Answered { slug, status, reason: clean(reason), body: clean(body) }
        }
        Error::Garbled { slug, problem } => Error::Garbled { slug, problem: clean(problem) },
        Error::Server { code, message, data } => {
            // Blots are plain text, so what was JSON stays JSON.
            let data = data.and_then(|it| Raw::parse(clean(it.as_str().to_owned())).ok());
            Error::Server { code, message: clean(message), data }
        }
        other => other,
    }
}

/// The text without the instance's secrets.
pub fn redact_text(text: String, instance: &Instance) -> String {
    blot(text, &words(instance))
}

/// Everything that must not be read: values, the words of values such as `Bearer …`, and how they look in a URL.
fn words(instance: &Instance) -> Vec<Secret> {
    let mut found = Vec::new();
    for secret in instance.transport.secrets() {
        let value = secret.reveal();
        let coded: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
        let parts = std::iter::once(value).chain([coded.as_str()]).chain(value.split_whitespace());
        for part in parts.filter(|it| it.len() >= SHORTEST) {
            found.push(Secret::new(part));
        }
    }
    found
}

fn blot(text: String, hidden: &[Secret]) -> String {
    hidden.iter().fold(text, |text, secret| {
        if text.contains(secret.reveal()) { text.replace(secret.reveal(), BLOT) } else { text }
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use url::Url;
    use uuid::Uuid;

    use super::*;
    use crate::instance::{EraSetting, HttpReach, Switch, Transport};
    use crate::net::Allowlist;

    fn instance() -> Instance {
        let reach = HttpReach {
            url: Url::parse("https://x/mcp").expect("a URL"),
            headers: vec![("Authorization".into(), Secret::new("Bearer tok-en-12345"))],
            query: vec![("k".into(), Secret::new("a b/12345")), ("short".into(), Secret::new("1"))],
        };
        Instance {
            id: Uuid::nil(),
            person: Uuid::nil(),
            server: Uuid::nil(),
            slug: "s".into(),
            server_name: "s".into(),
            transport: Transport::Http(reach),
            hosts: Allowlist::Any,
            era: EraSetting::Auto,
            protocol: None,
            verdict: None,
            timeout: Duration::from_secs(1),
            switch: Switch::On,
            phase: crate::policy::Phase::Gamma,
            rate: None,
            revision: 1,
        }
    }

    #[test]
    fn a_servers_words_lose_our_secrets_and_nothing_else() {
        for (said, kept) in [
            ("bad key `Bearer tok-en-12345` (1)", "bad key `•••` (1)"),
            ("bad token tok-en-12345", "bad token •••"),
            ("no GET /mcp?k=a+b%2F12345&short=1", "no GET /mcp?k=•••&short=1"),
            ("nothing of ours", "nothing of ours"),
        ] {
            let data = Some(Raw::of(&serde_json::json!({ "said": said })));
            let error = Error::Server { code: 1, message: said.into(), data };
            let Error::Server { message, data, .. } = redact(error, &instance()) else { panic!() };
            assert_eq!(message, kept);
            assert_eq!(data.expect("data stays").get_text("said").as_deref(), Some(kept));
            let error =
                Error::Answered { slug: "s".into(), status: 400, reason: said.into(), body: said.into() };
            let Error::Answered { reason, body, .. } = redact(error, &instance()) else { panic!() };
            assert_eq!((reason.as_str(), body.as_str()), (kept, kept));
            assert_eq!(redact_text(said.into(), &instance()), kept);
        }
    }
}
