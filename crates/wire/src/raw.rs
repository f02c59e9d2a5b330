//! A piece of checked JSON: a view into the message it came with, never a copy.

use bytes::Bytes;

/// Valid JSON text. Cloning shares the bytes of the message it is part of.
#[derive(Clone, PartialEq, Eq)]
pub struct Raw(Bytes);

impl Raw {
    pub fn parse(bytes: impl Into<Bytes>) -> Result<Self, serde_json::Error> {
        let bytes = bytes.into();
        serde_json::from_slice::<&serde_json::value::RawValue>(&bytes)?;
        Ok(Self(bytes))
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("checked JSON is UTF-8")
    }

    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_slice(&self.0).unwrap_or(serde_json::Value::Null)
    }
}

impl std::fmt::Debug for Raw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
