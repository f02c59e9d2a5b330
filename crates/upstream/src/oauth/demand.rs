//! What a server has asked for so far, so that the next sign-in asks the provider for all of it.

use super::{Challenge, union};

/// How often somebody is sent to sign in for the same scopes: a server that wants what no provider gives would have
/// them do so for ever.
const ROUNDS: u32 = 3;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demand {
    /// Where the server's metadata is.
    pub resource_metadata: Option<String>,
    pub scope: Option<String>,
    /// How often in a row the server wanted more and named nothing new.
    pub rounds: u32,
}

impl Demand {
    /// Takes a 401. What was once asked for on top stays.
    pub fn hear(&mut self, challenge: &Challenge) {
        self.scope = match self.rounds {
            0 => challenge.scope.clone(),
            _ => union(self.scope.as_deref(), challenge.scope.as_deref()),
        };
        self.resource_metadata.clone_from(&challenge.resource_metadata);
    }

    /// Takes a 403 for a token with the `granted` scope. Says whether signing in again may help.
    pub fn step_up(&mut self, granted: Option<&str>, challenge: &Challenge) -> bool {
        let before = union(self.scope.as_deref(), granted);
        let after = union(before.as_deref(), challenge.scope.as_deref());
        self.rounds = if after == before { self.rounds.saturating_add(1) } else { 1 };
        self.scope = after;
        if challenge.resource_metadata.is_some() {
            self.resource_metadata.clone_from(&challenge.resource_metadata);
        }
        self.rounds < ROUNDS
    }

    /// The challenge that stands for all of it.
    pub fn challenge(&self) -> Challenge {
        Challenge {
            resource_metadata: self.resource_metadata.clone(),
            scope: self.scope.clone(),
            ..Challenge::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(scope: &str) -> Challenge {
        Challenge { scope: Some(scope.into()), ..Challenge::default() }
    }

    #[test]
    fn a_step_up_asks_for_everything_so_far() {
        let mut demand = Demand::default();
        demand.hear(&wants("read"));
        assert!(demand.step_up(Some("read profile"), &wants("write")));
        assert_eq!(demand.scope.as_deref(), Some("read profile write"));
        demand.hear(&wants("read"));
        assert_eq!(demand.scope.as_deref(), Some("read profile write"), "it is not asked for less again");
        assert!(demand.step_up(None, &wants("admin")), "something new is worth a round");
    }

    #[test]
    fn nobody_is_sent_to_sign_in_for_the_same_more_than_three_times() {
        let mut demand = Demand::default();
        demand.hear(&wants("admin"));
        let rounds: Vec<bool> = (0..4).map(|_| demand.step_up(Some("admin"), &wants("admin"))).collect();
        assert_eq!(rounds, [true, true, false, false], "the first sign-in was a round too");
    }
}
