//! Slows down whoever guesses passwords. Each failure fills a bucket that empties with time; a full one refuses
//! before anything is compared. An account and an address have one each.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// So many failures in a row, then one for each of these times.
struct Pace {
    burst: f64,
    each: Duration,
}

const ACCOUNT: Pace = Pace { burst: 10.0, each: Duration::from_secs(30) };
const ADDRESS: Pace = Pace { burst: 50.0, each: Duration::from_secs(6) };
/// Clients that make themselves known, from one address.
const REGISTRATION: Pace = Pace { burst: 30.0, each: Duration::from_secs(10) };
/// Past this many buckets the empty ones are thrown away.
const BUCKETS: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Who {
    /// In lower case, whether it exists or not.
    Account(String),
    Address(IpAddr),
    Registration(IpAddr),
}

impl Who {
    fn pace(&self) -> &'static Pace {
        match self {
            Self::Account(_) => &ACCOUNT,
            Self::Address(_) => &ADDRESS,
            Self::Registration(_) => &REGISTRATION,
        }
    }
}

struct Bucket {
    level: f64,
    at: Instant,
}

impl Bucket {
    fn level(&self, pace: &Pace) -> f64 {
        (self.level - self.at.elapsed().as_secs_f64() / pace.each.as_secs_f64()).max(0.0)
    }
}

#[derive(Default)]
pub(crate) struct Throttle(Mutex<HashMap<Who, Bucket>>);

impl Throttle {
    /// Counts an attempt as a failure until it turns out to be none. Refused: how long to wait.
    pub(crate) fn attempt(&self, account: &str, address: Option<IpAddr>) -> Result<(), Duration> {
        self.take(who(account, address))
    }

    /// Counts a client that makes itself known. Refused: how long to wait.
    pub(crate) fn register(&self, address: IpAddr) -> Result<(), Duration> {
        self.take(vec![Who::Registration(network(address))])
    }

    fn take(&self, all: Vec<Who>) -> Result<(), Duration> {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() > BUCKETS {
            buckets.retain(|who, it| it.level(who.pace()) > 0.0);
        }
        for who in &all {
            let pace = who.pace();
            let level = buckets.get(who).map_or(0.0, |it| it.level(pace));
            if level + 1.0 > pace.burst {
                return Err(pace.each.mul_f64(level + 1.0 - pace.burst));
            }
        }
        for who in all {
            let level = buckets.get(&who).map_or(0.0, |it| it.level(who.pace()));
            buckets.insert(who, Bucket { level: level + 1.0, at: Instant::now() });
        }
        Ok(())
    }

    /// It was the right password: the account starts anew, the address gets its one back.
    pub(crate) fn succeeded(&self, account: &str, address: Option<IpAddr>) {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for who in who(account, address) {
            match &who {
                Who::Account(_) => drop(buckets.remove(&who)),
                Who::Address(_) | Who::Registration(_) => {
                    if let Some(bucket) = buckets.get_mut(&who) {
                        bucket.level = (bucket.level - 1.0).max(0.0);
                    }
                }
            }
        }
    }
}

fn who(account: &str, address: Option<IpAddr>) -> Vec<Who> {
    let account = Who::Account(account.trim().to_lowercase());
    std::iter::once(account).chain(address.map(|it| Who::Address(network(it)))).collect()
}

/// A person's network has many IPv6 addresses: they count as one.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(it) => match it.to_ipv4_mapped() {
            Some(it) => it.into(),
            None => std::net::Ipv6Addr::from_bits(it.to_bits() & (u128::MAX << 64)).into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempts(throttle: &Throttle, account: &str, address: &str) -> usize {
        let address = address.parse().ok();
        (0..1000).take_while(|_| throttle.attempt(account, address).is_ok()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn an_account_is_slowed_down_wherever_the_guesses_come_from() {
        let throttle = Throttle::default();
        assert_eq!(attempts(&throttle, "a@x", "10.0.0.1"), 10);
        assert_eq!(attempts(&throttle, " A@X ", "10.0.0.2"), 0, "spelt otherwise, from elsewhere");
        assert_eq!(throttle.attempt("a@x", None), Err(ACCOUNT.each));
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(attempts(&throttle, "a@x", "10.0.0.1"), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_is_slowed_down_whichever_account_it_tries() {
        let throttle = Throttle::default();
        let tried: usize =
            (0..100).map(|it| usize::from(attempts(&throttle, &it.to_string(), "10.0.0.1") > 0)).sum();
        assert_eq!(tried, 5, "fifty attempts, ten at each");
        assert_eq!(attempts(&throttle, "b", "2001:db8::1"), 10);
        assert_eq!(attempts(&throttle, "c", "2001:db8::2"), 10);
        assert_eq!(throttle.0.lock().unwrap_or_else(PoisonError::into_inner).len(), 5 + 1 + 2 + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn registrations_have_a_pace_of_their_own() {
        let (throttle, address) = (Throttle::default(), "10.0.0.1".parse().expect("an address"));
        assert_eq!((0..1000).take_while(|_| throttle.register(address).is_ok()).count(), 30);
        assert_eq!(throttle.register(address), Err(REGISTRATION.each));
        assert_eq!(throttle.attempt("a@x", Some(address)), Ok(()));
        tokio::time::advance(REGISTRATION.each).await;
        assert_eq!(throttle.register(address), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn who_knows_the_password_starts_anew() {
        let throttle = Throttle::default();
        for _ in 0..1000 {
            assert_eq!(throttle.attempt("a@x", "10.0.0.1".parse().ok()), Ok(()));
            throttle.succeeded("a@x", "10.0.0.1".parse().ok());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn names_nobody_has_do_not_pile_up() {
        let throttle = Throttle::default();
        for number in 0..=BUCKETS {
            let _ = throttle.attempt(&number.to_string(), None);
        }
        tokio::time::advance(ACCOUNT.each).await;
        let _ = throttle.attempt("one more", None);
        assert_eq!(throttle.0.lock().unwrap_or_else(PoisonError::into_inner).len(), 1);
    }
}
