//! A disk that fails, and a process that stops, before every step there is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolgrove_bundle::files::{Disk, Step};
use toolgrove_bundle::install::{Change, Existing};
use toolgrove_bundle::places::CommitMode;

use crate::files::names_in;
use crate::kit::{Kit, name};

/// What goes wrong before step number `at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// This step fails, later ones do not.
    Fails,
    /// The process is gone: nothing happens any more.
    Stops,
}

/// A disk with a fault, and the number of steps it has been asked for.
fn disk(fault: Fault, at: usize) -> (Disk, Arc<AtomicUsize>) {
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&steps);
    let disk = Disk::watched(move |_: Step<'_>| {
        let step = counted.fetch_add(1, Ordering::Relaxed);
        let refuses = match fault {
            Fault::Fails => step == at,
            Fault::Stops => step >= at,
        };
        if refuses { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
    });
    (disk, steps)
}

const OWN: &str =
    "// mine\r\n{\r\n\t\"servers\": {\r\n\t\t\"own\": { \"command\": \"one\", }, // of own\r\n\t},\r\n}\r\n";

/// Everything that a change may touch, and nothing else.
fn snapshot(kit: &Kit) -> Vec<(String, Option<Vec<u8>>)> {
    [
        ".vscode/mcp.json",
        ".vscode/prompt-registry-mcp-tracking.json",
        "prompt-registry.lock.json",
        "prompt-registry.local.lock.json",
        ".git/info/exclude",
    ]
    .into_iter()
    .map(|it| (it.to_owned(), std::fs::read(kit.root().join(it)).ok()))
    .collect()
}

#[test]
fn whatever_step_fails_all_files_are_old_or_new() {
    let changes: &[fn(&Kit) -> bool] = &[
        |kit| kit.install("b", json!({"s": {"command": "one"}, "t": {"command": "two"}})).is_ok(),
        |kit| kit.update("a", "2.0.0", json!({"r": {"command": "r"}})).is_ok(),
        |kit| kit.uninstall("a").is_ok(),
    ];
    for fault in [Fault::Fails, Fault::Stops] {
        for change in changes {
            for at in 0.. {
                let mut kit = Kit::repository(CommitMode::LocalOnly);
                kit.write(OWN);
                kit.install("a", json!({"s": {"command": "one"}, "q": {"command": "two"}})).unwrap();
                let old = snapshot(&kit);
                let (faulty, steps) = disk(fault, at);
                kit.disk = faulty;
                let went_well = change(&kit);
                let came_to_end = steps.load(Ordering::Relaxed) <= at;
                kit.disk = Disk::default();

                // The file is what it was or what it was going to be, even before anybody puts anything right.
                let twin = Kit::repository(CommitMode::LocalOnly);
                twin.write(OWN);
                twin.install("a", json!({"s": {"command": "one"}, "q": {"command": "two"}})).unwrap();
                assert!(change(&twin));
                let here = |text: Option<Vec<u8>>| {
                    let (from, to) =
                        (twin.folder.path().display().to_string(), kit.folder.path().display().to_string());
                    text.map(|it| String::from_utf8(it).unwrap().replace(&from, &to).into_bytes())
                };
                let new: Vec<_> = snapshot(&twin).into_iter().map(|(path, it)| (path, here(it))).collect();
                let file = kit.bytes();
                assert!(file == old[0].1 || file == new[0].1, "{fault:?} {at}: {file:?}");
                let is_new = file == new[0].1;
                // A process that is gone has told nobody; one that is there tells the truth.
                assert!(is_new || !went_well, "{fault:?} {at}");
                if fault == Fault::Fails && !went_well {
                    assert_eq!(snapshot(&kit), old, "{at}: rolled back at once");
                }

                // The next change, which has nothing to do, leaves nothing half done behind.
                kit.apply(&Change::Reconcile).unwrap();
                let settled = snapshot(&kit);
                assert_eq!(settled, if is_new { new } else { old }, "{fault:?} {at}");
                for folder in [".vscode", ".", ".git/info"] {
                    let left = names_in(&kit.root().join(folder));
                    assert!(left.iter().all(|it| !it.contains(".toolgrove-")), "{fault:?} {at}: {left:?}");
                }
                if came_to_end {
                    assert!(went_well && at > 5, "{at} steps");
                    break;
                }
            }
        }
    }
}

