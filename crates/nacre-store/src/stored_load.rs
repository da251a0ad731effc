//! A load that counts: its parts, and where each block's replicas lie in them.
//!
//! # Invariants
//! 1. A part is mapped, and its directory read, when the first chunk of the load is asked for:
//!    opening a database costs nothing per block and nothing per mapped byte.
//! 2. Of two blocks for the same chunk, column and replica the one in the part with the higher
//!    number is current; the other one is read only if no current one is good.
//! 3. The list of parts is replaced as a whole. Whoever has an [`OpenLoad`] goes on reading the
//!    parts that it names.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use nacre_column::replicated::{AccessHint, Candidate, choose};
use nacre_column::{ColumnType, Sma};
use nacre_pmem::PoolSlice;

use crate::directory::{BlockEntry, ChunkInfo, Layout, PartId};
use crate::domains::Domains;
use crate::error::{Error, Result};
use crate::id::CommitTs;
use crate::manifest::{DatabaseId, LoadId, LoadRecord, PartRecord, TableId};
use crate::part::{BlockState, MappedPart, Part, PartContext};
use crate::point::Points;
use crate::table::TableNames;

/// A load of a table.
#[derive(Debug)]
pub(crate) struct StoredLoad {
    database: DatabaseId,
    table: TableId,
    id: LoadId,
    rows: u64,
    context: PartContext,
    parts: RwLock<Arc<Vec<Arc<Part>>>>,
    next_part: AtomicU32,
    /// The commit that made the load visible; 0 if that was before the database was opened.
    visible_from: AtomicU64,
    /// Held while parts are mapped and looked at, which takes system calls.
    opening: Mutex<()>,
    /// Changed under `opening`, and never held for long: every single row asks it.
    open: RwLock<Option<Arc<OpenLoad>>>,
}

impl StoredLoad {
    /// Makes the load that `record` tells of; no part of it has a number from `next_part` on.
    pub(crate) fn new(
        record: &LoadRecord,
        next_part: u32,
        database: DatabaseId,
        names: &Arc<TableNames>,
        domains: &Arc<Domains>,
    ) -> Self {
        let context = PartContext {
            names: Arc::clone(names),
            domains: Arc::clone(domains),
            // Nobody has compared it with the policy yet.
            needs_care: Arc::new(AtomicBool::new(true)),
            chunk_count: record.chunk_count,
        };
        let load = Self {
            database,
            table: record.table,
            id: record.load,
            rows: record.rows,
            context,
            parts: RwLock::default(),
            next_part: AtomicU32::new(next_part),
            visible_from: AtomicU64::new(0),
            opening: Mutex::new(()),
            open: RwLock::new(None),
        };
        load.change_parts(&record.parts, &[]);
        load
    }

    pub(crate) fn id(&self) -> LoadId {
        self.id
    }

    /// Returns the commit that made the load visible.
    pub(crate) fn visible_from(&self) -> CommitTs {
        // ORDERING: stored before the load joins its table's list, whose lock orders it.
        CommitTs(self.visible_from.load(Ordering::Relaxed))
    }

