//! What takes part in a measurement: pools on media, updated by the measured loop.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use super::measure::Work;
use super::options::{AccessPattern, Variant};
use crate::error::{Error, Result};

/// Bytes of the pools that are compared at a time.
const PIECE_BYTES: usize = 1 << 20;

/// Pools of one engine, filled and ready to be updated.
pub(super) trait Contestant {
    /// Returns the number of places that updates of this size can go to.
    fn places(&self, update_bytes: usize) -> u64;

    /// Chooses how replicas are written; without an effect where there is no choice.
    fn select(&mut self, variant: Variant) -> Result<()>;

    /// Returns the mechanism that such an update takes as things are; `None` where there is no
    /// choice. For pairs it is that of the value alone.
    fn chosen(&self, access: AccessPattern, update_bytes: usize) -> Option<Variant>;

    /// Updates for as long as `budget`; returns updates a second.
    fn slice(&mut self, work: &mut Work, budget: Duration) -> Result<f64>;

    /// Returns the pool files, the master's first.
    fn files(&self) -> Vec<PathBuf>;

    /// Returns the ranges (offset, bytes) of the pool files that must be the same in all.
    fn ranges(&self) -> Vec<(u64, u64)>;
}

/// Compares the members of a contestant byte by byte, read as files; returns their CRC-32C.
///
/// # Errors
/// [`Error::Deviation`] with file and offset of the first difference.
pub(super) fn check_identical(contestant: &dyn Contestant) -> Result<u32> {
    let files = contestant.files();
    let readers = files
        .iter()
        .map(|path| File::open(path).map_err(Error::io("open", path)))
        .collect::<Result<Vec<_>>>()?;
    let mut crc = 0;
    let (mut expected, mut found) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
    for (start, bytes) in contestant.ranges() {
        let mut at = start;
        while at < start + bytes {
            let piece = PIECE_BYTES.min((start + bytes - at) as usize);
            for (index, (reader, path)) in readers.iter().zip(&files).enumerate() {
                let buffer = if index == 0 { &mut expected } else { &mut found };
                let read = reader.read_exact_at(&mut buffer[..piece], at);
                read.map_err(Error::io("read", path))?;
                if index > 0 && expected[..piece] != found[..piece] {
                    let same = expected.iter().zip(&found).take_while(|(a, b)| a == b).count();
                    return Err(Error::Deviation(format!(
                        "{} differs from {} at offset {}",
                        path.display(),
                        files[0].display(),
                        at + same as u64
                    )));
                }
            }
            crc = crc32c::crc32c_append(crc, &expected[..piece]);
            at += piece as u64;
        }
    }
    Ok(crc)
}
