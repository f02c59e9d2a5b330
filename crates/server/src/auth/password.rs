//! Passwords: argon2id, off the threads that serve, a few at a time. Whether somebody exists makes no difference in
//! work or words.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;
use toolgrove_core::{Error, Secret};

/// Each takes 19 MiB for as long as it runs.
const AT_ONCE: usize = 4;
const SHORTEST: usize = 12;
const LONGEST: usize = 1024;
/// What is compared with when there is nothing to compare with. Nobody knows a password for it.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5LWhhcy10aGlz$Ky1ZHfRYVQJtBjaf0mLFKtTrrM5zcb0nQ5yRJWMNP8k";

pub(crate) struct Passwords(Semaphore);

impl Default for Passwords {
    fn default() -> Self {
        Self(Semaphore::new(AT_ONCE))
    }
}

impl Passwords {
    /// What the store keeps of a new password.
    pub(crate) async fn hash(&self, password: Secret) -> Result<String, Error> {
        check(password.reveal())?;
        self.off_thread(move || {
            let hash: Result<PasswordHash, _> = Argon2::default().hash_password(password.reveal().as_bytes());
            hash.map(|it| it.to_string()).map_err(|it| Error::Internal(it.to_string()))
        })
        .await?
    }

    /// Whether a password is the stored one. The work is the same when there is none.
    pub(crate) async fn verify(&self, password: Secret, stored: Option<String>) -> Result<bool, Error> {
        let exists = stored.is_some();
        let stored = stored.unwrap_or_else(|| NOBODY.to_owned());
        let is_it = move || {
            let hash = PasswordHash::new(&stored).map_err(|it| Error::Internal(it.to_string()))?;
            Ok(Argon2::default().verify_password(password.reveal().as_bytes(), &hash).is_ok())
        };
        Ok(self.off_thread(is_it).await?? && exists)
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let broken = |it: String| Error::Internal(it);
        let _turn = self.0.acquire().await.map_err(|it| broken(it.to_string()))?;
        tokio::task::spawn_blocking(work).await.map_err(|it| broken(it.to_string()))
    }
}

fn check(password: &str) -> Result<(), Error> {
    match password.chars().count() {
        SHORTEST..=LONGEST => Ok(()),
        it if it < SHORTEST => {
            Err(Error::Request(format!("a password needs at least {SHORTEST} characters")))
        }
        _ => Err(Error::Request(format!("a password has at most {LONGEST} characters"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_known_by_its_hash_alone() {
        let passwords = Passwords::default();
        let good = || Secret::new("correct horse battery");
        let stored = passwords.hash(good()).await.unwrap_or_default();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$") && !stored.contains("horse"));
        let verify = async |password: Secret, stored: Option<&str>| {
            passwords.verify(password, stored.map(Into::into)).await.ok()
        };
        assert_eq!(verify(good(), Some(&stored)).await, Some(true));
        assert_eq!(verify(Secret::new("correct horse"), Some(&stored)).await, Some(false));
        assert_eq!(verify(good(), None).await, Some(false));
    }

    #[test]
    fn nobody_costs_as_much_as_somebody() {
        let cost = |stored: &str| {
            let hash = PasswordHash::new(stored).expect("a hash");
            (hash.algorithm, hash.version, hash.params.to_string(), hash.hash.map(|it| it.len()))
        };
        let somebody: PasswordHash = Argon2::default().hash_password(b"x").expect("a hash");
        assert_eq!(cost(NOBODY), cost(&somebody.to_string()));
    }

    #[test]
    fn a_password_has_a_length() {
        let text = |it: Result<(), Error>| it.err().map(|it| it.to_string());
        assert_eq!(text(check("elevenchars")).as_deref(), Some("a password needs at least 12 characters"));
        assert_eq!(text(check("zwölf Zeichen")), None);
        assert_eq!(text(check(&"x".repeat(1025))).as_deref(), Some("a password has at most 1024 characters"));
    }
}
