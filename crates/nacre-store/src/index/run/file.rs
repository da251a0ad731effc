//! A run that counts: its file, and the verified way to its pages.
//!
//! The file is mapped when somebody first looks for a key in it, so opening a database costs
//! nothing per entry. Inner nodes are copied to DRAM when a search first comes by; leaves are read
//! where they lie.
//!
//! # Invariants
//! 1. A page is used only after its checksum was verified since the run was mapped, and only if it
//!    is the page that its parent names.
//! 2. A run in which damage was found is not used any more: whoever finds it calls
//!    [`TableIndex::lose_run`](super::super::TableIndex).
//! 3. The file of a run that is not needed any more goes when the last reader lets go of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use nacre_pmem::{Access, Domain, Pool};

use super::page::{Page, PageRef, is_intact};
use super::record::{self, RunOwner, RunRecord};
use crate::directory::POOL_HEADER_BYTES;
use crate::domains::Domains;
use crate::id::RowId;
use crate::store::MAIN_DOMAIN;

/// Most levels: a node has two children at least.
const HEIGHT_MAX: u16 = 64;

/// What is wrong with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunDamage(pub(crate) String);

/// A run of an index.
#[derive(Debug)]
pub(crate) struct Run {
    owner: RunOwner,
    record: RunRecord,
    domains: Arc<Domains>,
    open: Mutex<Option<Arc<OpenRun>>>,
    is_doomed: AtomicBool,
}

/// A run that is mapped.
#[derive(Debug)]
pub(super) struct OpenRun {
    run: u64,
    height: u16,
    pub(super) root: PageRef,
    pool: Arc<Pool>,
    /// Copies of inner nodes, by number.
    inner: Box<[OnceLock<Box<[u8]>>]>,
    /// A bit for each leaf, set once its checksum was verified.
    verified: Box<[AtomicU64]>,
}

impl Run {
    pub(crate) fn new(owner: RunOwner, record: RunRecord, domains: &Arc<Domains>) -> Self {
        let (domains, is_doomed) = (Arc::clone(domains), AtomicBool::new(false));
        Self { owner, record, domains, open: Mutex::default(), is_doomed }
    }

    pub(crate) fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Whether the file is there; nothing is read of it.
    pub(crate) fn is_in_place(&self) -> bool {
        let bytes = self.domain().and_then(|domain| {
            domain.pool_bytes(&record::file_name(self.record.run)).map_err(|error| damage(&error))
        });
        bytes.is_ok_and(|bytes| bytes >= self.record.pool_bytes)
    }

    fn domain(&self) -> Result<Domain, RunDamage> {
        self.domains.get(MAIN_DOMAIN).map(|there| there.domain).map_err(RunDamage)
    }

    /// Has the file removed when nobody needs the run any more.
    pub(crate) fn doom(&self) {
        // ORDERING: read in `drop`, after the last reference has gone.
        self.is_doomed.store(true, Ordering::Release);
    }

    /// Has the file stay, as it does for a run that nobody dooms.
    pub(crate) fn keep(&self) {
        // ORDERING: as in `doom`.
        self.is_doomed.store(false, Ordering::Release);
    }

