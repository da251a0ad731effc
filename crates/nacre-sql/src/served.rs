//! Where a database is served: a note in its directory, for those who find it locked.
//!
//! The note says which process serves it and where it listens. It is taken away when the server
//! ends; one that was left behind names a process that does not hold the lock, and is not
//! believed.

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// File in the database directory: the number of the process, then an address a line.
const NOTE: &str = "server.address";

/// A note that says where a database is served, taken away when it is dropped.
#[derive(Debug)]
pub struct ServedNote(PathBuf);

impl ServedNote {
    /// Says that this process serves the database in a directory.
    ///
    /// # Errors
    /// The note cannot be written; clients do not need it.
    pub fn write(directory: &Path, addresses: &[SocketAddr]) -> io::Result<Self> {
        let path = directory.join(NOTE);
        let mut text = format!("{}\n", std::process::id());
        addresses.iter().for_each(|address| text.push_str(&format!("{address}\n")));
        // As a whole or not at all.
        let new = directory.join(format!("{NOTE}.new"));
        let mut file = fs::File::create(&new)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&new, &path)?;
        Ok(Self(path))
    }
}

impl Drop for ServedNote {
    fn drop(&mut self) {
        // One that stays is not believed.
        let _ = fs::remove_file(&self.0);
    }
}

/// Returns how to reach the database in a directory that process `holder` has locked, if it serves
/// it; without a number any process may be the one.
pub(crate) fn way_in(directory: &Path, holder: Option<u32>) -> Option<String> {
    let text = fs::read_to_string(directory.join(NOTE)).ok()?;
    let mut lines = text.lines();
    let process: u32 = lines.next()?.parse().ok()?;
    if holder.is_some_and(|holder| holder != process) {
        return None;
    }
    let address: SocketAddr = lines.next()?.parse().ok()?;
    Some(match address.ip().is_unspecified() {
        true => format!("postgres://localhost:{}", address.port()),
        false => format!("postgres://{address}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_is_believed_of_the_process_that_holds_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let address: SocketAddr = "127.0.0.1:6543".parse().unwrap();
        let note = ServedNote::write(directory.path(), &[address]).unwrap();
        let way = Some("postgres://127.0.0.1:6543".to_owned());
        assert_eq!(way_in(directory.path(), Some(std::process::id())), way);
        assert_eq!(way_in(directory.path(), None), way);
        assert_eq!(way_in(directory.path(), Some(std::process::id() + 1)), None);
        drop(note);
        assert_eq!(way_in(directory.path(), None), None);
        let everywhere: SocketAddr = "0.0.0.0:1".parse().unwrap();
        let _note = ServedNote::write(directory.path(), &[everywhere]).unwrap();
        assert_eq!(way_in(directory.path(), None).unwrap(), "postgres://localhost:1");
    }
}
