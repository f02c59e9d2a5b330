//! Which of several entries of one identity is the active one. Pure: the same for `mcp.json` and for the registry.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};
use ts_rs::TS;

use crate::identity::{Definition, Identity};

const PREFIX: &str = "Duplicate of ";
/// Whose bundle the active entry is of, when it is of none.
const UNKNOWN: &str = "unknown";

/// One entry, in the order of the file.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    pub name: &'a str,
    /// None for what is no server: it takes no part.
    pub identity: Option<Identity>,
    pub owner: Owner<'a>,
    pub state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner<'a> {
    /// A person's own entry: never touched, and active wherever it stands.
    Person,
    Bundle(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    On,
    /// Turned off by its author or by a person. Does not count.
    Off,
    /// Turned off by us, because another one was active.
    Duplicate,
}

/// What an entry of a bundle is after all have been looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Active,
    Off,
    /// The place of the active one.
    DuplicateOf(usize),
}

/// A duplicate as it is reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Duplicate {
    pub server_name: String,
    pub duplicate_of: String,
    pub bundle_id: String,
    pub original_bundle_id: String,
}

/// Decides for every entry. A person's own comes first, then the first that is on, then the first that we had turned
/// off: so every identity has an active entry as long as one of its entries is not off.
pub fn settle(candidates: &[Candidate<'_>]) -> Vec<Standing> {
    let mut active: HashMap<&Identity, usize> = HashMap::new();
    for wanted in [
        |it: &Candidate<'_>| it.owner == Owner::Person && it.state == State::On,
        |it: &Candidate<'_>| it.owner != Owner::Person && it.state == State::On,
        |it: &Candidate<'_>| it.owner != Owner::Person && it.state == State::Duplicate,
    ] {
        for (place, it) in candidates.iter().enumerate().filter(|(_, it)| wanted(it)) {
            if let Some(identity) = &it.identity {
                active.entry(identity).or_insert(place);
            }
        }
    }
    candidates
        .iter()
        .enumerate()
        .map(|(place, it)| match it.identity.as_ref().and_then(|identity| active.get(identity)) {
            _ if it.state == State::Off => Standing::Off,
            Some(first) if *first != place && it.owner != Owner::Person => Standing::DuplicateOf(*first),
            _ => Standing::Active,
        })
        .collect()
}

/// The duplicates among them, in order.
pub fn report(candidates: &[Candidate<'_>], standings: &[Standing]) -> Vec<Duplicate> {
    let bundle = |it: &Candidate<'_>| match it.owner {
        Owner::Bundle(id) => id.to_owned(),
        Owner::Person => UNKNOWN.to_owned(),
    };
    candidates
        .iter()
        .zip(standings)
        .filter_map(|(it, standing)| match standing {
            Standing::DuplicateOf(place) => Some(Duplicate {
                server_name: it.name.to_owned(),
                duplicate_of: candidates[*place].name.to_owned(),
                bundle_id: bundle(it),
                original_bundle_id: bundle(&candidates[*place]),
            }),
            Standing::Active | Standing::Off => None,
        })
        .collect()
}

/// What `mcp.json` says of an entry. `original` is the author's definition, none for a person's own entry.
pub fn state(definition: &Definition, original: Option<&Definition>) -> State {
    let is_off = |it: &Definition| it.get("disabled").and_then(Value::as_bool) == Some(true);
    if !is_off(definition) {
        return State::On;
    }
    let marked =
        definition.get("description").and_then(Value::as_str).is_some_and(|it| it.starts_with(PREFIX));
    match original {
        Some(original) if marked && !is_off(original) => State::Duplicate,
        _ => State::Off,
    }
}

/// What an entry's members must become: none takes a member out.
pub type Patch = Vec<(String, Option<Value>)>;

/// How an entry of a bundle is written down as what it now is. Empty when it already is.
pub fn patch(definition: &Definition, original: &Definition, standing: Standing, active: &str) -> Patch {
    let wanted = match standing {
        Standing::DuplicateOf(_) => [
            ("disabled".to_owned(), Some(Value::Bool(true))),
            ("description".to_owned(), Some(format!("{PREFIX}{active}").into())),
        ],
        Standing::Active if state(definition, Some(original)) == State::Duplicate => {
            ["disabled", "description"].map(|key| (key.to_owned(), original.get(key).cloned()))
        }
        Standing::Active | Standing::Off => return Patch::new(),
    };
    wanted.into_iter().filter(|(key, value)| definition.get(key) != value.as_ref()).collect()
}

/// Does to a parsed entry what `patch` says.
pub fn apply(definition: &mut Map<String, Value>, patch: &Patch) {
    for (key, value) in patch {
        match value {
            Some(value) => definition.insert(key.clone(), value.clone()),
            None => definition.shift_remove(key),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_has_twice_is_their_own_affair() {
        let own = |name| Candidate {
            name,
            identity: Some(Identity::Remote { url: "https://x/mcp".into() }),
            owner: Owner::Person,
            state: State::On,
        };
        let candidates = [own("a"), own("b")];
        let standings = settle(&candidates);
        assert_eq!(standings, [Standing::Active, Standing::Active]);
        assert_eq!(report(&candidates, &standings), []);
    }
}
