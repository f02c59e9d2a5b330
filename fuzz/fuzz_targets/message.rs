//! Any bytes: no panic, and whatever is accepted can be edited and read again.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use toolgrove_wire::modern::{RequestMeta, ResultHead, complete_from, without_hop_keys};
use toolgrove_wire::{Draft, Edit, Message, Raw, Writing, legacy};

fuzz_target!(|data: &[u8]| {
    let Ok(raw) = Raw::parse(Bytes::copy_from_slice(data)) else {
        return;
    };
    assert!(serde_json::from_slice::<&serde_json::value::RawValue>(data).is_ok());
    let edited = Edit::of(&raw).set_text("name", "x").remove("_meta").done();
    Raw::parse(edited.bytes().clone()).expect("an edit leaves valid JSON");
    let meta = RequestMeta::read(Some(&raw));
    let _ = ResultHead::read(&raw);
    written(&without_hop_keys(raw.clone(), &meta)).expect("valid without its hop keys");
    let server = Raw::empty_object();
    written(&complete_from("s", raw.clone(), &server, None)).expect("valid with its origin");
    for member in raw.members() {
        assert!(member.is(&member.key()) && *member.name() == *member.key().as_bytes());
    }
    let _ = raw.to_outline();
    Raw::parse(legacy::result_for_client(&raw, legacy::Version::V2024_11_05).bytes().clone()).expect("valid for a legacy client");
    let _ = Message::read(&raw);
});

/// What is written is what it says it will be.
fn written(draft: &Draft) -> Result<Raw, toolgrove_wire::Malformed> {
    let mut out = Writing::around(draft, 0);
    draft.put(&mut out);
    let bytes = out.done().into_bytes();
    assert_eq!(bytes, draft.raw().bytes());
    Raw::parse(bytes)
}
