//! Any stream in any two pieces: no panic, and the cut does not matter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgrove_wire::sse::Reader;

fuzz_target!(|data: &[u8]| {
    let whole = Reader::new(1 << 16).push(data);
    let cut = data.first().map_or(0, |it| usize::from(*it) % data.len());
    let mut reader = Reader::new(1 << 16);
    let pieces = reader.push(&data[..cut]).and_then(|mut first| {
        first.extend(reader.push(&data[cut..])?);
        Ok(first)
    });
    if let (Ok(whole), Ok(pieces)) = (whole, pieces) {
        assert_eq!(whole, pieces);
    }
});
