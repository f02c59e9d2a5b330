//! What allocators and the kernel are asked for that no library asks: the only crate with `unsafe`.
//!
//! Memory that only the start or a rush needed is given back, so that a hub at rest is small. Nothing is lost: it is
//! memory that is free, or pages of the program's own file, which come back when somebody needs them. And readers of
//! long messages are not woken for every piece.

mod c;
mod mappings;
mod program;
mod rule;
pub mod socket;

pub use rule::Rest;

/// More than a second of calls leaves behind.
const EPOCHS: usize = 16;

/// Gives back what the calling thread has free. mimalloc has a heap for each thread: whoever works most should call.
pub fn give_back_own() {
    // What several threads read is freed two epochs after it was let go, some of it at a time, and an epoch ends only if
    // somebody asks. The durations of a rush have gone this way by the time they are added up.
    for _ in 0..EPOCHS {
        crossbeam_epoch::pin().flush();
    }
    c::mi_collect(true);
}

/// Gives back what all threads share: what the system's allocator has free, and every page of the program's file that
/// is still as the file has it. This takes a millisecond or two, on any thread.
pub fn give_back_shared() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    c::malloc_trim(0);
    program::give_back();
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
