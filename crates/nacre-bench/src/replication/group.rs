//! Makes the pools of one workload, page size and replica count, and runs their cells over them.
//!
//! Before the first cell every page of every member is there and mapped, and every contestant has
//! run for a while: on virtual machines the first touch of memory is slow, and a pool set marks a
//! region before its first store.

use std::path::PathBuf;

use nacre_pmem::structure::VALUE_BYTES_MAX;

use super::contestant::{Contestant, check_identical};
use super::library;
use super::measure::Work;
use super::nacre::{ColumnUpdate, NacreColumn, NacreKeyValue, Place};
use super::options::{AccessPattern, PageSize, Workload};
use super::pages::{is_as_asked, large_share, populate, set_pages};
use super::rounds::CellFigures;
use super::session::{Cell, Session, replicas_text};
use super::space;
use crate::error::{Error, Result};

/// Bytes that a key takes beside its value: slot, object header, free room in leaves and classes.
const KEY_OVERHEAD_BYTES: u64 = 160;

/// Bytes of a key-value pool that are not for pairs: logs and headers of both engines.
const FIXED_BYTES: u64 = 32 << 20;

/// Bytes of a pool beside those that were asked for.
const POOL_OVERHEAD_BYTES: u64 = 16 << 20;

/// Updates before the first cell: their size, and how many slices they last.
const WARM_UP_BYTES: usize = 4;
const WARM_UP_SLICES: u32 = 5;

/// A workload over pools of one page size, with a number of replicas.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) workload: Workload,
    pub(super) pages: PageSize,
    pub(super) replicas: usize,
}

/// Checksums of the members' bytes, over all pools of a group.
#[derive(Default)]
struct Checksums {
    ours: u32,
    library: u32,
}

/// Ours and the library, each without and with replicas.
pub(super) struct Contestants {
    pub(super) plain: Box<dyn Contestant>,
    pub(super) replicated: Option<Box<dyn Contestant>>,
    pub(super) library_plain: Option<Box<dyn Contestant>>,
    pub(super) library_replicated: Option<Box<dyn Contestant>>,
}

impl Group {
    /// Measures every cell of the group.
    pub(super) fn run(self, session: &mut Session) -> Result<Vec<CellFigures>> {
        session.progress.begin(&self.title());
        let sizes = session.choices.update_bytes.clone();
        let (mut figures, mut checksums) = (Vec::new(), Checksums::default());
        match self.workload {
            Workload::Cs | Workload::CsTx => {
                let mut contestants = self.create(session, session.choices.pool_bytes, (0, 0))?;
                for update_bytes in sizes {
                    if session.is_late() {
                        break;
                    }
                    figures.extend(self.run_size(session, &mut contestants, update_bytes)?);
                }
                self.finish(contestants, &mut checksums)?;
            }
            Workload::Kv => {
                let (sizes, refused): (Vec<_>, Vec<_>) =
                    sizes.into_iter().partition(|bytes| *bytes <= VALUE_BYTES_MAX);
                if let Some(bytes) = refused.first() {
                    session.line(format_args!(
                        "{}: skipped from {bytes} B: a value has at most {VALUE_BYTES_MAX}",
                        self.title()
                    ))?;
                }
                for update_bytes in sizes {
                    if session.is_late() {
                        break;
                    }
                    let (pool_bytes, keys) = key_value_size(session, update_bytes);
                    let filling = (keys, update_bytes);
                    let mut contestants = self.create(session, pool_bytes, filling)?;
                    figures.extend(self.run_size(session, &mut contestants, update_bytes)?);
                    self.finish(contestants, &mut checksums)?;
                }
            }
        }
        self.report_identical(session, &checksums)?;
        Ok(figures)
    }

    fn title(self) -> String {
        format!("{}, {}, {}", self.workload.name(), replicas_text(self.replicas), self.pages)
    }

