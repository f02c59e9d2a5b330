//! A value that must never be shown: it prints as `•••`, cannot be serialised, and is wiped when dropped.

use std::fmt;

use serde::Deserialize;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// A secret text. The only way to its value is [`Secret::reveal`], so every use can be found by name.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(Zeroizing::new(value.into()))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl ZeroizeOnDrop for Secret {}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self::new(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("•••")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("•••")
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;

    /// What stands in this process's memory at an address.
    fn memory(address: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let memory = File::open("/proc/self/mem").expect("a process may read itself");
        memory.read_exact_at(&mut bytes, address as u64).expect("the page is still there");
        bytes
    }

    #[test]
    fn a_secret_is_wiped_when_it_is_dropped() {
        const fn is_wiped<T: ZeroizeOnDrop>() {}
        const { is_wiped::<Secret>() };
        let text = "the quick brown fox jumps over the lazy dog ".repeat(4);
        let secret = Secret::new(text.clone());
        let address = secret.reveal().as_ptr().addr();
        assert_eq!(memory(address, text.len()), text.as_bytes());
        drop(secret);
        // The allocator keeps notes at the beginning of what it got back, and may have given it away again.
        let left = String::from_utf8_lossy(&memory(address, text.len())).into_owned();
        assert!(!left.contains("lazy dog") && !left.contains("brown fox"), "{left:?}");
    }
}
