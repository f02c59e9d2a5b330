//! Which tab is number N of its domain, and the names that follow from it. A name once given stays while what it
//! names lives; it is looked up here and never taken apart.

use std::collections::{BTreeSet, HashMap};

use super::meta::META_TOOLS;
use crate::name::{cached_tab_name, free_name, sanitize, tab_name};

/// What a public name stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Named {
    /// A tool of one tab. Domains are sanitised: slots are counted over what looks alike.
    Tab { domain: String, slot: u32, tool: String },
    /// A tool of whichever tab of an origin is best.
    Origin { origin: String, tool: String },
}

#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    given: HashMap<Named, String>,
    meant: HashMap<String, Named>,
}

impl Names {
    /// The name of a tool in a tab.
    pub(super) fn tab(&mut self, domain: &str, slot: u32, tool: &str) -> String {
        let named = Named::Tab { domain: sanitize(domain), slot, tool: tool.to_owned() };
        self.give(named, &tab_name(domain, slot, tool))
    }

    /// The name of a tool in the best tab of an origin.
    pub(super) fn origin(&mut self, domain: &str, origin: &str, tool: &str) -> String {
        let named = Named::Origin { origin: origin.to_owned(), tool: tool.to_owned() };
        self.give(named, &cached_tab_name(domain, tool))
    }

    /// Gives a name back that was given in an earlier run.
    pub(super) fn restore(&mut self, origin: &str, tool: &str, name: &str) {
        let named = Named::Origin { origin: origin.to_owned(), tool: tool.to_owned() };
        if !self.given.contains_key(&named) && !self.meant.contains_key(name) {
            self.meant.insert(name.to_owned(), named.clone());
            self.given.insert(named, name.to_owned());
        }
    }

    fn give(&mut self, named: Named, wanted: &str) -> String {
        if let Some(name) = self.given.get(&named) {
            return name.clone();
        }
        let name = free_name(wanted, |it| self.meant.contains_key(it));
        self.meant.insert(name.clone(), named.clone());
        self.given.insert(named, name.clone());
        name
    }

    pub(super) fn meaning(&self, name: &str) -> Option<&Named> {
        self.meant.get(name)
    }

    pub(super) fn of(&self, named: &Named) -> Option<&str> {
        self.given.get(named).map(String::as_str)
    }

    /// Takes back every name that is no longer wanted.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(&Named) -> bool) {
        self.given.retain(|named, _| is_wanted(named));
        self.meant.retain(|_, named| is_wanted(named));
    }
}

/// Names as `webmcp-local-relay` gives them: the tool's own, with the first four characters of its tab while two
/// tabs have it, then a number. `offers` are pairs of tool and tab, in the order in which tabs came.
pub(super) fn relay_names(offers: &[(String, String)]) -> Vec<String> {
    let mut count: HashMap<String, BTreeSet<&str>> = HashMap::new();
    for (tool, tab) in offers {
        count.entry(sanitize(tool)).or_default().insert(tab);
    }
    let mut taken: BTreeSet<String> = META_TOOLS.iter().map(|it| (*it).to_owned()).collect();
    // A suffixed name must not take the place of a tool that is really called so.
    taken.extend(count.iter().filter(|it| it.1.len() > 1).map(|it| it.0.clone()));
    let mut names = Vec::with_capacity(offers.len());
    for (tool, tab) in offers {
        let plain = sanitize(tool);
        let wanted = match count.get(&plain).map_or(0, BTreeSet::len) {
            0 | 1 => plain,
            _ => format!("{plain}_{}", sanitize(tab).chars().take(4).collect::<String>()),
        };
        let name = free_name(&wanted, |it| taken.contains(it));
        taken.insert(name.clone());
        names.push(name);
    }
    names
}
