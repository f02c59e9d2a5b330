//! Parameters of a form or a query. One that stands twice is refused, because two readers might take different ones.

use url::form_urlencoded;

/// What was sent, each name once.
#[derive(Debug, Default)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// Reads `application/x-www-form-urlencoded`. The error names a parameter that stands twice.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut read: Vec<(String, String)> = Vec::new();
        for (name, value) in form_urlencoded::parse(bytes) {
            if read.iter().any(|it| it.0 == name) {
                return Err(name.into_owned());
            }
            read.push((name.into_owned(), value.into_owned()));
        }
        Ok(Self(read))
    }

    /// A parameter that was sent with a value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|it| it.0 == name && !it.1.is_empty()).map(|it| it.1.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_without_a_value_was_not_sent() {
        let params = Params::read(b"a=1&b=&c&d=x%20y+z").expect("each once");
        assert_eq!((params.get("a"), params.get("d")), (Some("1"), Some("x y z")));
        assert_eq!([params.get("b"), params.get("c"), params.get("e")], [None; 3]);
    }

    #[test]
    fn a_parameter_that_stands_twice_is_named() {
        assert_eq!(Params::read(b"a=1&resource=x&resource=y").unwrap_err(), "resource");
    }
}