    /// Creates and fills the pools.
    fn create(
        self,
        session: &mut Session,
        pool_bytes: u64,
        filling: (u64, usize),
    ) -> Result<Contestants> {
        let directory = session.directory.clone();
        space::check(&directory, room_bytes(self.replicas, pool_bytes), space::SMALLER_POOLS)?;
        let place = |name, replicas| Place {
            directory: &directory,
            name,
            pool_bytes,
            replicas,
            pages: self.pages,
        };
        let ours = |name, replicas| {
            session.interrupt.check()?;
            self.ours(place(name, replicas), filling)
        };
        let library = |name, replicas| {
            session.interrupt.check()?;
            self.library(place(name, replicas), filling)
        };
        let mut contestants = match self.replicas {
            0 => Contestants {
                plain: ours("plain", 0)?,
                replicated: None,
                library_plain: library("library-plain", 0)?,
                library_replicated: None,
            },
            replicas => Contestants {
                plain: ours("plain", 0)?,
                replicated: Some(ours("replicated", replicas)?),
                library_plain: library("library-plain", 0)?,
                library_replicated: library("library-replicated", replicas)?,
            },
        };
        self.ask_for_pages(session, &contestants)?;
        contestants.plain.select(session.choices.baseline)?;
        contestants.warm_up(session)?;
        Ok(contestants)
    }

    fn ours(self, place: Place<'_>, (keys, bytes): (u64, usize)) -> Result<Box<dyn Contestant>> {
        Ok(match self.workload {
            Workload::Cs => Box::new(NacreColumn::create(place, ColumnUpdate::Single)?),
            Workload::CsTx => Box::new(NacreColumn::create(place, ColumnUpdate::Transaction)?),
            Workload::Kv => Box::new(NacreKeyValue::create(place, keys, bytes)?),
        })
    }

    fn library(
        self,
        place: Place<'_>,
        (keys, bytes): (u64, usize),
    ) -> Result<Option<Box<dyn Contestant>>> {
        match self.workload {
            Workload::Cs => library::column(place, false),
            Workload::CsTx => library::column(place, true),
            Workload::Kv => library::key_value(place, keys, bytes),
        }
    }

    /// Says that all members had the same bytes.
    fn report_identical(self, session: &Session, checksums: &Checksums) -> Result<()> {
        if self.replicas == 0 {
            return Ok(());
        }
        let library = match library::IS_BUILT_IN {
            true => format!(", libpmemobj {:08x}", checksums.library),
            false => String::new(),
        };
        session.line(format_args!(
            "{}: all members are identical, CRC-32C nacre {:08x}{library}",
            self.title(),
            checksums.ours
        ))
    }

    /// Asks for pages, and says which the kernel gave if they are others.
    fn ask_for_pages(self, session: &Session, contestants: &Contestants) -> Result<()> {
        let mut parts = Vec::new();
        let mut is_as_wanted = true;
        for (name, contestant) in contestants.all() {
            set_pages(&contestant.files(), self.pages)?;
            populate(&contestant.files())?;
            let share = large_share(&contestant.files())?;
            is_as_wanted &= is_as_asked(share, self.pages);
            parts.push(format!("{name} {:.0} %", share.unwrap_or_default() * 100.0));
        }
        let parts = parts.join(", ");
        if !is_as_wanted {
            session.line(format_args!(
                "NOTE: asked for {}, but the share that 2 MiB pages map is: {parts}",
                self.pages
            ))?;
        }
        Ok(())
    }

    fn run_size(
        self,
        session: &mut Session,
        contestants: &mut Contestants,
        update_bytes: usize,
    ) -> Result<Vec<CellFigures>> {
        let accesses = session.choices.accesses.clone();
        let mut figures = Vec::new();
        for access in accesses {
            let Self { workload, pages, replicas } = self;
            let cell = Cell { workload, access, update_bytes, replicas, pages };
            figures.push(contestants.run_cell(session, cell)?);
        }
        Ok(figures)
    }

