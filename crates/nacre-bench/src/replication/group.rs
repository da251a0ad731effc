//! Runs the cells of one workload, page size and replica count over the same pools.
//!
//! In each round the baseline, a few mechanisms, the baseline again and so on take turns, so that
//! all of them see the same machine; each is compared with the baseline that ran right before.
//! The first round warms caches and translations up and is not counted.

use std::path::PathBuf;

use nacre_pmem::structure::VALUE_BYTES_MAX;

use super::contestant::{Contestant, check_identical};
use super::library;
use super::measure::{Series, Work};
use super::nacre::{ColumnUpdate, NacreColumn, NacreKeyValue, Place};
use super::options::{PageSize, Variant, Workload};
use super::pages::{is_as_asked, large_share, set_pages};
use super::session::{Cell, Session, VARIANTS_PER_BASELINE, replicas_text};
use super::space;
use crate::error::{Error, Result};

/// Bytes that a key takes beside its value: slot, object header, free room in leaves and classes.
const KEY_OVERHEAD_BYTES: u64 = 160;

/// Bytes of a key-value pool that are not for pairs: logs and headers of both engines.
const FIXED_BYTES: u64 = 32 << 20;

/// Figures of a cell.
pub(super) struct CellFigures {
    pub(super) cell: Cell,
    /// Ours without replicas.
    pub(super) plain: Series,
    /// Ours with replicas, by contestant.
    pub(super) variants: Vec<(Variant, Series)>,
    /// The library without and with replicas.
    pub(super) library: Option<(Series, Series)>,
}

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
struct Contestants {
    plain: Box<dyn Contestant>,
    replicated: Option<Box<dyn Contestant>>,
    library_plain: Option<Box<dyn Contestant>>,
    library_replicated: Option<Box<dyn Contestant>>,
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
        let engines = if library::IS_BUILT_IN { 2 } else { 1 };
        let pools = if self.replicas == 0 { 1 } else { self.replicas as u64 + 2 };
        let directory = session.directory.clone();
        space::check(&directory, engines * pools * (pool_bytes + (16 << 20)))?;
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

    /// Measures one cell, in rounds.
    fn run_cell(&mut self, session: &mut Session, cell: Cell) -> Result<CellFigures> {
        let work = |contestant: &dyn Contestant| {
            let places = contestant.places(cell.update_bytes);
            Work::new(cell.access, cell.update_bytes, places)
        };
        let mut works = Works {
            ours: work(self.plain.as_ref()),
            library: self.library_plain.as_deref().map(work),
        };
        let variants = if cell.replicas == 0 { &[] } else { session.choices.variants.as_slice() };
        let mut figures = CellFigures {
            cell,
            plain: Series::default(),
            variants: variants.iter().map(|variant| (*variant, Series::default())).collect(),
            library: works.library.is_some().then(Default::default),
        };
        self.run_round(session, &mut works, &mut figures)?;
        figures.clear();
        for _ in 0..session.choices.rounds {
            self.run_round(session, &mut works, &mut figures)?;
        }
        Ok(figures)
    }

    /// Lets every contestant run once.
    fn run_round(
        &mut self,
        session: &mut Session,
        works: &mut Works,
        figures: &mut CellFigures,
    ) -> Result<()> {
        let cell = figures.cell;
        let mut measure = |contestant: &mut dyn Contestant, work: &mut Work| {
            session.interrupt.check()?;
            let rate = contestant.slice(work, session.slice)?;
            session.progress.advance(&cell.title());
            Ok::<_, Error>(rate)
        };
        match &mut self.replicated {
            None => figures.plain.rates.push(measure(self.plain.as_mut(), &mut works.ours)?),
            Some(replicated) => {
                for variants in figures.variants.chunks_mut(VARIANTS_PER_BASELINE) {
                    let baseline = measure(self.plain.as_mut(), &mut works.ours)?;
                    figures.plain.rates.push(baseline);
                    for (variant, series) in variants {
                        replicated.select(*variant)?;
                        series.push(measure(replicated.as_mut(), &mut works.ours)?, baseline);
                    }
                }
            }
        }
        if let (Some(plain), Some(work)) = (&mut self.library_plain, &mut works.library) {
            let (plain_series, series) = figures.library.get_or_insert_default();
            let baseline = measure(plain.as_mut(), work)?;
            plain_series.rates.push(baseline);
            if let Some(replicated) = &mut self.library_replicated {
                series.push(measure(replicated.as_mut(), work)?, baseline);
            }
        }
        Ok(())
    }
}

fn append(checksum: u32, of_pool: u32) -> u32 {
    crc32c::crc32c_append(checksum, &of_pool.to_le_bytes())
}

/// What is updated next, for ours and the library.
struct Works {
    ours: Work,
    library: Option<Work>,
}

impl CellFigures {
    /// Forgets the round that warmed up.
    fn clear(&mut self) {
        self.plain.clear();
        self.variants.iter_mut().for_each(|(_, series)| series.clear());
        if let Some((plain, replicated)) = &mut self.library {
            plain.clear();
            replicated.clear();
        }
    }
}

/// Returns the size of a key-value pool for values of a size, and the keys that it gets.
fn key_value_size(session: &Session, update_bytes: usize) -> (u64, u64) {
    // Twice: an update writes a new pair before it frees the old one, and classes leave holes.
    let pair_bytes = (update_bytes as u64 + KEY_OVERHEAD_BYTES) * 2;
    let room = session.choices.pool_bytes.saturating_sub(FIXED_BYTES).max(pair_bytes * 64);
    let keys = session.choices.keys.min(room / pair_bytes);
    (keys * pair_bytes + FIXED_BYTES, keys)
}
