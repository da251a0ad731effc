//! Tells the service manager how far the server is, by the datagrams of systemd's `sd_notify`.
//!
//! Nobody listens unless the manager says where (`NOTIFY_SOCKET`), and a server that cannot tell it
//! serves nevertheless: the manager has a time-out of its own.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Where the manager listens: a path, or `@` and an abstract name.
const SOCKET_VARIABLE: &str = "NOTIFY_SOCKET";

/// Clients may come.
pub(super) const READY: &str = "READY=1";

/// The server is about to end.
pub(super) const STOPPING: &str = "STOPPING=1";

/// Tells the manager of this process, if it has one.
pub(super) fn notify(state: &str) {
    if let Some(socket) = std::env::var_os(SOCKET_VARIABLE).filter(|name| !name.is_empty())
        && let Err(error) = send(&socket, state)
    {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}

fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address(socket)?).map(drop)
}

fn address(socket: &OsStr) -> io::Result<SocketAddr> {
    match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(socket),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn manager_hears_at_a_path_and_at_an_abstract_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let mut name = OsString::from("@nacre-notify-");
        name.push(directory.path().file_name().unwrap());
        for socket in [path.into_os_string(), name] {
            let manager = UnixDatagram::bind_addr(&address(&socket).unwrap()).unwrap();
            send(&socket, READY).unwrap();
            let mut heard = [0; 32];
            let bytes = manager.recv(&mut heard).unwrap();
            assert_eq!(&heard[..bytes], READY.as_bytes());
        }
    }
}