#[test]
fn a_first_install_that_fails_leaves_no_folder() {
    for at in 0..100 {
        let mut kit = Kit::new();
        let (faulty, steps) = disk(Fault::Fails, at);
        kit.disk = faulty;
        let installed = kit.install("b", json!({"s": {"command": "c"}}));
        if steps.load(Ordering::Relaxed) <= at {
            installed.unwrap();
            return;
        }
        match installed {
            // Only tidying up failed.
            Ok(_) => assert_eq!(kit.servers().len(), 1),
            Err(error) => {
                assert_eq!(error.code(), "bundle.write");
                assert_eq!(names_in(&kit.root()), Vec::<String>::new(), "{at}");
            }
        }
    }
    panic!("more than a hundred steps");
}

#[derive(Debug, Clone)]
enum Act {
    Install(usize),
    Update(usize),
    Uninstall(usize),
    /// A person adds a twin of a bundle's server, or takes it out again.
    Own,
    /// A person turns the first entry of a bundle off, or takes its mark off.
    TurnOff(usize),
    /// A person takes an entry of a bundle out.
    TakeOut(usize),
}

fn acts() -> impl Strategy<Value = Vec<(Act, Option<(Fault, usize)>)>> {
    let act = prop_oneof![
        4 => (0..3_usize).prop_map(Act::Install),
        2 => (0..3_usize).prop_map(Act::Update),
        3 => (0..3_usize).prop_map(Act::Uninstall),
        1 => Just(Act::Own),
        1 => (0..3_usize).prop_map(Act::TurnOff),
        1 => (0..3_usize).prop_map(Act::TakeOut),
    ];
    let fault = prop_oneof![Just(Fault::Fails), Just(Fault::Stops)];
    proptest::collection::vec((act, proptest::option::of((fault, 0..30_usize))), 1..10)
}

fn servers(bundle: usize, version: usize) -> Value {
    match (bundle, version) {
        (0, 1) => json!({"p": {"command": "one"}, "q": {"command": "two", "description": "q"}}),
        (0, _) => json!({"p": {"command": "two"}, "n": {"command": "one"}}),
        (1, 1) => {
            json!({"p": {"command": "one", "description": "mine"}, "off": {"command": "two", "disabled": true}})
        }
        (1, _) => json!({"p": {"command": "one"}}),
        (_, 1) => json!({"p": {"command": "two"}, "q": {"command": "one"}}),
        _ => json!({"q": {"command": "two", "description": "new"}}),
    }
}

const MINE: &str = "\t\t\"mine\": { \"command\": \"two\" }, // hand\r\n";

fn run(kit: &Kit, act: &Act) -> bool {
    let id = |bundle: usize| format!("b{bundle}");
    match act {
        Act::Install(bundle) => kit.install(&id(*bundle), servers(*bundle, 1)).is_ok(),
        Act::Update(bundle) => kit.update(&id(*bundle), "2.0.0", servers(*bundle, 2)).is_ok(),
        Act::Uninstall(bundle) => kit.uninstall(&id(*bundle)).is_ok(),
        Act::Own => {
            let text = kit.text();
            let first = "\"servers\": {\r\n";
            kit.write(&if text.contains(MINE) {
                text.replace(MINE, "")
            } else {
                text.replacen(first, &format!("{first}{MINE}"), 1)
            });
            true
        }
        Act::TurnOff(bundle) => {
            let key = format!("\"{}\": {{", name(&id(*bundle), "p"));
            kit.write(&kit.text().replacen(&key, &format!("{key} \"disabled\": true,"), 1));
            true
        }
        Act::TakeOut(bundle) => {
            let text = kit.text();
            let mut away = "away".to_owned();
            while text.contains(&format!("\"{away}\"")) {
                away.push('y');
            }
            kit.write(&text.replacen(&name(&id(*bundle), "p"), &away, 1));
            true
        }
    }
}

/// A file that a person would still recognise as theirs.
fn check_own(kit: &Kit) {
    let text = kit.text();
    assert!(text.starts_with("// mine\r\n{\r\n\t\"servers\": {\r\n"), "{text}");
    assert!(text.contains("\t\t\"own\": { \"command\": \"one\", }, // of own\r\n"), "{text}");
    assert!(!text.replace("\r\n", "").contains('\n'), "{text:?}");
}

