//! Which addresses, files and domains are simulated, and by whom they are recorded.
//!
//! # Concurrency
//! Process-global: several explorers (tests in threads) run side by side. The registry is locked
//! for the look-up, the recorder for the event. A fence concerns the recorders that its thread
//! gave flushes or streaming stores to since its last fence.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::Store;
use super::recorder::Recorder;
use super::trace::{Event, FileIndex, How};

/// Number of recorders.
static RECORDERS: AtomicUsize = AtomicUsize::new(0);

static REGISTRY: RwLock<Registry> = RwLock::new(Registry {
    files: BTreeMap::new(),
    mappings: BTreeMap::new(),
    domains: BTreeMap::new(),
});

static THREADS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    // ORDERING: Relaxed, only the number itself is shared.
    static THREAD: u32 = THREADS.fetch_add(1, Ordering::Relaxed);
    /// Recorders that wait for a fence of this thread.
    static UNFENCED: RefCell<Vec<Arc<Recorder>>> = const { RefCell::new(Vec::new()) };
}

struct Registry {
    /// By inode number: all simulated files lie in the kernel's file system of memory files.
    files: BTreeMap<u64, Owner>,
    /// By first address.
    mappings: BTreeMap<usize, Range>,
    /// By the identity of a domain.
    domains: BTreeMap<usize, Owner>,
}

#[derive(Clone)]
struct Owner {
    recorder: Arc<Recorder>,
    index: usize,
}

struct Range {
    end: usize,
    offset: u64,
    owner: Owner,
}

pub(super) fn is_active() -> bool {
    // ORDERING: Relaxed, whoever simulates a pool opens it after the recorder was counted, on the
    // same thread or handed over by a lock.
    RECORDERS.load(Ordering::Relaxed) > 0
}

/// Lets `recorder` hear about the domains of these identities.
pub(super) fn register(recorder: &Arc<Recorder>, domains: impl Iterator<Item = usize>) {
    // ORDERING: Relaxed, see `is_active`.
    RECORDERS.fetch_add(1, Ordering::Relaxed);
    let mut registry = lock_mut();
    for (index, domain) in domains.enumerate() {
        registry.domains.insert(domain, Owner { recorder: Arc::clone(recorder), index });
    }
}

/// Forgets everything about `recorder`.
pub(super) fn unregister(recorder: &Arc<Recorder>) {
    // ORDERING: Relaxed, see `is_active`.
    RECORDERS.fetch_sub(1, Ordering::Relaxed);
    let mut registry = lock_mut();
    let is_other = |owner: &Owner| !Arc::ptr_eq(&owner.recorder, recorder);
    registry.domains.retain(|_, owner| is_other(owner));
    registry.files.retain(|_, owner| is_other(owner));
    registry.mappings.retain(|_, range| is_other(&range.owner));
}

/// Lets `recorder` hear about `file` under the number `index`.
pub(super) fn register_file(recorder: &Arc<Recorder>, file: &File, index: FileIndex) {
    if let Some(inode) = inode(file.as_fd()) {
        lock_mut().files.insert(inode, Owner { recorder: Arc::clone(recorder), index });
    }
}

/// Forgets the files of `recorder` from the number `first` on.
pub(super) fn forget_files(recorder: &Arc<Recorder>, first: FileIndex) {
    lock_mut()
        .files
        .retain(|_, owner| !Arc::ptr_eq(&owner.recorder, recorder) || owner.index < first);
}

/// Returns the number of `file`.
pub(super) fn file_index(file: &File) -> Option<FileIndex> {
    let inode = inode(file.as_fd())?;
    lock().files.get(&inode).map(|owner| owner.index)
}

pub(super) fn stored(address: *const u8, bytes: usize, how: Store) {
    if bytes == 0 {
        return;
    }
    let Some((owner, offset)) = find(address) else {
        return;
    };
    // SAFETY: the caller has just stored these bytes in a mapping that it holds, so they are mapped
    // and initialised; the slice ends here, before the caller lets anybody else change them.
    let source = unsafe { std::slice::from_raw_parts(address, bytes) };
    let thread = thread();
    owner.recorder.stored(owner.index, offset, source, How::Stored(how), thread);
    if how == Store::NonTemporal && owner.recorder.is_recording() {
        wait_for_fence(owner.recorder);
    }
}

