//! Keeps one server's process and ends it, with everything it started, when the hub is gone.
//!
//! The hub re-executes itself as `<hub> <hidden subcommand> -- program args…`. The server inherits our stdin, stdout
//! and stderr, so no byte passes through here. We only wait: for the server's exit, or until the other end of our
//! stdin closes, which happens when the hub ends the link, exits, or is killed. As subreaper we inherit whatever the
//! server leaves behind, so nothing escapes. No runtime, no heap to speak of.

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs `program args…`, which may follow a `--`, and returns its exit code.
pub fn run(args: Vec<OsString>) -> ExitCode {
    let mut args = args.into_iter().peekable();
    args.next_if(|it| it == "--");
    let Some(program) = args.next() else {
        complain("give the program to run");
        return ExitCode::from(2);
    };
    imp::run(&program, args.collect())
}

fn complain(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(unix)]
mod imp {
    use std::ffi::{OsStr, OsString};
    use std::fs;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, ExitCode};
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, wait};

    /// How long the server has to leave on its own, and again after SIGTERM.
    const GRACE: Duration = Duration::from_secs(2);
    /// How long what was killed may take to be gone.
    const LAST_GRACE: Duration = Duration::from_secs(5);
    const TICK: Duration = Duration::from_millis(10);
    const STACK: usize = 64 * 1024;

    enum Event {
        /// The server ended with this code.
        Exited(u8),
        /// Nobody is left to wait for.
        Alone,
        /// The hub closed our stdin.
        HubGone,
    }

    pub(super) fn run(program: &OsStr, args: Vec<OsString>) -> ExitCode {
        // Away from the hub's terminal: its Ctrl-C is not meant for servers.
        let _ = rustix::process::setsid();
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let child = match Command::new(program).args(args).process_group(0).spawn() {
            Ok(child) => child,
            Err(error) => {
                super::complain(&format!("cannot start `{}`: {error}", program.display()));
                return ExitCode::from(127);
            }
        };
        let Some(server) = Pid::from_raw(child.id() as i32) else { return ExitCode::FAILURE };
        let_go_of_output();

        let (tx, events) = channel();
        start("wait", tx.clone(), move |tx| reap(server, tx));
        start("poll", tx, watch_hub);
        let mut code = None;
        match events.recv() {
            Ok(Event::Exited(exited)) => code = Some(exited),
            _ => end_server(server, &events, &mut code),
        }
        end_rest(&events, &mut code);
        ExitCode::from(code.unwrap_or(137))
    }

    fn start(name: &str, tx: Sender<Event>, body: impl FnOnce(&Sender<Event>) + Send + 'static) {
        let thread = thread::Builder::new().name(name.into()).stack_size(STACK);
        if let Err(error) = thread.spawn(move || body(&tx)) {
            super::complain(&format!("cannot watch over the server: {error}"));
        }
    }

    /// Our copies of the pipes would hide from the hub that the server has closed its own.
    fn let_go_of_output() {
        if let Ok(null) = fs::OpenOptions::new().write(true).open("/dev/null") {
            let _ = rustix::stdio::dup2_stdout(&null);
            let _ = rustix::stdio::dup2_stderr(&null);
        }
    }

    /// Reaps everything that ends below us.
    fn reap(server: Pid, tx: &Sender<Event>) {
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == server => {
                    let code = match (status.exit_status(), status.terminating_signal()) {
                        (Some(code), _) => code as u8,
                        (None, Some(signal)) => 128_u8.wrapping_add(signal as u8),
                        (None, None) => continue,
                    };
                    let _ = tx.send(Event::Exited(code));
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
        }
        let _ = tx.send(Event::Alone);
    }

    /// A hang-up is reported although nothing is asked for, and nothing is read.
    fn watch_hub(tx: &Sender<Event>) {
        let stdin = std::io::stdin();
        loop {
            let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
            match poll(&mut fds, None) {
                Ok(_) if !fds[0].revents().is_empty() => break,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
        }
        let _ = tx.send(Event::HubGone);
    }

    /// The server has seen its stdin close; it gets time, then a request, then no choice.
    fn end_server(server: Pid, events: &Receiver<Event>, code: &mut Option<u8>) {
        for signal in [Signal::TERM, Signal::KILL] {
            if wait_for_exit(events, GRACE, code) {
                return;
            }
            let _ = kill_process_group(server, signal);
        }
        wait_for_exit(events, GRACE, code);
    }

    fn wait_for_exit(events: &Receiver<Event>, grace: Duration, code: &mut Option<u8>) -> bool {
        let until = Instant::now() + grace;
        loop {
            match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Event::Exited(exited)) => {
                    *code = Some(exited);
                    return true;
                }
                Ok(Event::HubGone) => {}
                Ok(Event::Alone) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Ends what the server left behind. Whatever dies hands its children to us, so we look until there is none.
    fn end_rest(events: &Receiver<Event>, code: &mut Option<u8>) {
        let started = Instant::now();
        let mut asked = Vec::new();
        while started.elapsed() < GRACE + LAST_GRACE {
            let left = descendants();
            if left.is_empty() {
                return;
            }
            for pid in left {
                if started.elapsed() >= GRACE {
                    let _ = kill_process(pid, Signal::KILL);
                } else if !asked.contains(&pid) {
                    let _ = kill_process(pid, Signal::TERM);
                    asked.push(pid);
                }
            }
            match events.recv_timeout(TICK) {
                Ok(Event::Exited(exited)) => *code = Some(exited),
                Ok(Event::Alone) => return,
                Ok(Event::HubGone) | Err(RecvTimeoutError::Timeout) => {}
                // Both threads are through: tick by hand, without a busy loop.
                Err(RecvTimeoutError::Disconnected) => thread::yield_now(),
            }
        }
    }

    /// Every process below us, by walking the parents in `/proc`. Zombies wait for the reaper and are left out.
    #[cfg(target_os = "linux")]
    fn descendants() -> Vec<Pid> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let all: Vec<(i32, i32)> = entries.filter_map(|it| parent(&it.ok()?.file_name())).collect();
        let mut found = vec![std::process::id() as i32];
        let mut next = 0;
        while next < found.len() {
            let above = found[next];
            found.extend(all.iter().filter(|it| it.1 == above).map(|it| it.0));
            next += 1;
        }
        found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
    }

    /// A process and its parent. The name in the second field may hold anything, so the fields start behind it.
    #[cfg(target_os = "linux")]
    fn parent(name: &OsStr) -> Option<(i32, i32)> {
        let pid: i32 = name.to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        (state != "Z" && state != "X").then_some((pid, parent))
    }

    #[cfg(not(target_os = "linux"))]
    fn descendants() -> Vec<Pid> {
        Vec::new()
    }
}

#[cfg(not(unix))]
mod imp {
    use std::ffi::{OsStr, OsString};
    use std::process::{Command, ExitCode};

    pub(super) fn run(program: &OsStr, args: Vec<OsString>) -> ExitCode {
        match Command::new(program).args(args).status() {
            Ok(status) => ExitCode::from(status.code().unwrap_or(1) as u8),
            Err(error) => {
                super::complain(&format!("cannot start `{}`: {error}", program.display()));
                ExitCode::from(127)
            }
        }
    }
}
