//! Several processes at once, processes that are killed, and processes that may not or cannot write.
//!
//! Each test starts itself as the child it needs, so that no helper program is needed.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use toolgrove_bundle::files::Disk;
use toolgrove_bundle::install::Change;
use toolgrove_bundle::places::{CommitMode, Target};

use crate::files::names_in;
use crate::kit::{Kit, name, quick_folder};

/// Set in a child only: what it is to do.
const TASK: &str = "TOOLGROVE_TEST_BUNDLE_TASK";
/// Who owns nothing.
const NOBODY: u32 = 65534;

/// The task of this process, if it is a child: words separated by spaces, the first one the folder.
fn task() -> Option<Vec<String>> {
    let task = std::env::var(TASK).ok()?;
    Some(task.split(' ').map(str::to_owned).collect())
}

/// The command that runs `test` of this file as a child.
fn child(test: &str, task: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("processes::{test}"), "--nocapture"]).env(TASK, task.join(" "));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A kit whose workspace is this folder.
fn kit_in(folder: &str) -> Kit {
    let mut kit = Kit::new();
    kit.target = Target::workspace(Path::new(folder));
    kit
}

#[test]
fn processes_that_install_at_once_lose_nothing() {
    if let Some(task) = task() {
        let kit = kit_in(&task[0]);
        for bundle in 0..10 {
            let id = format!("b{}-{bundle}", task[1]);
            kit.install(&id, json!({"twin": {"command": "same"}, "own": {"command": id}})).unwrap();
            if bundle % 2 == 0 {
                kit.uninstall(&id).unwrap();
            }
        }
        return;
    }
    let folder = quick_folder();
    let place = folder.path().display().to_string();
    let start = |it: usize| {
        child("processes_that_install_at_once_lose_nothing", &[&place, &it.to_string()]).spawn().unwrap()
    };
    for it in (0..4).map(start).collect::<Vec<_>>() {
        check_child(&it.wait_with_output().unwrap());
    }
    let kit = kit_in(&place);
    let servers = kit.servers();
    assert_eq!(servers.len(), 4 * 5 * 2);
    assert_eq!(kit.tracking()["managedServers"].as_object().unwrap().len(), servers.len());
    let active =
        servers.values().filter(|it| it["command"] == "same" && it.get("disabled").is_none()).count();
    assert_eq!(active, 1);
}

#[test]
fn a_process_killed_at_any_step_leaves_the_old_file_or_the_new_one() {
    if let Some(task) = task() {
        let mut kit = kit_in(&task[0]);
        kit.target = Target::repository(Path::new(&task[0]), CommitMode::LocalOnly);
        let (at, step) = (task[1].parse::<usize>().unwrap(), AtomicUsize::new(0));
        kit.disk = Disk::watched(move |_| {
            if step.fetch_add(1, Ordering::Relaxed) == at {
                rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)?;
            }
            Ok(())
        });
        kit.uninstall("a").unwrap();
        return;
    }
    let before = "{\n  // mine\n  \"servers\": { \"own\": {\"command\": \"own\"} }\n}";
    let mut killed = 0;
    for at in 0.. {
        let kit = Kit::repository(CommitMode::LocalOnly);
        kit.write(before);
        kit.install("a", json!({"s": {"command": "one"}})).unwrap();
        kit.install("b", json!({"s": {"command": "one"}})).unwrap();
        let old = kit.text();
        let place = kit.root().display().to_string();
        let test = "a_process_killed_at_any_step_leaves_the_old_file_or_the_new_one";
        let output = child(test, &[&place, &at.to_string()]).output().unwrap();

        let file = kit.text();
        let is_new = kit.servers().keys().collect::<Vec<_>>() == ["own", &name("b", "s")];
        assert!(file == old || is_new, "{at}: {file}");
        kit.apply(&Change::Reconcile).unwrap();
        assert_eq!(kit.text(), file, "{at}: what was left is put right without touching the file");
        let tracked = kit.tracking()["managedServers"].as_object().unwrap().len();
        assert_eq!(tracked, kit.servers().len() - 1, "{at}");
        kit.uninstall("a").unwrap();
        assert_eq!(kit.servers()[&name("b", "s")], json!({"command": "one"}), "{at}: the twin runs");
        kit.uninstall("b").unwrap();
        assert_eq!(kit.text(), before, "{at}");
        assert_eq!(names_in(&kit.root().join(".vscode")), ["mcp.json", "mcp.json.backup"], "{at}");
        assert_eq!(names_in(&kit.root().join(".git/info")), ["exclude"], "{at}");
        assert_eq!(names_in(&kit.root()), [".git", ".vscode"], "{at}");
        if output.status.signal() != Some(9) {
            check_child(&output);
            break;
        }
        killed += 1;
    }
    assert!(killed > 10, "killed {killed} times");
}

