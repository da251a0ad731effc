//! Secrets that are made once and kept in a file that nobody else may read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Returns the secret kept in `path`; makes it if there is none.
///
/// # Errors
/// The file cannot be read or written, or is none that was made here.
pub fn kept_secret(path: &Path) -> io::Result<[u8; 32]> {
    let bytes = kept(path, || {
        let mut secret = vec![0; 32];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        Ok(secret)
    })?;
    <[u8; 32]>::try_from(bytes).map_err(|_| {
        let message = format!("{} does not hold 32 bytes", path.display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// Returns the bytes of `path`; if there is no such file, it is made whole or not at all.
pub(crate) fn kept(path: &Path, make: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read,
    }
    let bytes = make()?;
    let unfinished = path.with_extension("new");
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    if let Some(directory) = path.parent() {
        File::open(directory)?.sync_all()?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn secret_stays_the_same_and_is_for_its_owner_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        fs::write(directory.path().join("secret.new"), b"left by a crash").unwrap();
        let secret = kept_secret(&path).unwrap();
        assert_eq!(kept_secret(&path).unwrap(), secret);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        fs::write(&path, b"short").unwrap();
        assert!(kept_secret(&path).is_err());
    }
}