    pub(crate) fn set_visible_from(&self, ts: CommitTs) {
        // ORDERING: as in `visible_from`.
        self.visible_from.store(ts.0, Ordering::Relaxed);
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn chunk_count(&self) -> u32 {
        self.context.chunk_count
    }

    pub(crate) fn needs_care(&self) -> &AtomicBool {
        &self.context.needs_care
    }

    /// Says whether maintenance has to look at the load.
    pub(crate) fn set_needs_care(&self, needs_care: bool) {
        // ORDERING: pairs with the swap in maintenance.
        self.context.needs_care.store(needs_care, Ordering::Release);
    }

    /// Whether a part of that number is in the manifest.
    pub(crate) fn is_recorded(&self, number: u32) -> bool {
        let parts = self.parts();
        let part = parts.iter().find(|part| part.record().number == number);
        part.is_some_and(|part| !part.is_volatile())
    }

    pub(crate) fn parts(&self) -> Arc<Vec<Arc<Part>>> {
        Arc::clone(&self.parts.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the bytes of all parts.
    pub(crate) fn pool_bytes(&self) -> u64 {
        self.parts().iter().map(|part| part.record().pool_bytes).sum()
    }

    /// Whether the domain of a part is there.
    pub(crate) fn is_reachable(&self) -> bool {
        let is_there = |part: &Arc<Part>| self.context.domains.get(&part.record().domain).is_ok();
        self.parts().iter().any(is_there)
    }

    /// Returns a number that no part of the load has had.
    pub(crate) fn take_part_number(&self) -> u32 {
        // ORDERING: only the numbers themselves must differ.
        self.next_part.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns who a new part of this load is.
    pub(crate) fn part_id(&self, number: u32, layout: Layout) -> PartId {
        let (database, table, load) = (self.database, self.table, self.id);
        PartId { database, table, load, number, layout }
    }

    /// Adds parts and takes others away; the files of these go with their last reader.
    pub(crate) fn change_parts(&self, added: &[PartRecord], removed: &[u32]) {
        let mut parts = self.parts.write().unwrap_or_else(PoisonError::into_inner);
        let (gone, mut now): (Vec<_>, Vec<_>) =
            parts.iter().cloned().partition(|part| removed.contains(&part.record().number));
        now.extend(added.iter().map(|record| {
            let id = self.part_id(record.number, record.layout);
            Arc::new(Part::new(id, record.clone(), &self.context))
        }));
        *parts = Arc::new(now);
        // Files are removed without the lock, and `open` locks in the other order.
        drop(parts);
        let opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        self.set_open(None);
        drop(opening);
        gone.iter().for_each(|part| part.doom());
    }

    /// Has all files removed when the last reader goes.
    pub(crate) fn doom(&self) {
        self.parts().iter().for_each(|part| part.doom());
    }

    /// As [`StoredLoad::open`], but asks the file system nothing if all parts are mapped, which
    /// would cost more than the single row that is wanted. [`Chunk::read`](crate::Chunk::read)
    /// opens the load again where a mapping turns out to be no good.
    ///
    /// # Errors
    /// As for [`StoredLoad::open`].
    pub(crate) fn mapped(&self) -> Result<Arc<OpenLoad>> {
        self.known().map_or_else(|| self.open(), Ok)
    }

    /// Returns the load if all its parts are mapped.
    pub(crate) fn known(&self) -> Option<Arc<OpenLoad>> {
        let known = self.open.read().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().filter(|load| load.problems.is_empty()).cloned()
    }

    /// Maps the parts that are not mapped yet, or whose files changed, and finds out where the
    /// blocks are.
    ///
    /// # Errors
    /// [`Error::LoadDamaged`] if the parts that can be read do not know all chunks.
    pub(crate) fn open(&self) -> Result<Arc<OpenLoad>> {
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.open.read().unwrap_or_else(PoisonError::into_inner).clone();
        let (mut mapped, mut problems, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for part in self.parts().iter() {
            match part.open() {
                Ok(part) => mapped.push(part),
                Err(problem) => {
                    let domain = &part.record().domain;
                    if self.context.domains.get(domain).is_err() && !missing.contains(domain) {
                        missing.push(domain.clone());
                    }
                    problems.push(problem);
                }
            }
        }
        if let Some(load) = known
            && load.parts.len() == mapped.len()
            && load.parts.iter().zip(&mapped).all(|(one, other)| Arc::ptr_eq(one, other))
        {
            return Ok(load);
        }
        let columns = self.context.names.column_count();
        let mut load = OpenLoad::new(mapped, problems, self.context.chunk_count, columns).map_err(
            |reason| Error::LoadDamaged {
                object: format!("load {} of table \"{}\"", self.id.0, self.context.names.table()),
                reason,
                missing: missing.clone(),
            },
        )?;
        load.missing = missing;
        let load = Arc::new(load);
        self.set_open(Some(Arc::clone(&load)));
        Ok(load)
    }

    /// Replaces what is open, whose last reader may unmap it: without the lock. The caller holds
    /// `opening`.
    fn set_open(&self, load: Option<Arc<OpenLoad>>) {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *open, load);
        drop(open);
        drop(before);
    }
}

/// A load with its parts mapped, as far as they could be.
#[derive(Debug)]
pub(crate) struct OpenLoad {
    pub(crate) parts: Vec<Arc<MappedPart>>,
    /// Why other parts are not mapped.
    problems: Vec<String>,
    /// The domains of those that are not there.
    pub(crate) missing: Vec<String>,
    pub(crate) chunks: Vec<Arc<ChunkInfo>>,
    columns: usize,
    /// Where the places of each chunk and column begin, and one more.
    starts: Vec<u32>,
    places: Vec<BlockPlace>,
    /// Whether it matters on which node a reader runs.
    has_nodes: bool,
    /// What finds single values.
    pub(crate) points: Points,
}

/// Where one replica of a block lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPlace {
    pub(crate) part: u32,
    pub(crate) slot: u32,
    /// Whether no newer part has the same replica of the block.
    pub(crate) is_current: bool,
}

impl OpenLoad {
    fn new(
        parts: Vec<Arc<MappedPart>>,
        problems: Vec<String>,
        chunk_count: u32,
        columns: usize,
    ) -> std::result::Result<Self, String> {
        let mut chunks: Vec<Option<Arc<ChunkInfo>>> = vec![None; chunk_count as usize];
        for known in parts.iter().flat_map(|part| &part.chunks) {
            chunks[known.chunk as usize].get_or_insert_with(|| Arc::clone(&known.info));
        }
        if let Some(chunk) = chunks.iter().position(Option::is_none) {
            let problems = match problems.is_empty() {
                true => "no part knows it".to_owned(),
                false => problems.join("; "),
            };
            return Err(format!("chunk {chunk}: {problems}"));
        }
        let mut places = Vec::new();
        for (part, mapped) in parts.iter().enumerate() {
            for (slot, block) in mapped.slots.iter().enumerate() {
                let at = block.chunk as usize * columns + usize::from(block.entry.column);
                places.push((
                    at,
                    block.entry.replica,
                    std::cmp::Reverse(mapped.number()),
                    part,
                    slot,
                ));
            }
        }
        places.sort_unstable();
        let mut starts = vec![0; chunks.len() * columns + 1];
        let mut ordered: Vec<BlockPlace> = Vec::with_capacity(places.len());
        let mut last = None;
        for (at, replica, _, part, slot) in places {
            starts[at + 1] += 1;
            let is_current = last != Some((at, replica));
            last = Some((at, replica));
            ordered.push(BlockPlace { part: part as u32, slot: slot as u32, is_current });
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let has_nodes = parts.windows(2).any(|pair| pair[0].node != pair[1].node);
        let chunks = chunks.into_iter().flatten().collect();
        let points = Points::new(starts.len() - 1, ordered.len());
        Ok(Self {
            parts,
            problems,
            missing: Vec::new(),
            chunks,
            columns,
            starts,
            places: ordered,
            has_nodes,
            points,
        })
    }

    /// Returns the number of a pair of chunk and column.
    #[inline]
    pub(crate) fn pair(&self, chunk: usize, column: usize) -> usize {
        chunk * self.columns + column
    }

    /// Returns the place of a number that [`OpenLoad::best`] returned.
    pub(crate) fn place(&self, number: usize) -> BlockPlace {
        self.places[number]
    }

    /// Whether it matters on which node a reader runs.
    pub(crate) fn has_nodes(&self) -> bool {
        self.has_nodes
    }

    /// Returns the rows of a chunk.
    #[inline]
    pub(crate) fn rows(&self, chunk: u32) -> usize {
        self.chunks[chunk as usize].rows as usize
    }

    pub(crate) fn sma(&self, chunk: usize, column: usize) -> &Sma {
        &self.chunks[chunk].smas[column]
    }

    /// Returns where the replicas of a block lie, current ones and others.
    pub(crate) fn places(&self, chunk: usize, column: usize) -> &[BlockPlace] {
        let at = self.pair(chunk, column);
        &self.places[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Whether a replica of a block is not known to be lost.
    pub(crate) fn has_good(&self, chunk: usize, column: usize) -> bool {
        self.places(chunk, column).iter().any(|place| {
            let part = &self.parts[place.part as usize];
            part.slots[place.slot as usize].state() != BlockState::Lost
        })
    }

    /// Returns the part that a replica lies in, and what its directory says of it.
    pub(crate) fn part_and_entry(&self, place: &BlockPlace) -> (&Arc<MappedPart>, &BlockEntry) {
        let part = &self.parts[place.part as usize];
        (part, &part.slots[place.slot as usize].entry)
    }

    /// Returns the best good replica of a block: the number of its place, and its bytes. Calls
    /// `on_lost` for each that turns out to be lost.
    pub(crate) fn best(
        &self,
        (chunk, column): (usize, usize),
        column_type: ColumnType,
        hint: AccessHint,
        on_lost: impl Fn(),
    ) -> Option<(usize, PoolSlice)> {
        let rows = self.chunks[chunk].rows;
        let first = self.starts[self.pair(chunk, column)] as usize;
        let places = self.places(chunk, column);
        let local_node = if self.has_nodes { nacre_pmem::current_node() } else { None };
        for is_current in [true, false] {
            // Each turn returns, or leaves one replica fewer that is not lost.
            loop {
                let candidates = places.iter().enumerate().filter_map(|(number, place)| {
                    let part = &self.parts[place.part as usize];
                    let slot = &part.slots[place.slot as usize];
                    let is_open =
                        place.is_current == is_current && slot.state() != BlockState::Lost;
                    is_open.then(|| (number, candidate(part, &slot.entry, rows)))
                });
                let Some(best) = choose(candidates, hint, local_node) else {
                    break;
                };
                let part = &self.parts[places[best].part as usize];
                let slot = places[best].slot as usize;
                if let Some(bytes) = part.block(slot, column_type, rows as usize) {
                    return Some((first + best, bytes));
                }
                on_lost();
            }
        }
        None
    }

    /// Says of each replica of a block why it cannot be read.
    pub(crate) fn reasons(&self, chunk: usize, column: usize) -> Vec<String> {
        let reason = |place: &BlockPlace| {
            let part = &self.parts[place.part as usize];
            let slot = &part.slots[place.slot as usize];
            let problem = slot.problem().unwrap_or("it is being verified");
            format!("replica {} in domain {}: {problem}", slot.entry.replica, part.domain)
        };
        let places = self.places(chunk, column).iter().map(reason);
        let mut reasons: Vec<String> = Vec::new();
        // Of a replica that was written anew there may be an older copy with the same problem.
        for reason in places.chain(self.problems.iter().cloned()) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        reasons
    }
}

fn candidate(part: &MappedPart, entry: &BlockEntry, rows: u32) -> Candidate {
    Candidate {
        kind: part.kind,
        node: part.node,
        format: entry.format,
        rows,
        bytes: entry.bytes,
        // ORDERING: an estimate; nothing depends on its order.
        readers: part.readers.0.load(Ordering::Relaxed),
    }
}