    /// Checks that the members are equal, and removes the pools; adds to the checksums.
    fn finish(self, contestants: Contestants, checksums: &mut Checksums) -> Result<()> {
        if let Some(replicated) = &contestants.replicated {
            checksums.ours = append(checksums.ours, check_identical(replicated.as_ref())?);
        }
        if let Some(replicated) = &contestants.library_replicated {
            checksums.library = append(checksums.library, check_identical(replicated.as_ref())?);
        }
        let all = contestants.all();
        let files: Vec<PathBuf> = all.iter().flat_map(|(_, one)| one.files()).collect();
        drop(contestants);
        for file in files {
            std::fs::remove_file(&file).map_err(Error::io("remove", &file))?;
            // The library's set file lies beside the first part; ours have none.
            let _ = std::fs::remove_file(file.with_extension("set"));
        }
        Ok(())
    }
}

impl Contestants {
    /// Lets every contestant update for a while, anywhere.
    fn warm_up(&mut self, session: &Session) -> Result<()> {
        let mut all = vec![Some(&mut self.plain), self.replicated.as_mut()];
        all.extend([self.library_plain.as_mut(), self.library_replicated.as_mut()]);
        for contestant in all.into_iter().flatten() {
            session.interrupt.check()?;
            let places = contestant.places(WARM_UP_BYTES);
            let mut work = Work::new(AccessPattern::Uniform, WARM_UP_BYTES, places);
            contestant.slice(&mut work, session.slice * WARM_UP_SLICES)?;
        }
        Ok(())
    }

    fn all(&self) -> Vec<(&'static str, &dyn Contestant)> {
        let named = [
            ("nacre without replicas", Some(&self.plain)),
            ("nacre", self.replicated.as_ref()),
            ("libpmemobj without replicas", self.library_plain.as_ref()),
            ("libpmemobj", self.library_replicated.as_ref()),
        ];
        let present = named.into_iter();
        present.filter_map(|(name, one)| Some((name, one?.as_ref()))).collect()
    }
}

fn append(checksum: u32, of_pool: u32) -> u32 {
    crc32c::crc32c_append(checksum, &of_pool.to_le_bytes())
}

/// Returns the size of a key-value pool for values of a size, and the keys that it gets.
/// Returns the room that the pools of all contestants take at once.
fn room_bytes(replicas: usize, pool_bytes: u64) -> u64 {
    let engines = if library::IS_BUILT_IN { 2 } else { 1 };
    let pools = if replicas == 0 { 1 } else { replicas as u64 + 2 };
    pool_bytes.saturating_add(POOL_OVERHEAD_BYTES).saturating_mul(engines * pools)
}

/// Checks that the largest group of a run has room, before anything is said or measured.
///
/// # Errors
/// As for [`space::check`].
pub(super) fn check_room(session: &Session) -> Result<()> {
    let choices = &session.choices;
    let key_value = |bytes: &usize| key_value_size(session, *bytes).0;
    let pool_bytes = choices.workloads.iter().map(|workload| match workload {
        Workload::Cs | Workload::CsTx => choices.pool_bytes,
        Workload::Kv => {
            let sizes = choices.update_bytes.iter().filter(|bytes| **bytes <= VALUE_BYTES_MAX);
            sizes.map(key_value).max().unwrap_or(0)
        }
    });
    let replicas = choices.replicas.iter().copied().max().unwrap_or(0);
    let bytes = room_bytes(replicas, pool_bytes.max().unwrap_or(0));
    space::check(&session.directory, bytes, space::SMALLER_POOLS)
}

fn key_value_size(session: &Session, update_bytes: usize) -> (u64, u64) {
    // Twice: an update writes a new pair before it frees the old one, and classes leave holes.
    let pair_bytes = (update_bytes as u64 + KEY_OVERHEAD_BYTES) * 2;
    let room = session.choices.pool_bytes.saturating_sub(FIXED_BYTES).max(pair_bytes * 64);
    let keys = session.choices.keys.min(room / pair_bytes);
    (keys * pair_bytes + FIXED_BYTES, keys)
}
