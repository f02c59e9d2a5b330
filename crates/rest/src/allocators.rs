//! Free memory that the allocators hold: mimalloc, which is ours, and the system's, which SQLite uses.

// It brings the library that has `mi_collect`, and would need one more dependency to declare it.
use mimalloc as _;

pub(crate) fn collect() {
    mi_collect(true);
}

pub(crate) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    malloc_trim(0);
}

// SAFETY: they are declared as `mimalloc.h` and `malloc.h` have them. They may be called at any time, from any thread,
// and touch nothing that is in use.
#[expect(unsafe_code, reason = "functions of C")]
unsafe extern "C" {
    safe fn mi_collect(force: bool);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    safe fn malloc_trim(keep: usize) -> std::ffi::c_int;
}
