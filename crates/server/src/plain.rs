//! Pages without scripts: sign-in, set-up, invitations, consent. Text is escaped by [`maud`]; nothing is loaded from
//! anywhere, no other page may frame them, and their forms go to the hub.

use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("plain/style.css");

/// A page on its way to a browser.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) title: &'static str,
    pub(crate) body: Markup,
    pub(crate) forms: Forms,
}

/// Where the forms of a page may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forms {
    ToUs,
    /// To us, and on to wherever a client goes from there: browsers hold every redirect after a form against the page.
    Onward,
}

impl Page {
    pub(crate) fn new(title: &'static str, body: Markup) -> Self {
        Self { status: StatusCode::OK, title, body, forms: Forms::ToUs }
    }

    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let text = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " – Toolgrove" }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    main {
                        p.brand { "Toolgrove" }
                        h1 { (self.title) }
                        (self.body)
                    }
                }
            }
        };
        let mut response = (self.status, Html(text.into_string())).into_response();
        protect(response.headers_mut(), self.forms);
        response
    }
}

const ALWAYS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // With `no-referrer` a browser would send forms of ours with the origin `null`.
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
];

fn protect(headers: &mut HeaderMap, forms: Forms) {
    let style = BASE64_STANDARD.encode(Sha256::digest(STYLE));
    let forms = match forms {
        Forms::ToUs => "; form-action 'self'",
        Forms::Onward => "",
    };
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; frame-ancestors 'none'; base-uri 'none'{forms}"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// What is wrong, said where a screen reader hears it.
pub(crate) fn problem(text: &str) -> Markup {
    html! { p.problem role="alert" { (sentence(text)) } }
}

/// A message of ours as a sentence of a page: backticks become code, the first letter a capital.
pub(crate) fn sentence(text: &str) -> Markup {
    let mut letters = text.chars();
    let capital: String = letters.next().map(|it| it.to_uppercase().to_string()).unwrap_or_default();
    let text = format!("{capital}{}", letters.as_str());
    html! {
        @for (place, piece) in text.split('`').enumerate() {
            @if place % 2 == 0 { (piece) } @else { code { (piece) } }
        }
        "."
    }
}

/// One labelled field.
pub(crate) struct Field<'a> {
    pub(crate) label: &'a str,
    pub(crate) name: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) value: &'a str,
    /// What a browser may fill in.
    pub(crate) autocomplete: &'a str,
    pub(crate) hint: &'a str,
}

impl Field<'_> {
    pub(crate) fn show(&self) -> Markup {
        let hint_id = format!("{}-hint", self.name);
        html! {
            label for=(self.name) { (self.label) }
            input id=(self.name) name=(self.name) type=(self.kind) value=(self.value) required
                autocomplete=(self.autocomplete) aria-describedby=[(!self.hint.is_empty()).then_some(&hint_id)];
            @if !self.hint.is_empty() { p.hint id=(hint_id) { (self.hint) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn what_is_written_in_a_page_stays_text() {
        let text = problem("`<b>` is \"not\" & <i>").into_string();
        expect![[r#"<p class="problem" role="alert"><code>&lt;b&gt;</code> is &quot;not&quot; &amp; &lt;i&gt;.</p>"#]]
            .assert_eq(&text);
        let value = "\"><script>alert(1)</script>";
        let field =
            Field { label: "E-mail", name: "email", kind: "email", value, autocomplete: "email", hint: "" };
        assert!(!field.show().into_string().contains("<script"));
    }

    #[test]
    fn a_page_loads_nothing_and_is_framed_by_nobody() {
        let response = Page::new("Sign in", html! {}).into_response();
        let policy = response.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap_or_default();
        let style = BASE64_STANDARD.encode(Sha256::digest(STYLE));
        assert_eq!(
            policy,
            format!(
                "default-src 'none'; style-src 'sha256-{style}'; frame-ancestors 'none'; base-uri 'none'; \
                 form-action 'self'"
            )
        );
        assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
    }
}
