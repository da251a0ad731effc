//! The tree itself: creating, opening, and what readers and the writer share.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::inner::{Inner, Place};
use super::leaf::{self, Damage, Leaf};
use super::link::{LINK_BYTES, LeafRef, Link};
use super::list::LeafList;
use super::mend;
use crate::error::{Error, ErrorKind, Result};
use crate::heap::Heap;
use crate::set::PoolSet;

const MAGIC: [u8; 8] = *b"NACREKV\0";
const VERSION: u32 = 3;
const CRC_OFFSET: usize = 12;
/// Bytes of the header that its checksum covers, and the checksum.
const CHECKED_BYTES: usize = 16;
/// Bytes of the header: the link to the first leaf is behind the checksum.
const HEADER_BYTES: usize = CHECKED_BYTES + LINK_BYTES;

/// A persistent map from keys to values, ordered by the bytes of the keys.
///
/// Keys have up to [`KEY_BYTES_MAX`](super::KEY_BYTES_MAX) bytes, values up to
/// [`VALUE_BYTES_MAX`](super::VALUE_BYTES_MAX). When the data area is full, [`HybridTree::grow`]
/// extends it.
///
/// A value of up to 8 bytes is replaced in place by one store and has no checksum: bits that flip
/// in it on media are returned as they are, unless [`PoolSet::scrub_step`] finds that the members
/// differ. Keys and longer values are verified when they are read; what is damaged in one member is
/// read from another and repaired when somebody writes next.
///
/// ```
/// use nacre_pmem::structure::HybridTree;
/// use nacre_pmem::{Domain, PoolSet, PoolSetOptions};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// let domains = [Domain::create("main", directory.path())?];
/// let set = PoolSet::create("map", &domains, &PoolSetOptions::new(1 << 20))?;
/// let tree = HybridTree::create(set)?;
/// tree.insert(b"pearl", b"7 mm")?;
/// assert_eq!(tree.get(b"pearl")?.as_deref(), Some(&b"7 mm"[..]));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct HybridTree {
    state: RwLock<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) set: PoolSet,
    pub(super) heap: Heap,
    pub(super) inner: Inner,
    /// Offset of the header.
    pub(super) header: u64,
    /// Live entries.
    pub(super) count: u64,
}

impl HybridTree {
    /// Creates an empty tree that takes the whole data area of `set`.
    ///
    /// # Errors
    /// `AlreadyExists` if the set holds a tree, or another heap in use; `HeapFull` if the data area
    /// is too small; as for [`PoolSet::transaction`].
    pub fn create(mut set: PoolSet) -> Result<HybridTree> {
        let mut heap = Heap::create(&mut set)?;
        let (header, leaf, used) = set.transaction(|tx| {
            let header = heap.alloc(tx, HEADER_BYTES as u64)?.offset;
            let leaf = LeafRef::new(heap.alloc(tx, leaf::leaf_bytes(0))?.offset, 0);
            let (bytes, used) = leaf::build(leaf, 0, std::iter::empty(), 0);
            tx.write_new(leaf.offset(), &bytes)?;
            tx.write_new(header, &encode_header(header, leaf))?;
            heap.set_root(tx, header)?;
            Ok((header, leaf, used))
        })?;
        let inner = Inner::new(Place { leaf, used });
        Ok(HybridTree::of(State { set, heap, inner, header, count: 0 }))
    }

