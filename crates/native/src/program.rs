//! The pages of the program's own file. Those that the start needed are most of what a hub at rest has in memory.

#[cfg(not(target_os = "linux"))]
pub(crate) fn give_back() {}

#[cfg(target_os = "linux")]
pub(crate) fn give_back() {
    use rustix::mm::{Advice, madvise};

    let here = give_back as fn() as usize;
    let Ok(smaps) = std::fs::read_to_string("/proc/self/smaps") else { return };
    for range in crate::mappings::unchanged(&smaps, here) {
        let start = std::ptr::with_exposed_provenance_mut(range.start);
        // SAFETY: the range is a private mapping of a file that nobody can write to and that has no page of its own,
        // so each of its pages is the file's, and is again when it is next looked at. Nobody unmaps the program.
        #[expect(unsafe_code, reason = "the kernel is told about addresses")]
        let told = unsafe { madvise(start, range.len(), Advice::LinuxDontNeed) };
        // Where the kernel refuses, as with memory that is locked, the pages stay.
        let _ = told;
    }
}
