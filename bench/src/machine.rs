//! What the kernel knows: cores, processor time, memory, open files.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;

/// The core of what is measured, and the core of everything else: load and servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cores {
    pub(crate) measured: Option<usize>,
    pub(crate) rest: Option<usize>,
}

impl Cores {
    /// The first two that this process may use; none to pin to if there is only one.
    pub(crate) fn find() -> Self {
        let Ok(allowed) = sched_getaffinity(None) else { return Self { measured: None, rest: None } };
        let mut usable = (0..CpuSet::MAX_CPU).filter(|it| allowed.is_set(*it));
        match (usable.next(), usable.next()) {
            (Some(measured), Some(rest)) => Self { measured: Some(measured), rest: Some(rest) },
            _ => Self { measured: None, rest: None },
        }
    }
}

/// From now on this thread, and what it starts, runs on one core.
pub(crate) fn pin(core: Option<usize>) {
    let Some(core) = core else { return };
    let mut set = CpuSet::new();
    set.set(core);
    // Where the kernel does not let us, figures are noisier and still true.
    let _ = sched_setaffinity(None, &set);
}

/// Puts the processes that another one has started on the core of this thread, so that they do not take its own.
pub(crate) fn fetch_children(pid: u32) {
    let Ok(here) = sched_getaffinity(None) else { return };
    let processes: Vec<(u32, u32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|it: u32| Some((it, parent(it)?)))
        .collect();
    let mut family = vec![pid];
    let mut place = 0;
    while let Some(elder) = family.get(place).copied() {
        family.extend(processes.iter().filter(|it| it.1 == elder).map(|it| it.0));
        place += 1;
    }
    for child in &family[1..] {
        let threads = fs::read_dir(format!("/proc/{child}/task")).into_iter().flatten().flatten();
        let ids = threads.filter_map(|it| it.file_name().to_str()?.parse::<i32>().ok());
        for id in ids.filter_map(Pid::from_raw) {
            let _ = sched_setaffinity(Some(id), &here);
        }
    }
}

/// The second field after the name, which may itself hold blanks.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// As many open files as we may have. Says how many.
pub(crate) fn raise_files() -> u64 {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(65_536).min(65_536);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(wanted)
}

/// How long the threads of a process have run so far.
pub(crate) fn cpu(pid: u32) -> Result<Duration> {
    let mut total = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task")).context("the process has ended")? {
        let text = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        total += text.split_whitespace().next().and_then(|it| it.parse::<u64>().ok()).unwrap_or_default();
    }
    Ok(Duration::from_nanos(total))
}

/// Resident memory in KiB.
pub(crate) fn resident(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("the process has ended")?;
    let line =
        status.lines().find_map(|it| it.strip_prefix("VmRSS:")).context("the kernel names no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

pub(crate) fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// Where and with what it was measured.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct About {
    pub(crate) when: String,
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) pinned: bool,
    pub(crate) memory_gib: u64,
    pub(crate) kernel: String,
    pub(crate) rustc: String,
    pub(crate) toolgrove: String,
    pub(crate) nginx: Option<String>,
    pub(crate) node: Option<String>,
    /// Other work on the machine when the run began: the one-minute load.
    pub(crate) load: String,
}

impl About {
    pub(crate) fn of(hub: &Path, nginx: Option<&Path>, node: Option<&Path>, cores: Cores) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|it| it.starts_with(name));
            line.and_then(|it| it.split_once(':')).map(|it| it.1.trim().to_owned()).unwrap_or_default()
        };
        let cpus = read("/proc/cpuinfo");
        let memory = field(&read("/proc/meminfo"), "MemTotal");
        let kib = memory.split_whitespace().next().and_then(|it| it.parse::<u64>().ok()).unwrap_or_default();
        Self {
            when: said(Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"])),
            cpu: field(&cpus, "model name"),
            cores: cpus.lines().filter(|it| it.starts_with("processor")).count(),
            pinned: cores.measured.is_some(),
            memory_gib: (kib + (1 << 19)) >> 20,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            rustc: said(Command::new("rustc").arg("--version")),
            toolgrove: said(Command::new(hub).arg("--version")),
            nginx: nginx.map(|it| said(Command::new(it).arg("-v"))),
            node: node.map(|it| said(Command::new(it).arg("--version"))),
            load: read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
        }
    }
}

/// The first line a program says.
fn said(command: &mut Command) -> String {
    let Ok(output) = command.output() else { return String::new() };
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    String::from_utf8_lossy(&text).lines().next().unwrap_or_default().to_owned()
}