pub(super) fn flushed(address: *const u8, bytes: usize) {
    if bytes == 0 {
        return;
    }
    if let Some((owner, offset)) = find(address) {
        let range = offset..offset + bytes as u64;
        let event = Event::Flush { file: owner.index, range, thread: thread() };
        if owner.recorder.note(event) {
            wait_for_fence(owner.recorder);
        }
    }
}

pub(super) fn fenced() {
    UNFENCED.with_borrow_mut(|recorders| {
        for recorder in recorders.drain(..) {
            recorder.note(Event::Fence { thread: thread() });
        }
    });
}

pub(super) fn synced(address: *const u8, bytes: usize) {
    if let Some((owner, offset)) = find(address) {
        let range = offset..offset + bytes as u64;
        owner.recorder.note(Event::Sync { file: owner.index, range });
    }
}

pub(super) fn mapped(file: BorrowedFd<'_>, offset: u64, address: *const u8, bytes: usize) {
    let Some(inode) = inode(file) else {
        return;
    };
    let mut registry = lock_mut();
    if let Some(owner) = registry.files.get(&inode).cloned() {
        let start = address as usize;
        registry.mappings.insert(start, Range { end: start + bytes, offset, owner });
    }
}

pub(super) fn unmapped(address: *const u8) {
    lock_mut().mappings.remove(&(address as usize));
}

pub(super) fn written(file: &File, offset: u64, source: &[u8]) {
    if let Some(owner) = owner(file) {
        owner.recorder.stored(owner.index, offset, source, How::Kernel, thread());
    }
}

pub(super) fn resized(file: &File) {
    if let Some(owner) = owner(file)
        && let Ok(metadata) = file.metadata()
    {
        owner.recorder.note(Event::Resized { file: owner.index, bytes: metadata.len() });
    }
}

pub(super) fn file_synced(file: &File) {
    if let Some(owner) = owner(file) {
        owner.recorder.note(Event::FileSynced { file: owner.index });
    }
}

pub(super) fn created(domain: usize, name: &str, file: &File) {
    if let Some(Owner { recorder, index }) = domain_owner(domain) {
        let file_index = recorder.add_file();
        register_file(&recorder, file, file_index);
        recorder.note(Event::Created { domain: index, name: name.to_string(), file: file_index });
    }
}

pub(super) fn renamed(domain: usize, from: &str, to: &str) {
    if let Some(Owner { recorder, index }) = domain_owner(domain) {
        let (from, to) = (from.to_string(), to.to_string());
        recorder.note(Event::Renamed { domain: index, from, to });
    }
}

pub(super) fn removed(domain: usize, name: &str) {
    if let Some(Owner { recorder, index }) = domain_owner(domain) {
        recorder.note(Event::Removed { domain: index, name: name.to_string() });
    }
}

pub(super) fn directory_synced(domain: usize) {
    if let Some(Owner { recorder, index }) = domain_owner(domain) {
        recorder.note(Event::DirectorySynced { domain: index });
    }
}

fn wait_for_fence(recorder: Arc<Recorder>) {
    UNFENCED.with_borrow_mut(|recorders| {
        if !recorders.iter().any(|known| Arc::ptr_eq(known, &recorder)) {
            recorders.push(recorder);
        }
    });
}

/// Returns who records the mapping at `address`, and the offset in its file.
fn find(address: *const u8) -> Option<(Owner, u64)> {
    let address = address as usize;
    let registry = lock();
    let (start, range) = registry.mappings.range(..=address).next_back()?;
    let offset = range.offset + (address - start) as u64;
    (address < range.end).then(|| (range.owner.clone(), offset))
}

fn owner(file: &File) -> Option<Owner> {
    let inode = inode(file.as_fd())?;
    lock().files.get(&inode).cloned()
}

fn domain_owner(domain: usize) -> Option<Owner> {
    lock().domains.get(&domain).cloned()
}

fn inode(file: BorrowedFd<'_>) -> Option<u64> {
    rustix::fs::fstat(file).ok().map(|state| state.st_ino)
}

fn thread() -> u32 {
    THREAD.with(|&thread| thread)
}

fn lock() -> RwLockReadGuard<'static, Registry> {
    REGISTRY.read().unwrap_or_else(PoisonError::into_inner)
}

fn lock_mut() -> RwLockWriteGuard<'static, Registry> {
    REGISTRY.write().unwrap_or_else(PoisonError::into_inner)
}
