//! The files of an archive, and how they are read and made.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::codec::{Decoder, Encoder, Truncated, header_crc32c};
use crate::error::{Error, ErrorKind, Result};
use crate::manifest::{DatabaseId, LoadId, Record};
use crate::redo::Archived;

/// Name of the catalog of records.
pub(super) const CATALOG: &str = "catalog";
const CATALOG_MAGIC: &[u8; 8] = b"NACREARC";
const CATALOG_VERSION: u32 = 1;

/// Bytes before the first record.
pub(super) const CATALOG_HEADER_BYTES: usize = 64;

/// What a catalog holds.
#[derive(Debug)]
pub(super) struct Catalog {
    pub(super) database: DatabaseId,
    /// Those of the manifest, from its first on.
    pub(super) records: Vec<Record>,
    /// Bytes of the file that are whole.
    pub(super) end: u64,
}

/// Returns what a new catalog holds.
pub(crate) fn catalog_header(database: DatabaseId) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.put_raw(CATALOG_MAGIC);
    encoder.put_u32(CATALOG_VERSION);
    encoder.put_u32(0);
    encoder.put_raw(&database.0);
    let mut bytes = encoder.into_bytes();
    bytes.resize(CATALOG_HEADER_BYTES, 0);
    let crc = header_crc32c(&bytes);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Reads the catalog of an archive; `None` if there is none.
///
/// # Errors
/// I/O; it is damaged before its end, or of another version.
pub(super) fn read_catalog(directory: &Path) -> Result<Option<Catalog>> {
    let path = directory.join(CATALOG);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| io_error(&path, "read", &error))?,
    };
    let database = check_catalog(&bytes).map_err(|reason| unusable(&path, reason))?;
    let (mut records, mut at) = (Vec::new(), CATALOG_HEADER_BYTES);
    // What a step that was cut off left behind the last whole record is written again.
    while let Ok((record, bytes)) = Record::from_bytes(&bytes[at..], records.len() as u64 + 1) {
        records.push(record);
        at += bytes;
    }
    Ok(Some(Catalog { database, records, end: at as u64 }))
}

fn check_catalog(bytes: &[u8]) -> std::result::Result<DatabaseId, String> {
    let short = |_: Truncated| "it is cut off".to_owned();
    let header = bytes.get(..CATALOG_HEADER_BYTES).ok_or(Truncated).map_err(short)?;
    let mut decoder = Decoder::new(header);
    if decoder.raw(8).map_err(short)? != CATALOG_MAGIC {
        return Err("it is no catalog of an archive".into());
    }
    let version = decoder.u32().map_err(short)?;
    if decoder.u32().map_err(short)? != header_crc32c(header) {
        return Err("its header is damaged".into());
    }
    if version != CATALOG_VERSION {
        return Err(format!("its layout version is {version}, and {CATALOG_VERSION} is known"));
    }
    let id = decoder.raw(16).map_err(short)?;
    id.first_chunk().map(|id| DatabaseId(*id)).ok_or_else(|| short(Truncated))
}

/// Opens the catalog for writing.
pub(super) fn open_catalog(directory: &Path) -> Result<File> {
    let path = directory.join(CATALOG);
    OpenOptions::new().write(true).open(&path).map_err(|error| io_error(&path, "open", &error))
}

/// Makes a file that has its name once it is durable.
pub(super) fn create_whole(directory: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let (path, partial) = (directory.join(name), directory.join(format!("{name}.partial")));
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&partial)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        // PERSIST: the file is durable before it has its name.
        fs::rename(&partial, &path)?;
        File::open(directory)?.sync_all()
    };
    write().map_err(|error| io_error(&path, "write", &error))
}

/// Writes behind what counts of a file, and makes it durable.
pub(super) fn append(path: &Path, file: &File, at: u64, bytes: &[u8]) -> Result<()> {
    let written = file.write_all_at(bytes, at).and_then(|()| file.sync_data());
    written.map_err(|error| io_error(path, "write", &error))
}

pub(super) fn catalog_path(directory: &Path) -> PathBuf {
    directory.join(CATALOG)
}

pub(super) fn segment_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(segment_name(number))
}

pub(super) fn segment_name(number: u64) -> String {
    format!("redo-{number}.log")
}

/// Returns the name of the file that says which pools of a load were copied.
pub(super) fn copied_name(load: LoadId) -> String {
    format!("load-{:016x}.copied", load.0)
}

/// Returns the numbers of the segments in an archive, ascending.
pub(super) fn segment_numbers(directory: &Path) -> Result<Vec<u64>> {
    let number = |name: &str| -> Option<u64> {
        let number = name.strip_prefix("redo-")?.strip_suffix(".log")?.parse().ok()?;
        (segment_name(number) == name).then_some(number)
    };
    let mut numbers: Vec<u64> = list(directory)?.iter().filter_map(|name| number(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Returns the names of the files in a directory.
pub(super) fn list(directory: &Path) -> Result<Vec<String>> {
    let name = |entry: io::Result<fs::DirEntry>| {
        entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
    };
    let names = fs::read_dir(directory).and_then(|entries| entries.map(name).collect());
    names.map_err(|error| io_error(directory, "list", &error))
}

/// Reads an archived segment.
///
/// # Errors
/// I/O; the header is not that of the segment.
pub(super) fn read_segment(
    directory: &Path,
    database: DatabaseId,
    number: u64,
) -> Result<Archived> {
    let path = segment_path(directory, number);
    let bytes = fs::read(&path).map_err(|error| io_error(&path, "read", &error))?;
    Archived::read(bytes, database, number).map_err(|reason| unusable(&path, reason))
}

/// Reads which pools of a load were copied; `None` if they were not.
pub(super) fn read_copied(
    directory: &Path,
    load: LoadId,
) -> Result<Option<crate::manifest::LoadRecord>> {
    let path = directory.join(copied_name(load));
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| io_error(&path, "read", &error))?,
    };
    match Record::from_bytes(&bytes, load.0) {
        Ok((Record::Load(record), _)) if record.load == load => Ok(Some(record)),
        Ok(_) => Err(unusable(&path, "it is of another load".into())),
        Err(problem) => Err(unusable(&path, problem.to_string())),
    }
}

pub(super) fn unusable(path: &Path, reason: String) -> Error {
    Error::Archive { path: path.to_path_buf(), reason, kind: ErrorKind::Open }
}

pub(super) fn io_error(path: &Path, action: &str, error: &io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            ErrorKind::NoSpace
        }
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => ErrorKind::Open,
        _ => ErrorKind::Io,
    };
    Error::Archive {
        path: path.to_path_buf(),
        reason: format!("cannot {action} it: {error}"),
        kind,
    }
}
