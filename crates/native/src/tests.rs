//! What a process is after it has given memory back: smaller, and otherwise the same.

use mimalloc::MiMalloc;

use crate::rule::resident;
use crate::{give_back_own, give_back_shared};

/// The hub's, so that what is tested is what the hub does.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const MIB: usize = 1024 * 1024;

/// Pages of the program's file, as its code is.
static LARGE: [u8; 4 * MIB] = [7; 4 * MIB];

fn sum(bytes: &[u8]) -> u64 {
    std::hint::black_box(bytes).iter().map(|it| u64::from(*it)).sum()
}

fn mebibytes() -> u64 {
    resident().expect("the kernel says so") / MIB as u64
}

#[test]
fn the_programs_pages_leave_memory_and_are_the_same_when_they_come_back() {
    let before = (sum(&LARGE), format!("{:?} {:.3e}", "text", 1.0 / 3.0));
    let full = mebibytes();
    give_back_shared();
    let left = mebibytes();
    assert!(left + 3 < full, "{left} MiB of {full}");
    assert_eq!((sum(&LARGE), format!("{:?} {:.3e}", "text", 1.0 / 3.0)), before);
    assert!(mebibytes() > left + 3);
}

#[test]
fn what_is_free_on_the_heap_is_given_back_and_what_is_in_use_stays() {
    let kept: Vec<String> = (0..10_000).map(|it| format!("kept {it}")).collect();
    let rush: Vec<Vec<u8>> = (0..20_000).map(|_| vec![1; 2048]).collect();
    let full = mebibytes();
    drop(rush);
    give_back_own();
    give_back_shared();
    let left = mebibytes();
    assert!(left + 30 < full, "{left} MiB of {full}");
    assert!(kept.iter().enumerate().all(|(place, it)| *it == format!("kept {place}")));
}

#[test]
fn other_threads_go_on_meanwhile() {
    let working = std::thread::spawn(|| (0..200).map(|it| sum(&vec![it; 4096])).sum::<u64>());
    for _ in 0..20 {
        give_back_own();
        give_back_shared();
    }
    assert_eq!(working.join().expect("the thread has come to its end"), (0..200).sum::<u64>() * 4096);
}
