//! Connections that do not leave this machine.

use std::os::fd::AsFd;

use hyper_util::rt::TokioIo;
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::io::{BufReader, DuplexStream};
use tokio::net::{TcpStream, UnixStream};
use toolgrove_native::socket::wake_at;

/// How much of what is written may wait for its reader. The kernel takes twice as much for it.
const UNDER_WAY: usize = 512 * 1024;

/// Bounds what is under way to a peer on this machine. Nothing is gained by more where nothing is far, and a long message
/// that is in the kernel all at once has left the processor's caches before it is read.
pub fn settle(stream: &TcpStream) {
    if is_near(stream) {
        // Whoever may not set it has what the machine gives everybody.
        let _ = set_socket_send_buffer_size(stream, UNDER_WAY);
    }
}

fn is_near(stream: &TcpStream) -> bool {
    stream.peer_addr().is_ok_and(|it| it.ip().is_loopback())
}

/// A connection whose reader can wait for more than the next byte.
pub trait Patient {
    /// Its reader is woken when so many bytes are there, or the end. Most are woken for everything.
    fn wake_at(&self, _bytes: usize) {}
}

impl Patient for TcpStream {
    fn wake_at(&self, bytes: usize) {
        if is_near(self) {
            wake_at(self.as_fd(), bytes);
        }
    }
}

impl<S: Patient> Patient for BufReader<S> {}
impl Patient for UnixStream {}
impl Patient for DuplexStream {}
/// What comes over TLS is not what is read.
impl<S> Patient for TokioIo<S> {}

/// How much a reader waits for.
#[derive(Debug, Default)]
pub struct Patience {
    /// What it was last woken at, if not at every byte.
    bytes: Option<usize>,
}

impl Patience {
    /// Less is read as it comes.
    const LITTLE: usize = 64 * 1024;
    /// More than that is not left waiting in the kernel.
    const MUCH: usize = 512 * 1024;

    /// From now on its reader waits for so many bytes.
    pub fn set(&mut self, io: &(impl Patient + ?Sized), missing: usize) {
        let bytes = (missing >= Self::LITTLE).then_some(missing.min(Self::MUCH));
        if self.bytes != bytes {
            self.bytes = bytes;
            io.wake_at(bytes.unwrap_or(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use rustix::net::sockopt::socket_send_buffer_size;
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn only_what_is_long_is_waited_for_and_nobody_is_told_twice() {
        #[derive(Default)]
        struct Told(RefCell<Vec<usize>>);
        impl Patient for Told {
            fn wake_at(&self, bytes: usize) {
                self.0.borrow_mut().push(bytes);
            }
        }
        let (told, mut patience) = (Told::default(), Patience::default());
        for missing in [1, 300, 1 << 20, 600_000, 400_000, 30_000, 0, 100_000, 0] {
            patience.set(&told, missing);
        }
        assert_eq!(*told.0.borrow(), [1 << 19, 400_000, 1, 100_000, 1]);
    }

    #[tokio::test]
    async fn only_so_much_is_under_way_on_this_machine() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        settle(&stream);
        // What a machine grants at most.
        let most =
            std::fs::read_to_string("/proc/sys/net/core/wmem_max").ok().and_then(|it| it.trim().parse().ok());
        let granted = most.unwrap_or(usize::MAX).min(UNDER_WAY);
        assert_eq!(socket_send_buffer_size(&stream).unwrap(), granted * 2);
    }
}
