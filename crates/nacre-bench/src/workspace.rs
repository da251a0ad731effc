//! A fresh directory for generated data and databases, removed at the end.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{Error, Result};

/// A fresh directory; removed when dropped, unless it is kept.
pub(crate) struct Workspace {
    directory: PathBuf,
    /// `None` if the directory is kept.
    temporary: Option<TempDir>,
    /// A parent that we made, to be removed with us if nothing else is in it.
    made_parent: Option<PathBuf>,
}

impl Workspace {
    /// Makes a fresh subdirectory of `parent`, or of the system's temporary directory.
    pub(crate) fn create(parent: Option<&Path>, purpose: &str, keep: bool) -> Result<Self> {
        let default_parent = std::env::temp_dir();
        let parent = parent.unwrap_or(&default_parent);
        let is_new = !parent.exists();
        if is_new {
            std::fs::create_dir_all(parent).map_err(Error::io("create directory", parent))?;
        }
        let parent = parent.canonicalize().map_err(Error::io("find directory", parent))?;
        let temporary = tempfile::Builder::new()
            .prefix(&format!("nacre-{purpose}-"))
            .tempdir_in(&parent)
            .map_err(Error::io("create a directory in", &parent))?;
        let made_parent = (is_new && !keep).then_some(parent);
        let (directory, temporary) = if keep {
            (temporary.keep(), None)
        } else {
            (temporary.path().to_path_buf(), Some(temporary))
        };
        Ok(Self { directory, temporary, made_parent })
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
        if let Some(parent) = &self.made_parent {
            // Fails if somebody put something else there meanwhile, which then stays.
            let _ = std::fs::remove_dir(parent);
        }
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
        let parent = outer.path().join("made/for/us");
        let workspace = Workspace::create(Some(&parent), "test", false).unwrap();
        std::fs::write(workspace.path().join("file"), b"12345").unwrap();
        std::fs::write(workspace.subdirectory("sub").unwrap().join("file"), b"123").unwrap();
        assert_eq!(bytes_below(&parent).unwrap(), 8);
        workspace.close().unwrap();
        assert!(!parent.exists());
        assert!(outer.path().exists());
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
