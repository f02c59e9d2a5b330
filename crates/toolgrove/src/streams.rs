//! Our own standard streams, without a thread between them and us where they are pipes or sockets, as clients make them.
//!
//! A file, a terminal, or what standard error goes to as well is left to tokio, which reads and writes on threads: such
//! streams can only be waited for, or others use them who would not know what to do with one that nobody waits for.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net;

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::net::{AddressFamily, getsockname};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};

pub(crate) struct Streams {
    pub(crate) input: Box<dyn AsyncRead + Send + Unpin>,
    pub(crate) output: Box<dyn AsyncWrite + Send + Unpin>,
    /// Puts them back when it is dropped.
    pub(crate) modes: Vec<Mode>,
}

impl Streams {
    pub(crate) fn open() -> Self {
        let mut modes = Vec::new();
        let input = input(&mut modes).unwrap_or_else(|| Box::new(tokio::io::stdin()));
        let output = output(&mut modes).unwrap_or_else(|| Box::new(tokio::io::stdout()));
        Self { input, output, modes }
    }
}

/// How a stream was before; whoever has it after us finds it so.
pub(crate) struct Mode {
    stream: OwnedFd,
    flags: OFlags,
}

impl Drop for Mode {
    fn drop(&mut self) {
        let _ = fcntl_setfl(&self.stream, self.flags);
    }
}

fn input(modes: &mut Vec<Mode>) -> Option<Box<dyn AsyncRead + Send + Unpin>> {
    let (kind, stream) = own(std::io::stdin().as_fd(), modes)?;
    Some(match kind {
        FileType::Fifo => Box::new(Receiver::from_owned_fd(stream).ok()?),
        _ => Box::new(socket(stream)?),
    })
}

fn output(modes: &mut Vec<Mode>) -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
    let (kind, stream) = own(std::io::stdout().as_fd(), modes)?;
    Some(match kind {
        FileType::Fifo => Box::new(Sender::from_owned_fd(stream).ok()?),
        _ => Box::new(socket(stream)?),
    })
}

fn socket(stream: OwnedFd) -> Option<UnixStream> {
    let stream = net::UnixStream::from(stream);
    stream.set_nonblocking(true).ok()?;
    UnixStream::from_std(stream).ok()
}

/// A pipe or a socket of this machine that standard error has no part in.
fn own(stream: BorrowedFd<'_>, modes: &mut Vec<Mode>) -> Option<(FileType, OwnedFd)> {
    let found = fstat(stream).ok()?;
    let kind = FileType::from_raw_mode(found.st_mode);
    let fits = match kind {
        FileType::Fifo => true,
        FileType::Socket => getsockname(stream).is_ok_and(|it| it.address_family() == AddressFamily::UNIX),
        _ => false,
    };
    let is_shared =
        fstat(std::io::stderr()).is_ok_and(|it| (it.st_dev, it.st_ino) == (found.st_dev, found.st_ino));
    if !fits || is_shared {
        return None;
    }
    let own = stream.try_clone_to_owned().ok()?;
    modes.push(Mode { flags: fcntl_getfl(&own).ok()?, stream: own.try_clone().ok()? });
    Some((kind, own))
}