    /// Opens the tree in `set` and rebuilds its inner nodes from the leaves.
    ///
    /// Takes time by the number of keys. Leaves that a crash left empty are taken out.
    ///
    /// # Errors
    /// `Foreign` if the set holds no tree, `TooNew`, `Unsupported` for one of an older version,
    /// `Corrupt` if the header, the list of leaves or
    /// a leaf is damaged; as for [`Heap::open`].
    pub fn open(mut set: PoolSet) -> Result<HybridTree> {
        let heap = Heap::open(&mut set)?;
        let Some(header) = heap.root(&set)? else {
            let problem = "its heap has no root, so it holds no hybrid tree";
            return Err(Error::new(ErrorKind::Foreign, "pool set", problem, "check its name"));
        };
        let head = check_header(&set, header)?;
        let list = LeafList::read(&set, head_link(header), head)?;
        let inner = Inner::bulk(list.first, list.others);
        if set.has_damaged_ranges() && set.is_writable() {
            // Who reads there meets the damage again if this fails.
            let _ = set.repair_damaged();
        }
        let mut state = State { set, heap, inner, header, count: list.count };
        for (link, leaf, next) in list.empty {
            match state.unlink(link, leaf, next) {
                // Nobody will insert, so it is enough that the inner nodes do not know the leaf.
                Err(error) if error.kind() == ErrorKind::ReadOnly => break,
                unlinked => unlinked?,
            }
        }
        Ok(HybridTree::of(state))
    }

    fn of(state: State) -> HybridTree {
        HybridTree { state: RwLock::new(state) }
    }

    /// Returns the number of keys.
    pub fn len(&self) -> u64 {
        self.read().count
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of leaves.
    pub fn leaf_count(&self) -> usize {
        self.read().inner.leaf_count()
    }

    /// Lets `body` use the pool set, for instance to add a replica, while nobody else uses the
    /// tree. The bytes of the data area belong to the tree.
    pub fn with_set<T>(&self, body: impl FnOnce(&mut PoolSet) -> T) -> T {
        body(&mut self.write().set)
    }

    /// Extends the data area of the pool set to `data_bytes` bytes in every member, and lets the
    /// tree use what it grew by: the way out of `HeapFull`. A set that is large enough already
    /// stays as it is. A tree grows up to 16 times the data area it was created in, 16 MiB at
    /// least; what the set has beyond that is not used.
    ///
    /// # Errors
    /// As for [`PoolSet::grow`] and [`Heap::grow`]; the tree goes on as before.
    pub fn grow(&self, data_bytes: u64) -> Result<()> {
        let mut state = self.write();
        let State { set, heap, .. } = &mut *state;
        set.grow(data_bytes)?;
        heap.grow(set)?;
        Ok(())
    }

    /// Ends the use of the tree and returns the pool set.
    pub fn into_set(self) -> PoolSet {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).set
    }

    /// The lock of readers. A writer that panicked left the leaves as a crash would have; what it
    /// does to the inner nodes cannot panic in between.
    #[inline]
    pub(super) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.set.has_damaged_ranges() {
            // Who reads there meets the damage again if this fails.
            let _ = state.set.repair_damaged();
        }
        state
    }
}

