//! The bytes to load: a file that is read in pieces at any offset, or memory.
//!
//! A file is read with `pread` and never mapped, so that one cut while it is read is an error and
//! not a signal. Its size is taken once, when it is opened, and compared again at the end: a file
//! that another program still writes to must not be loaded up to the middle of a row.

use crate::{
    error::{Error, ErrorKind, Result, source_name},
    progress::Progress,
};
use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

/// Bytes read at once from a pipe, between two looks at the cancel flag.
const PIPE_BYTES: usize = 1 << 20;

/// What to load.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file; a pipe or device is read to its end first.
    File(PathBuf),
    /// Data that came with the command. In CSV, a line `\.` ends it, as in `psql`.
    Bytes(Vec<u8>),
}

/// An open source.
#[derive(Debug)]
pub(crate) struct Input {
    path: Option<PathBuf>,
    /// Bytes to load: all there were, or those before an end mark.
    bytes: u64,
    /// Bytes there were when it was opened.
    bytes_found: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    File(File),
    Memory(Vec<u8>),
}

impl Input {
    /// Opens `source`.
    ///
    /// # Errors
    /// `UndefinedFile`, `PermissionDenied`, `IsDirectory`, `Io`, `Cancelled`.
    pub(crate) fn open(source: Source, progress: &Progress) -> Result<Self> {
        let path = match source {
            Source::Bytes(data) => return Ok(Self::from_memory(None, data)),
            Source::File(path) => path,
        };
        let io = |action: &str, error| Error::io(action, &path, &error);
        let metadata = fs::metadata(&path).map_err(|error| io("open file", error))?;
        if metadata.is_dir() {
            let message = format!("\"{}\" is a directory", path.display());
            return Err(Error::new(ErrorKind::IsDirectory, message));
        }
        let mut file = File::open(&path).map_err(|error| io("open file", error))?;
        // Files that the kernel makes up report size 0; they are read like pipes.
        if !metadata.is_file() || metadata.len() == 0 {
            let data = read_to_end(&mut file, &path, progress)?;
            return Ok(Self::from_memory(Some(path), data));
        }
        let bytes = file.metadata().map_err(|error| io("read file", error))?.len();
        let content = Content::File(file);
        Ok(Self { path: Some(path), bytes, bytes_found: bytes, content })
    }

    fn from_memory(path: Option<PathBuf>, data: Vec<u8>) -> Self {
        let bytes = data.len() as u64;
        Self { path, bytes, bytes_found: bytes, content: Content::Memory(data) }
    }

    /// Returns how many bytes are to be loaded.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the name for messages.
    pub(crate) fn name(&self) -> String {
        source_name(self.path.as_ref())
    }

    /// Returns the data if it came with the command.
    pub(crate) fn inline_data(&self) -> Option<&[u8]> {
        match (&self.path, &self.content) {
            (None, Content::Memory(data)) => Some(data),
            _ => None,
        }
    }

    /// Forgets everything from `bytes` on.
    pub(crate) fn truncate(&mut self, bytes: u64) {
        self.bytes = self.bytes.min(bytes);
    }

    /// Fills `out` from `offset`.
    ///
    /// # Errors
    /// `FileChanged` if the file became shorter, `Io`.
    pub(crate) fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let mut done = 0;
        while done < out.len() {
            let rest = &mut out[done..];
            let read = match &self.content {
                Content::File(file) => match file.read_at(rest, offset + done as u64) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                    read => read.map_err(|error| self.io_error(&error))?,
                },
                Content::Memory(data) => {
                    let from = data.len().min((offset + done as u64) as usize);
                    let bytes = rest.len().min(data.len() - from);
                    rest[..bytes].copy_from_slice(&data[from..from + bytes]);
                    bytes
                }
            };
            if read == 0 {
                return Err(self.changed(offset + done as u64));
            }
            done += read;
        }
        Ok(())
    }

    fn io_error(&self, error: &std::io::Error) -> Error {
        let path = self.path.as_deref().unwrap_or(Path::new("STDIN"));
        Error::io("read file", path, error)
    }

    /// Makes the error for a file that has another size than when it was opened.
    pub(crate) fn changed(&self, bytes_now: u64) -> Error {
        let message = format!(
            "file \"{}\" changed while it was read: {bytes_now} bytes instead of {}",
            self.name(),
            self.bytes_found
        );
        Error::new(ErrorKind::FileChanged, message)
            .with_hint("Load it again once nothing writes to it.")
    }

    /// Checks that the file still has the size it had.
    ///
    /// # Errors
    /// `FileChanged`, `Io`.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        let Content::File(file) = &self.content else {
            return Ok(());
        };
        let bytes = file.metadata().map_err(|error| self.io_error(&error))?.len();
        if bytes == self.bytes_found { Ok(()) } else { Err(self.changed(bytes)) }
    }
}

fn read_to_end(file: &mut File, path: &Path, progress: &Progress) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    loop {
        progress.check()?;
        let mut piece = file.take(PIPE_BYTES as u64);
        match piece.read_to_end(&mut data) {
            Ok(0) => return Ok(data),
            Ok(_) => {}
            Err(error) => return Err(Error::io("read file", path, &error)),
        }
    }
}
