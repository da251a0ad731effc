//! A small crash model for the tests of this crate's own modules: pool sets in a directory, what
//! was stored to them since, and images with any words of the unfenced stores.
//!
//! Differs from `sim`: stores are seen where transactions issue them, not at the instructions, so
//! a forgotten flush is not found here.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::media::trace::{self, Event};
use crate::set::{PoolSet, PoolSetOptions};
use crate::{Access, Domain};

/// A repeatable source of choices (xorshift).
pub(crate) struct Chooser(pub(crate) u64);

impl Chooser {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// A pool set of two members whose crashes are tried out.
pub(crate) struct Crashes {
    directory: TempDir,
    domain: Domain,
    base: [Vec<u8>; 2],
    events: Vec<Event>,
}

const NAMES: [&str; 2] = ["set.0", "set.1"];

impl Crashes {
    /// Creates a set of `data_bytes` bytes, prepared by `prepare`; nothing of that can be lost.
    pub(crate) fn new(data_bytes: u64, prepare: impl FnOnce(&mut PoolSet)) -> (Crashes, PoolSet) {
        let directory = tempfile::Builder::new().tempdir_in("/dev/shm").unwrap();
        let domain = Domain::create("crash", directory.path()).unwrap();
        let members = [domain.clone(), domain.clone()];
        let options = PoolSetOptions::new(data_bytes);
        let mut set = PoolSet::create("set", &members, &options).unwrap();
        prepare(&mut set);
        drop(set);
        let set = PoolSet::open("set", &members, Access::ReadWrite).unwrap();
        let base = NAMES.map(|name| fs::read(directory.path().join(name)).unwrap());
        (Crashes { directory, domain, base, events: Vec::new() }, set)
    }

    /// Runs `body` and returns how many events there are then; a crash may come at any of them.
    pub(crate) fn record(&mut self, body: impl FnOnce()) -> usize {
        self.events.extend(trace::of(body));
        self.events.len()
    }

    /// Opens an image of a crash after `count` events, sometimes after further crashes in recovery.
    pub(crate) fn crash_after(&self, count: usize, chooser: &mut Chooser) -> PoolSet {
        let mut members = self.base.clone();
        tear(&mut members, &self.events[..count], chooser);
        loop {
            let data = PathBuf::from(self.directory.path()).join("image");
            fs::create_dir_all(&data).unwrap();
            let domain = Domain::create("image", &data).unwrap();
            write_members(&data, &members);
            let mut opened = None;
            let events = trace::of(|| {
                let domains = [domain.clone(), domain.clone()];
                opened = Some(PoolSet::open("set", &domains, Access::ReadWrite).unwrap());
            });
            if chooser.below(4) > 0 {
                return opened.unwrap();
            }
            drop(opened);
            let cut = chooser.below(events.len() as u64 + 1) as usize;
            tear(&mut members, &events[..cut], chooser);
        }
    }

    /// The directory of the running set.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The domain of the running set.
    pub(crate) fn domain(&self) -> &Domain {
        &self.domain
    }
}

/// Applies fenced stores to all members and a random choice of the words of the others, then makes
/// the data areas equal to that of the first, as opening a set does before recovery.
fn tear(members: &mut [Vec<u8>; 2], events: &[Event], chooser: &mut Chooser) {
    let last = events.iter().rposition(|event| *event == Event::Fence).unwrap_or(0);
    for member in members.iter_mut() {
        // All, none, or each word by a coin.
        let mode = chooser.below(4);
        for (index, event) in events.iter().enumerate() {
            let Event::Store { offset, bytes } = event else { continue };
            let mut is_kept = true;
            for (position, &byte) in bytes.iter().enumerate() {
                let at = *offset as usize + position;
                if index > last && (position == 0 || at.is_multiple_of(8)) {
                    is_kept = mode == 0 || mode > 1 && chooser.below(2) == 0;
                }
                if is_kept {
                    member[at] = byte;
                }
            }
        }
    }
    let data = (crate::set::DATA_OFFSET + (64 << 10)) as usize;
    let (first, second) = members.split_at_mut(1);
    second[0][data..].copy_from_slice(&first[0][data..]);
}

fn write_members(directory: &Path, members: &[Vec<u8>; 2]) {
    for (name, bytes) in NAMES.iter().zip(members) {
        fs::write(directory.join(name), bytes).unwrap();
    }
}
