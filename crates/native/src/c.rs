//! What the C library and mimalloc are asked for.

use std::ffi::{c_int, c_long};
#[cfg(target_os = "linux")]
use std::os::fd::{AsRawFd, BorrowedFd};

// It brings the library that has `mi_collect`, and would need one more dependency to declare it.
use mimalloc as _;

// SAFETY: they are declared as `mimalloc.h`, `malloc.h`, `time.h` and `sys/socket.h` have them. Those that are safe may be
// called at any time, from any thread, and touch nothing that is in use.
#[expect(unsafe_code, reason = "functions of C")]
unsafe extern "C" {
    /// Gives back what the heap of this thread has free.
    pub(crate) safe fn mi_collect(force: bool);
    /// The same for the system's allocator, which SQLite uses.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    pub(crate) safe fn malloc_trim(keep: usize) -> c_int;
    /// How long this process has worked, in millionths of a second.
    pub(crate) safe fn clock() -> c_long;
    #[cfg(target_os = "linux")]
    fn setsockopt(
        socket: c_int,
        level: c_int,
        option: c_int,
        value: *const std::ffi::c_void,
        length: u32,
    ) -> c_int;
}

#[cfg(target_os = "linux")]
const SOL_SOCKET: c_int = 1;
/// How many bytes wake a reader.
#[cfg(target_os = "linux")]
pub(crate) const SO_RCVLOWAT: c_int = 18;

/// Sets what of a socket is a number. A socket that does not know of it stays as it is.
#[cfg(target_os = "linux")]
pub(crate) fn set_number(socket: BorrowedFd<'_>, option: c_int, value: c_int) {
    // SAFETY: the kernel reads four bytes where a number of four bytes is, and keeps no address.
    #[expect(unsafe_code, reason = "the kernel is told about an address")]
    let _ = unsafe { setsockopt(socket.as_raw_fd(), SOL_SOCKET, option, (&raw const value).cast(), 4) };
}