/// What a child that may fail has to say.
fn told(kit: &Kit) {
    let error = kit.install("b", json!({"s": {"command": "c"}})).unwrap_err();
    println!("\ntold: {}: {}", error.code(), error.hint().unwrap_or_default());
}

#[track_caller]
fn check_told(output: &Output, expected: &str) {
    check_child(output);
    let stdout = String::from_utf8_lossy(&output.stdout);
    let line = stdout.lines().find_map(|it| it.strip_prefix("told: "));
    assert_eq!(line, Some(expected), "{stdout}");
}

#[track_caller]
fn check_child(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A workspace that somebody without rights can look at, and the program to do it with.
fn for_nobody(command: &mut Command, folder: &Path) {
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    if rustix::process::getuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
}

#[test]
fn a_folder_that_may_not_be_written_to_says_so() {
    if let Some(task) = task() {
        return told(&kit_in(&task[0]));
    }
    let kit = Kit::with("{}");
    let folder = kit.target.file.parent().unwrap().to_owned();
    let place = kit.root().display().to_string();
    let mut command = child("a_folder_that_may_not_be_written_to_says_so", &[&place]);
    for_nobody(&mut command, kit.folder.path());
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    let output = command.output().unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    check_told(&output, "bundle.write: make the folder writable for yourself; nothing was changed");
    assert_eq!(kit.text(), "{}");
    assert_eq!(names_in(&folder), ["mcp.json"]);
}

#[test]
fn a_file_that_may_not_be_written_to_but_replaced_is_replaced() {
    let kit = Kit::with("{}");
    std::fs::set_permissions(&kit.target.file, std::fs::Permissions::from_mode(0o444)).unwrap();
    kit.install("b", json!({"s": {"command": "c"}})).unwrap();
    let mode = std::fs::metadata(&kit.target.file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o444, "its mode stays");
}

/// A file system of a few pages, where one may be mounted.
struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    fn mount(folder: &Path) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=48k,mode=755", "toolgrove-test"])
            .arg(folder)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|it| it.success());
        mounted.then(|| Self { folder: folder.to_owned() })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).status();
    }
}

const FULL: &str = "bundle.write: make room on the disk; nothing was changed";

#[test]
fn a_full_disk_says_so_and_changes_nothing() {
    if let Some(task) = task() {
        return told(&kit_in(&task[0]));
    }
    let kit = Kit::with("{}");
    let text = format!("{{\n  // {}\n}}", "x".repeat(20_000));
    // A limit on the size of files stands in where nothing can be mounted. It kills, unless its signal is ignored.
    let limited = |test: &str, place: &str| {
        let exe = std::env::current_exe().unwrap();
        let script = r#"trap "" XFSZ; ulimit -f 8; exec "$0" "$@""#;
        Command::new("sh")
            .args(["-c", script])
            .arg(exe)
            .args(["--exact", &format!("processes::{test}"), "--nocapture"])
            .env(TASK, place)
            .output()
            .unwrap()
    };
    kit.write(&text);
    let place = kit.root().display().to_string();
    check_told(&limited("a_full_disk_says_so_and_changes_nothing", &place), FULL);
    assert_eq!(kit.text(), text);
    assert_eq!(names_in(kit.target.file.parent().unwrap()), ["mcp.json"], "no backup and no temporary file");

    let folder = quick_folder();
    let Some(small) = SmallDisk::mount(folder.path()) else { return };
    let kit = kit_in(&small.folder.display().to_string());
    kit.write(&text);
    let error = kit.install("b", json!({"s": {"command": "c"}})).unwrap_err();
    assert_eq!(format!("{}: {}", error.code(), error.hint().unwrap_or_default()), FULL);
    assert_eq!(kit.text(), text);
    kit.apply(&Change::Reconcile).unwrap();
    assert_eq!(kit.tracking(), json!({}));
}
