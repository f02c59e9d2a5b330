//! The key file and what it seals.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use expect_test::{Expect, expect};
use tempfile::TempDir;
use toolgrove_core::Secret;

use crate::SecretBox;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_first_start_makes_a_key_file_only_its_owner_reads() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("new/secret.key");
    let sealed = SecretBox::load_or_create(&path).unwrap().seal("a", &Secret::new("x"));
    assert_eq!(mode(&path), 0o600);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    let again = SecretBox::load_or_create(&path).unwrap();
    assert_eq!(again.open("a", &sealed).unwrap(), Secret::new("x"));
}

#[test]
fn processes_that_start_at_once_share_one_key() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("secret.key");
    let boxes: Vec<_> = std::thread::scope(|scope| {
        let starts: Vec<_> =
            (0..8).map(|_| scope.spawn(|| SecretBox::load_or_create(&path).unwrap())).collect();
        starts.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let sealed = boxes[0].seal("a", &Secret::new("x"));
    assert!(boxes.iter().all(|it| it.open("a", &sealed).is_ok()));
}

#[test]
fn a_key_file_that_others_can_read_is_tightened() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("secret.key");
    SecretBox::load_or_create(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    SecretBox::load_or_create(&path).unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn an_old_key_still_opens_after_a_new_one_is_put_first() {
    let folder = TempDir::new().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    let sealed = SecretBox::load_or_create(&old).unwrap().seal("a", &Secret::new("x"));
    SecretBox::load_or_create(&new).unwrap();
    let both = fs::read_to_string(&new).unwrap() + &fs::read_to_string(&old).unwrap();
    fs::write(&new, both).unwrap();
    let rotated = SecretBox::load_or_create(&new).unwrap();
    assert_eq!(rotated.open("a", &sealed).unwrap(), Secret::new("x"));
    let fresh = rotated.seal("a", &Secret::new("y"));
    assert!(SecretBox::load_or_create(&old).unwrap().open("a", &fresh).is_err());
}

#[test]
fn a_value_opens_only_unchanged_and_in_its_own_place() {
    let secrets = SecretBox::in_memory();
    let sealed = secrets.seal("a", &Secret::new("x"));
    assert_ne!(sealed, secrets.seal("a", &Secret::new("x")), "nonces repeat");
    assert!(secrets.open("a", &sealed).is_ok());
    assert!(secrets.open("b", &sealed).is_err());
    assert!(SecretBox::in_memory().open("a", &sealed).is_err());
    for at in 0..sealed.len() {
        let mut changed = sealed.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'Q' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert!(secrets.open("a", &changed).is_err(), "{changed}");
        assert!(secrets.open("a", &sealed[..at]).is_err());
    }
    assert_eq!(format!("{secrets:?}"), "SecretBox(•••)");
}

#[test]
fn a_damaged_key_file_is_refused_in_one_sentence() {
    let key = "0".repeat(64);
    check("", &expect!["key file `FILE` is damaged: it holds no key"]);
    check("abc", &expect!["key file `FILE` is damaged: line 1 is not `kid:key` with 64 hexadecimal digits"]);
    check(
        &format!("a:{key}\n\nb:{}", &key[1..]),
        &expect!["key file `FILE` is damaged: line 3 is not `kid:key` with 64 hexadecimal digits"],
    );
    check(
        &format!("a:{}é", &key[2..]),
        &expect!["key file `FILE` is damaged: line 1 is not `kid:key` with 64 hexadecimal digits"],
    );
    check(
        &format!("a:{key}\na:{key}"),
        &expect!["key file `FILE` is damaged: line 2 repeats the key id `a`"],
    );
}

#[track_caller]
fn check(text: &str, expected: &Expect) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("secret.key");
    fs::write(&path, text).unwrap();
    let error = SecretBox::load_or_create(&path).unwrap_err().to_string();
    expected.assert_eq(&error.replace(&path.display().to_string(), "FILE"));
}
