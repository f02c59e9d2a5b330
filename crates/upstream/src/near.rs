//! Connections that do not leave this machine.

use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::net::TcpStream;

/// How much of what is written may wait for its reader. The kernel takes twice as much for it.
const UNDER_WAY: usize = 512 * 1024;

/// Bounds what is under way to a peer on this machine. Nothing is gained by more where nothing is far, and a long message
/// that is in the kernel all at once has left the processor's caches before it is read.
pub fn settle(stream: &TcpStream) {
    if stream.peer_addr().is_ok_and(|it| it.ip().is_loopback()) {
        // Whoever may not set it has what the machine gives everybody.
        let _ = set_socket_send_buffer_size(stream, UNDER_WAY);
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::sockopt::socket_send_buffer_size;
    use tokio::net::TcpListener;

    use super::*;

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
