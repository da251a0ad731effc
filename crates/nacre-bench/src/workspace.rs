//! A fresh directory for generated data and databases, removed at the end.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{Error, Result};

/// A fresh directory; removed when dropped, unless it is kept.
pub(crate) struct Workspace {
    directory: PathBuf,
    /// `None` if the directory is kept.
    temporary: Option<TempDir>,
}

impl Workspace {
    /// Makes a fresh subdirectory of `parent`, or of the system's temporary directory.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such directory; failing input and output.
    pub(crate) fn create(parent: Option<&Path>, purpose: &str, keep: bool) -> Result<Self> {
        let default_parent = std::env::temp_dir();
        let parent = parent.unwrap_or(&default_parent);
        if !parent.is_dir() {
            let problem = if parent.exists() { "is not a directory" } else { "does not exist" };
            let path = parent.display();
            return Err(Error::Usage(format!(
                "{path} {problem}: create it, or name another directory by --dir"
            )));
        }
        let parent = parent.canonicalize().map_err(Error::io("find directory", parent))?;
        let temporary = tempfile::Builder::new()
            .prefix(&format!("nacre-{purpose}-"))
            .tempdir_in(&parent)
            .map_err(Error::io("create a directory in", &parent))?;
        let (directory, temporary) = if keep {
            (temporary.keep(), None)
        } else {
            (temporary.path().to_path_buf(), Some(temporary))
        };
        Ok(Self { directory, temporary })
    }

    /// Returns the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.directory
    }

    /// Makes a subdirectory.
    pub(crate) fn subdirectory(&self, name: &str) -> Result<PathBuf> {
        let path = self.directory.join(name);
        std::fs::create_dir_all(&path).map_err(Error::io("create directory", &path))?;
        Ok(path)
    }

    /// Removes the directory now and says so if that fails.
    pub(crate) fn close(mut self) -> Result<()> {
        match self.temporary.take() {
            Some(temporary) => {
                temporary.close().map_err(Error::io("remove directory", &self.directory))
            }
            None => Ok(()),
        }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // Drop has nobody to report to; `close` is the path that reports.
        drop(self.temporary.take());
    }
}

/// Returns the bytes of all files below a directory.
pub(crate) fn bytes_below(directory: &Path) -> Result<u64> {
    let mut bytes = 0;
    let mut pending = vec![directory.to_path_buf()];
    while let Some(path) = pending.pop() {
        for entry in std::fs::read_dir(&path).map_err(Error::io("list directory", &path))? {
            let entry = entry.map_err(Error::io("list directory", &path))?;
            let metadata = entry.metadata().map_err(Error::io("look at", &entry.path()))?;
            if metadata.is_dir() {
                pending.push(entry.path());
            } else {
                bytes += metadata.len();
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_made_is_removed_and_nothing_else() {
        let outer = tempfile::tempdir().unwrap();
        let workspace = Workspace::create(Some(outer.path()), "test", false).unwrap();
        std::fs::write(workspace.path().join("file"), b"12345").unwrap();
        std::fs::write(workspace.subdirectory("sub").unwrap().join("file"), b"123").unwrap();
        assert_eq!(bytes_below(outer.path()).unwrap(), 8);
        workspace.close().unwrap();
        assert_eq!(std::fs::read_dir(outer.path()).unwrap().count(), 0);
    }

    #[test]
    fn missing_directory_is_refused_and_not_made() {
        let outer = tempfile::tempdir().unwrap();
        let missing = outer.path().join("missing");
        let error = Workspace::create(Some(&missing), "test", false).err().unwrap().to_string();
        assert!(error.contains("missing does not exist") && error.contains("--dir"), "{error}");
        assert!(!missing.exists());
        std::fs::write(&missing, b"").unwrap();
        let error = Workspace::create(Some(&missing), "test", false).err().unwrap().to_string();
        assert!(error.contains("is not a directory"), "{error}");
    }

    #[test]
    fn kept_directory_stays() {
        let outer = tempfile::tempdir().unwrap();
        let workspace = Workspace::create(Some(outer.path()), "test", true).unwrap();
        let path = workspace.path().to_path_buf();
        workspace.close().unwrap();
        assert!(path.is_dir());
    }
}
