//! The first start, and what lies in the folders afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use expect_test::expect;

use crate::home::Home;

fn mode(home: &Home, name: &str) -> String {
    format!("{name} {:o}", fs::metadata(home.path(name)).unwrap().permissions().mode() & 0o777)
}

#[test]
fn the_first_start_makes_files_for_their_owner_only() {
    let home = Home::new();
    let hub = home.serve();
    let names =
        ["data", "data/key", "data/secret.key", "data/toolgrove.db", "data/hub.lock", "data/hub.sock"];
    let modes: Vec<String> = names.iter().map(|it| mode(&home, it)).collect();
    expect![[r"
        data 700
        data/key 600
        data/secret.key 600
        data/toolgrove.db 600
        data/hub.lock 600
        data/hub.sock 600"]]
    .assert_eq(&modes.join("\n"));
    let key = fs::read_to_string(home.data("key")).unwrap();
    assert_eq!(key.trim().len(), 64, "32 bytes in hexadecimal");
    hub.stop();
    assert!(!home.data("hub.sock").exists());
}

#[test]
fn the_key_stays_the_same_and_is_closed_to_others_again() {
    let home = Home::new();
    home.type_("tools").ok();
    let key = fs::read_to_string(home.data("key")).unwrap();
    fs::set_permissions(home.data("key"), fs::Permissions::from_mode(0o644)).unwrap();
    let ran = home.type_("tools");
    assert!(ran.err.contains("others could read `~/data/key`; now only its owner can"), "{ran:?}");
    assert_eq!(fs::read_to_string(home.data("key")).unwrap(), key);
    assert_eq!(mode(&home, "data/key"), "data/key 600");
}

#[test]
fn a_damaged_key_is_named() {
    let home = Home::new();
    home.type_("tools").ok();
    fs::write(home.data("key"), "").unwrap();
    expect![[r"
        error: key file `~/data/key` is damaged
        hint: remove it: a new key is made at the next start, and clients need the new one
        exit 1"]]
    .assert_eq(&home.type_("tools").all());
}

#[test]
fn a_data_folder_that_cannot_be_is_named() {
    let home = Home::new();
    home.write("data", "a file");
    expect![[r"
        error: cannot use data folder `~/data`: a part of its path is not a folder
        exit 1"]]
    .assert_eq(&home.type_("tools").all());
}

#[test]
fn a_folder_of_somebody_elses_files_keeps_its_mode() {
    let home = Home::new();
    fs::create_dir(home.path("data")).unwrap();
    home.write("data/notes.txt", "mine");
    fs::set_permissions(home.path("data"), fs::Permissions::from_mode(0o755)).unwrap();
    home.type_("tools").ok();
    assert_eq!(mode(&home, "data"), "data 755");
    let ran = home.type_("doctor");
    assert!(ran.out.contains("✗ data folder"), "{ran:?}");
}

#[test]
fn commands_at_the_same_time_take_turns() {
    let home = Home::new().with_fixture();
    let all: Vec<_> = (0..6)
        .map(|it| {
            let number = format!("n={it}");
            home.command(["call", "mcp__fix__echo", &number])
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for (number, child) in all.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{{\"n\":{number}}}\n"));
    }
    let calls = home.type_("logs --json").json();
    assert_eq!(calls.as_array().unwrap().len(), 6);
}