/// Of every identity exactly one entry runs, as long as there is one that nobody turned off.
fn check_invariant(file: &Map<String, Value>) {
    for command in ["one", "two"] {
        let twins: Vec<_> = file.iter().filter(|(_, it)| it["command"] == command).collect();
        let ours = |name: &str| name.starts_with("prompt-registry:");
        let is_off = |it: &Value| it["disabled"] == true;
        let is_mark =
            |it: &Value| it["description"].as_str().is_some_and(|it| it.starts_with("Duplicate of "));
        let own_runs = twins.iter().any(|(name, it)| !ours(name) && !is_off(it));
        let may_run = twins.iter().any(|(name, it)| ours(name) && (!is_off(it) || is_mark(it)));
        let runs = twins.iter().filter(|(name, it)| ours(name) && !is_off(it)).count();
        assert_eq!(runs, usize::from(may_run && !own_runs), "{command} in {file:#?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_changes_edits_and_crashes_keeps_every_promise(acts in acts()) {
        let mut kit = Kit::with(OWN);
        for (act, fault) in &acts {
            let by_hand = matches!(act, Act::Own | Act::TurnOff(_) | Act::TakeOut(_));
            let old = kit.bytes();
            let twin = Kit::with("");
            for path in [&kit.target.file, &kit.target.tracking_file()].into_iter().filter(|it| it.exists()) {
                let copy = twin.target.file.with_file_name(path.file_name().unwrap());
                std::fs::copy(path, copy).unwrap();
            }
            run(&twin, act);
            if let Some((fault, at)) = fault {
                kit.disk = disk(*fault, *at).0;
            }
            let went_well = run(&kit, act);
            kit.disk = Disk::default();
            prop_assert!(kit.bytes() == old || kit.bytes() == twin.bytes(), "neither old nor new");
            if !went_well && !matches!(fault, Some((Fault::Stops, _))) {
                prop_assert_eq!(&kit.bytes(), &old, "what failed changed nothing");
            }
            check_own(&kit);
            if by_hand {
                kit.apply(&Change::Reconcile).unwrap();
            }
            check_own(&kit);
            check_invariant(&kit.servers());
        }
        // And everything goes again, but what a person made their own.
        for bundle in 0..3 {
            kit.uninstall(&format!("b{bundle}")).unwrap();
        }
        let mut rest = kit.servers();
        rest.retain(|name, _| name.starts_with("prompt-registry:"));
        prop_assert!(rest.is_empty(), "{:?}", rest);
        let hands = |(act, _): &(Act, _)| matches!(act, Act::TurnOff(_) | Act::TakeOut(_) | Act::Own);
        if !acts.iter().any(hands) {
            prop_assert_eq!(kit.text(), OWN);
            prop_assert!(!kit.target.tracking_file().exists());
        }
    }
}

#[test]
fn an_interrupted_change_is_seen_by_a_list() {
    let mut kit = Kit::with(OWN);
    kit.install("a", json!({"s": {"command": "s"}})).unwrap();
    for at in 0..12 {
        kit.disk = disk(Fault::Stops, at).0;
        let _ = kit.uninstall("a");
        kit.disk = Disk::default();
        let listed = toolgrove_bundle::install::list(&kit.disk, &kit.target).unwrap();
        assert_eq!(listed.len(), kit.servers().len() - 1, "{at}: as many as the file holds");
        if listed.is_empty() {
            return;
        }
    }
    panic!("it never came through");
}

#[test]
fn a_hand_edit_of_a_file_that_a_crash_left_is_respected() {
    for at in 0..14 {
        let mut kit = Kit::with(OWN);
        kit.install("a", json!({"s": {"command": "s"}, "t": {"command": "t"}})).unwrap();
        kit.disk = disk(Fault::Stops, at).0;
        let _ = kit.update("a", "2.0.0", json!({"t": {"command": "t2"}, "u": {"command": "u"}}));
        kit.disk = Disk::default();
        kit.write(&kit.text().replace("// of own", "// still of own"));
        kit.existing = Existing::Overwrite;
        kit.update("a", "3.0.0", json!({"v": {"command": "v"}})).unwrap();
        let names: Vec<_> = kit.servers().keys().cloned().collect();
        assert_eq!(names, ["own", &name("a", "v")], "{at}");
        kit.uninstall("a").unwrap();
        assert_eq!(kit.text(), OWN.replace("// of own", "// still of own"), "{at}");
    }
}
