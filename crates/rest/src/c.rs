//! What the C library and mimalloc are asked for.

// It brings the library that has `mi_collect`, and would need one more dependency to declare it.
use mimalloc as _;

// SAFETY: they are declared as `mimalloc.h`, `malloc.h` and `time.h` have them. They may be called at any time, from any
// thread, and touch nothing that is in use.
#[expect(unsafe_code, reason = "functions of C")]
unsafe extern "C" {
    /// Gives back what the heap of this thread has free.
    pub(crate) safe fn mi_collect(force: bool);
    /// The same for the system's allocator, which SQLite uses.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    pub(crate) safe fn malloc_trim(keep: usize) -> std::ffi::c_int;
    /// How long this process has worked, in millionths of a second.
    pub(crate) safe fn clock() -> std::ffi::c_long;
}
