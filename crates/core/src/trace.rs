//! Trace context through the hub: the call becomes the parent of what the server does.
//!
//! `traceparent` keeps its trace and gets the call's own span; `tracestate` passes; `baggage` stays on its hop.

use toolgrove_wire::{Draft, Edit};
use uuid::Uuid;

/// Parameters whose trace context names this call. Without one they are as they were.
pub(crate) fn step(params: Draft, call: Uuid) -> Draft {
    // Long arguments are stepped over, not read.
    let Some(meta) = params.get("_meta") else { return params };
    let parent = meta.get_text("traceparent").and_then(|it| child(&it, call));
    if parent.is_none() && meta.get("baggage").is_none() {
        return params;
    }
    let mut edit = Edit::of(&meta).remove("baggage");
    if let Some(parent) = parent {
        edit = edit.set_text("traceparent", &parent);
    }
    params.set("_meta", edit.done())
}

/// The same trace with the call as its parent; none for what is no trace context.
fn child(parent: &str, call: Uuid) -> Option<String> {
    let mut parts = parent.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex = |text: &str, length| text.len() == length && text.bytes().all(|it| it.is_ascii_hexdigit());
    if !hex(version, 2) || !hex(trace, 32) || !hex(span, 16) || !hex(flags, 2) {
        return None;
    }
    // The random half of the call's id.
    let own = &call.simple().to_string()[16..];
    Some(format!("{version}-{trace}-{own}-{flags}"))
}

#[cfg(test)]
mod tests {
    use toolgrove_wire::Raw;

    use super::*;

    #[test]
    fn the_call_becomes_the_parent_and_baggage_stays() {
        let call = Uuid::parse_str("019a0000-0000-7000-8abc-0123456789ab").expect("an id");
        let params = Raw::parse(
            r#"{"name":"x","_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=b","baggage":"k=v"}}"#,
        )
        .expect("valid");
        assert_eq!(
            step(params.into(), call).raw().as_str(),
            r#"{"name":"x","_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-8abc0123456789ab-01","tracestate":"a=b"}}"#
        );
        let odd = Raw::parse(r#"{"_meta":{"traceparent":"nonsense"}}"#).expect("valid");
        assert_eq!(step(odd.clone().into(), call).raw(), odd);
        let none = Raw::parse(r#"{"a": 1}"#).expect("valid");
        assert_eq!(step(none.clone().into(), call).raw(), none);
    }
}