impl State {
    /// Runs `body` on the bytes of a leaf.
    #[inline]
    pub(super) fn with_leaf<T>(&self, leaf: LeafRef, body: impl Fn(Leaf<'_>) -> T) -> Result<T> {
        with_leaf(&self.set, leaf, body)
    }

    /// Runs `body` on the bytes of a leaf in one member after the other until it finds no damage.
    #[inline]
    pub(super) fn with_whole_leaf<T>(
        &self,
        leaf: LeafRef,
        body: impl Fn(Leaf<'_>) -> std::result::Result<T, Damage>,
    ) -> Result<T> {
        with_whole_leaf(&self.set, leaf, body)?.map_err(|damage| damage.at(leaf))
    }

    /// Repairs the parts of a leaf in which damage was found that are whole in some member.
    ///
    /// # Errors
    /// As for [`PoolSet::repair_damaged`].
    #[cold]
    #[inline(never)]
    pub(super) fn heal(&mut self, leaf: LeafRef) -> Result<()> {
        mend::whole_copy(&self.set, leaf)?;
        self.set.repair_damaged().map(drop)
    }

    /// Returns the first leaf.
    pub(super) fn head(&self) -> Result<LeafRef> {
        check_header(&self.set, self.header)
    }
}

#[inline]
pub(super) fn with_leaf<T>(
    set: &PoolSet,
    leaf: LeafRef,
    body: impl Fn(Leaf<'_>) -> T,
) -> Result<T> {
    set.read_with(leaf.offset(), leaf.bytes(), |bytes| body(Leaf::new(bytes, leaf.class())))
}

/// As [`with_leaf`], and on an error of `body` once more with a copy that is put together from what
/// is whole in any good member.
#[inline]
pub(super) fn with_whole_leaf<T, E>(
    set: &PoolSet,
    leaf: LeafRef,
    body: impl Fn(Leaf<'_>) -> std::result::Result<T, E>,
) -> Result<std::result::Result<T, E>> {
    match with_leaf(set, leaf, &body)? {
        Ok(value) => Ok(Ok(value)),
        Err(error) => with_mended_leaf(set, leaf, error, body),
    }
}

#[cold]
#[inline(never)]
fn with_mended_leaf<T, E>(
    set: &PoolSet,
    leaf: LeafRef,
    error: E,
    body: impl Fn(Leaf<'_>) -> std::result::Result<T, E>,
) -> Result<std::result::Result<T, E>> {
    let copy = mend::whole_copy(set, leaf)?;
    let found = copy.and_then(|copy| body(Leaf::new(&copy, leaf.class())).ok());
    Ok(found.ok_or(error))
}

/// Returns the link to the first leaf, in the header at offset `header`.
pub(super) fn head_link(header: u64) -> Link {
    Link::in_header(header, CHECKED_BYTES as u64)
}

fn encode_header(offset: u64, first: LeafRef) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..CRC_OFFSET].copy_from_slice(&VERSION.to_le_bytes());
    let crc = crc32c::crc32c(&header[..CRC_OFFSET]);
    header[CRC_OFFSET..CHECKED_BYTES].copy_from_slice(&crc.to_le_bytes());
    header[CHECKED_BYTES..].copy_from_slice(&head_link(offset).encode(first.word()));
    header
}

/// Returns the first leaf.
fn check_header(set: &PoolSet, offset: u64) -> Result<LeafRef> {
    set.read_verified(offset, HEADER_BYTES as u64, |bytes| decode_header(offset, bytes))?
}

/// Returns the leaf that a header, which lies at `offset`, names.
fn decode_header(offset: u64, header: &[u8]) -> Result<LeafRef> {
    let error = |kind, problem: String, remedy| {
        Error::new(kind, format!("hybrid tree at offset {offset}"), problem, remedy)
    };
    let rebuild = "rebuild the pool from a replica";
    if header[..8] != MAGIC {
        let problem = format!("magic {:02x?} is none of a hybrid tree", &header[..8]);
        return Err(error(ErrorKind::Foreign, problem, "check the name of the pool set"));
    }
    let crc = crc32c::crc32c(&header[..CRC_OFFSET]).to_le_bytes();
    if header[CRC_OFFSET..CHECKED_BYTES] != crc {
        let stored = &header[CRC_OFFSET..CHECKED_BYTES];
        let problem = format!("header checksum {stored:02x?} does not match {crc:02x?}");
        return Err(error(ErrorKind::Corrupt, problem, rebuild));
    }
    let version = header[8..CRC_OFFSET].iter().rev().fold(0, |n, &b| n << 8 | u32::from(b));
    if version != VERSION {
        let problem = format!("version {version}, but this software knows {VERSION}");
        return Err(match version > VERSION {
            true => error(ErrorKind::TooNew, problem, "use a newer version"),
            false => error(ErrorKind::Unsupported, problem, "use the version that wrote it"),
        });
    }
    let word = head_link(offset).decode(&header[CHECKED_BYTES..]);
    word.and_then(LeafRef::from_word).ok_or_else(|| {
        let problem = "its link to the first leaf is none".to_string();
        error(ErrorKind::Corrupt, problem, rebuild)
    })
}
