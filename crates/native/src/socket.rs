//! Sockets whose reader is not woken for every piece of what it waits for.

use std::os::fd::BorrowedFd;

/// From now on whoever waits for this socket is woken when so many bytes are there, or its end. Whoever cannot be helped is
/// woken for less.
pub fn wake_at(socket: BorrowedFd<'_>, bytes: usize) {
    #[cfg(target_os = "linux")]
    crate::c::set_number(socket, crate::c::SO_RCVLOWAT, bytes.try_into().unwrap_or(i32::MAX));
    #[cfg(not(target_os = "linux"))]
    let _ = (socket, bytes);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    /// Whether there is something to read, as the kernel says.
    fn wakes(stream: &TcpStream) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&now)).expect("the kernel can be asked") > 0
    }

    #[test]
    fn a_reader_is_woken_for_as_much_as_it_waits_for_and_for_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut reader = listener.accept().unwrap().0;
        wake_at(reader.as_fd(), 1000);
        writer.write_all(&[7; 999]).unwrap();
        assert!(!wakes(&reader), "one byte is missing");
        writer.write_all(&[7]).unwrap();
        assert!(wakes(&reader), "all is there");
        reader.read_exact(&mut [0; 1000]).unwrap();
        writer.write_all(&[7]).unwrap();
        assert!(!wakes(&reader), "999 are missing");
        wake_at(reader.as_fd(), 1);
        assert!(wakes(&reader), "no more is waited for");
        wake_at(reader.as_fd(), 1000);
        drop(writer);
        assert!(wakes(&reader), "nothing more will come");
    }
}