    /// Returns the mapped run.
    pub(super) fn open(&self) -> Result<Arc<OpenRun>, RunDamage> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*open {
            return Ok(Arc::clone(open));
        }
        let mapped = Arc::new(self.map()?);
        *open = Some(Arc::clone(&mapped));
        Ok(mapped)
    }

    fn map(&self) -> Result<OpenRun, RunDamage> {
        let RunRecord { run, pool_bytes, leaf_count, inner_count, height, root, .. } = self.record;
        let file_name = record::file_name(run);
        let pool = self.domain()?.open_pool(&file_name, Access::ReadOnly);
        let pool = pool.map_err(|error| damage(&error))?;
        if pool.bytes() < pool_bytes {
            let found = pool.bytes();
            return Err(RunDamage(format!("it has {found} bytes, {pool_bytes} were written")));
        }
        let found = pool.read(0, POOL_HEADER_BYTES as u64).map_err(|error| damage(&error))?;
        let is_header = found == record::header(self.owner, run);
        pool.check().map_err(|error| damage(&error))?;
        if !is_header {
            return Err(RunDamage("its header is that of something else".into()));
        }
        let pages_max = pool_bytes / super::page::PAGE_ALIGN;
        if leaf_count > pages_max || inner_count > pages_max || height > HEIGHT_MAX {
            return Err(RunDamage(format!("{leaf_count} leaves cannot be in it")));
        }
        let words = leaf_count.div_ceil(u64::from(u64::BITS));
        Ok(OpenRun {
            run: run.0,
            height,
            root,
            pool: Arc::new(pool),
            inner: (0..inner_count).map(|_| OnceLock::new()).collect(),
            verified: (0..words).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    /// Adds the rows of `key` that `is_wanted` to `rows`, ascending.
    pub(crate) fn rows_of(
        &self,
        key: &[u8],
        is_wanted: impl Fn(RowId) -> bool,
        rows: &mut Vec<RowId>,
    ) -> Result<(), RunDamage> {
        let open = self.open()?;
        let (mut path, mut page) = open.descend(|node| node.count_below(key, false))?;
        loop {
            let is_at_end = open.with_leaf(page, |leaf| {
                let mut item = leaf.count_below(key, false);
                while item < leaf.count() && leaf.has_key(item, key) {
                    rows.extend(Some(leaf.row(item)).filter(|row| is_wanted(*row)));
                    item += 1;
                }
                item == leaf.count()
            })?;
            match if is_at_end { open.next(&mut path, 1)? } else { None } {
                Some(next) => page = next,
                None => return Ok(()),
            }
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // ORDERING: pairs with the release store in `doom`.
        if self.is_doomed.load(Ordering::Acquire)
            && let Ok(domain) = self.domain()
        {
            // A file that stays is removed when the database is next opened for writing.
            let _ = domain.remove_pool(&record::file_name(self.record.run));
        }
    }
}

/// The inner nodes above a leaf, from the root down: which, and at which child.
pub(super) type Path = Vec<(PageRef, usize)>;

impl OpenRun {
    /// Returns an inner node, after it was verified and copied.
    fn node(&self, page: PageRef, level: u16) -> Result<Page<'_>, RunDamage> {
        let wrong = || RunDamage(format!("inner node {} is none", page.number));
        let slot = usize::try_from(page.number).ok().and_then(|at| self.inner.get(at));
        let slot = slot.ok_or_else(wrong)?;
        let bytes = match slot.get() {
            Some(bytes) => bytes,
            None => {
                let copy: Box<[u8]> = self.read(page, level)?.into();
                self.check(page)?;
                slot.get_or_init(|| copy)
            }
        };
        Page::parse(bytes, false).ok_or_else(wrong)
    }

    /// Returns the bytes of a page, which were verified.
    fn read(&self, page: PageRef, level: u16) -> Result<&[u8], RunDamage> {
        let bytes = self.pool.read(page.offset, page.bytes.into());
        let bytes = bytes.map_err(|error| damage(&error))?;
        match is_intact(self.run, (level, page.number), bytes) {
            true => Ok(bytes),
            false => Err(RunDamage(format!(
                "page {} of level {level}: checksum or place is wrong",
                page.number
            ))),
        }
    }

    /// Whether what was read of a page was in the file.
    fn check(&self, page: PageRef) -> Result<(), RunDamage> {
        self.pool.check_range(page.offset, page.bytes.into()).map_err(|error| damage(&error))
    }

    /// Calls `with` with a leaf; what it returns, and does, counts if there is no error.
    pub(super) fn with_leaf<T>(
        &self,
        page: PageRef,
        with: impl FnOnce(Page<'_>) -> T,
    ) -> Result<T, RunDamage> {
        let wrong = || RunDamage(format!("leaf {} is none", page.number));
        let (word, bit) = (page.number / 64, 1 << (page.number % 64));
        let verified = usize::try_from(word).ok().and_then(|at| self.verified.get(at));
        let verified = verified.ok_or_else(wrong)?;
        // ORDERING: the bytes never change; all that is read here was in the file before.
        let bytes = match verified.load(Ordering::Relaxed) & bit {
            0 => {
                let bytes = self.read(page, 0)?;
                // A checksum over lost bytes says nothing about those on media.
                self.check(page)?;
                // ORDERING: as above.
                verified.fetch_or(bit, Ordering::Relaxed);
                bytes
            }
            _ => {
                let bytes = self.pool.read(page.offset, page.bytes.into());
                bytes.map_err(|error| damage(&error))?
            }
        };
        let leaf = Page::parse(bytes, true).ok_or_else(wrong)?;
        let done = with(leaf);
        self.check(page)?;
        Ok(done)
    }

    /// Goes down to a leaf, at each node to the last child of whose separators `count` says that
    /// they come before; returns the way and the leaf.
    pub(super) fn descend(
        &self,
        count: impl Fn(&Page<'_>) -> usize,
    ) -> Result<(Path, PageRef), RunDamage> {
        let (mut path, mut page) = (Path::with_capacity(self.height.into()), self.root);
        for level in (1..=self.height).rev() {
            let node = self.node(page, level)?;
            let at = count(&node).saturating_sub(1).min(node.count() - 1);
            path.push((page, at));
            page = node.child(at);
        }
        Ok((path, page))
    }

    /// Goes to the leaf behind, or with `step` -1 to that before; `None` at the end.
    pub(super) fn next(&self, path: &mut Path, step: isize) -> Result<Option<PageRef>, RunDamage> {
        while let Some((page, at)) = path.pop() {
            let level = self.height - path.len() as u16;
            let node = self.node(page, level)?;
            let Some(at) = at.checked_add_signed(step).filter(|at| *at < node.count()) else {
                continue;
            };
            path.push((page, at));
            let mut page = node.child(at);
            for level in (1..level).rev() {
                let node = self.node(page, level)?;
                let at = if step > 0 { 0 } else { node.count() - 1 };
                path.push((page, at));
                page = node.child(at);
            }
            return Ok(Some(page));
        }
        Ok(None)
    }
}

fn damage(error: &nacre_pmem::Error) -> RunDamage {
    RunDamage(error.to_string())
}
