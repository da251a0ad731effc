//! A `libpmemobj` pool set, with the library's replication, behind safe functions.
//!
//! A pool set is a text file that names a part file for the master and for each replica; the
//! library keeps the replicas identical by its own mechanism. Every part is one file, so an
//! offset in the pool is the offset in each file.
//!
//! # Invariants
//! 1. An [`Object`] lies within the pool and was handed out by the library for its full size.
//! 2. A pool and its transactions stay on the thread that made the pool: the type is not `Send`.

use std::ffi::{CStr, CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr::{NonNull, null_mut};

use super::ffi;
use crate::error::{Error, Result};
use crate::replication::nacre::Place;

/// Bytes from which the library's own copy (non-temporal there) replaces store and persist.
const LIBRARY_COPY_BYTES_MIN: usize = 256;

/// Smallest part file that the library takes.
const POOL_BYTES_MIN: u64 = 8 << 20;

/// The layout's name in the pools.
const LAYOUT: &CStr = c"nacre-bench";

/// An open pool set of `libpmemobj`.
pub(super) struct PmdkPool {
    raw: NonNull<ffi::PmemObjPool>,
    /// The part files, the master's first.
    parts: Vec<PathBuf>,
}

/// A range that the library allocated in the pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object {
    oid: ffi::PmemOid,
    bytes: usize,
}

/// The calls that are allowed inside a transaction.
pub(super) struct PmdkTransaction<'a> {
    pool: &'a mut PmdkPool,
}

impl Object {
    /// Returns the object's offset in the pool and in each part file.
    pub(super) fn offset(&self) -> u64 {
        self.oid.off
    }

    /// Returns the object's size.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl PmdkPool {
    /// Creates a pool set with its files in a directory.
    pub(super) fn create(place: Place<'_>) -> Result<Self> {
        let Place { directory, name, pool_bytes, replicas, .. } = place;
        let pool_bytes = pool_bytes.max(POOL_BYTES_MIN).next_multiple_of(2 << 20);
        let mut text = String::from("PMEMPOOLSET\n");
        let mut parts = Vec::new();
        for index in 0..=replicas {
            let part = directory.join(format!("{name}.part{index}"));
            if index > 0 {
                text.push_str("REPLICA\n");
            }
            text.push_str(&format!("{pool_bytes} {}\n", part.display()));
            parts.push(part);
        }
        let set = directory.join(format!("{name}.set"));
        std::fs::write(&set, text).map_err(Error::io("write", &set))?;
        let path = CString::new(set.as_os_str().as_bytes())
            .map_err(|_| Error::Pmdk(format!("the path {} holds a zero byte", set.display())))?;
        // SAFETY: both strings end in a zero byte and outlive the call; size 0 is what the
        // library asks for if the path is that of a pool set file.
        let raw = unsafe { ffi::pmemobj_create(path.as_ptr(), LAYOUT.as_ptr(), 0, 0o600) };
        let raw = NonNull::new(raw).ok_or_else(|| failed("create a pool set"))?;
        Ok(Self { raw, parts })
    }

    /// Returns the part files, the master's first.
    pub(super) fn parts(&self) -> &[PathBuf] {
        &self.parts
    }

    /// Returns the root object, which the library allocates with zeros at the first call.
    pub(super) fn root(&mut self, bytes: usize) -> Result<Object> {
        // SAFETY: the pool is open as long as `self` lives.
        let oid = unsafe { ffi::pmemobj_root(self.raw.as_ptr(), bytes) };
        object(oid, bytes, "allocate the root object")
    }

    /// Stores bytes in an object and returns when they are durable in master and replicas.
    #[inline]
    pub(super) fn update(&mut self, object: &Object, at: usize, source: &[u8]) {
        let address = self.address(object, at, source.len());
        // SAFETY: `address` is valid for `source.len()` bytes (checked there); nobody else holds
        // a reference into the pool, since none is handed out but for the time of a call; the
        // library reads the range that was just stored, or copies it itself.
        unsafe {
            if source.len() >= LIBRARY_COPY_BYTES_MIN {
                let source_start = source.as_ptr().cast::<c_void>();
                let pool = self.raw.as_ptr();
                ffi::pmemobj_memcpy_persist(pool, address.cast(), source_start, source.len());
            } else {
                address.copy_from_nonoverlapping(source.as_ptr(), source.len());
                ffi::pmemobj_persist(self.raw.as_ptr(), address.cast(), source.len());
            }
        }
    }

    /// Runs `body` in a transaction: commits if it returns `Ok`, aborts if not.
    #[inline]
    pub(super) fn transaction<T>(
        &mut self,
        body: impl FnOnce(&mut PmdkTransaction<'_>) -> Result<T>,
    ) -> Result<T> {
        // SAFETY: the pool is open; without a jump buffer the library returns from every call, it
        // does not jump; the variable parameters end with TX_PARAM_NONE.
        let code =
            unsafe { ffi::pmemobj_tx_begin(self.raw.as_ptr(), null_mut(), ffi::TX_PARAM_NONE) };
        let begun = if code == 0 { Ok(()) } else { Err(failed("begin a transaction")) };
        let outcome = begun.and_then(|()| body(&mut PmdkTransaction { pool: self }));
        // SAFETY: this thread is inside the transaction begun above, and each call is made in the
        // stage that it asks for: abort and commit while it is at work, end at its end.
        unsafe {
            if ffi::pmemobj_tx_stage() == ffi::TX_STAGE_WORK {
                match outcome {
                    Ok(_) => ffi::pmemobj_tx_commit(),
                    Err(_) => ffi::pmemobj_tx_abort(0),
                }
            }
            let code = ffi::pmemobj_tx_end();
            while ffi::pmemobj_tx_stage() != ffi::TX_STAGE_NONE {
                ffi::pmemobj_tx_process();
            }
            finish(outcome, code)
        }
    }

    /// Returns the address of `bytes` bytes of an object, from `at` on.
    #[inline]
    fn address(&self, object: &Object, at: usize, bytes: usize) -> *mut u8 {
        assert!(
            at.checked_add(bytes).is_some_and(|end| end <= object.bytes),
            "{bytes} bytes at {at} of an object of {} bytes",
            object.bytes
        );
        // SAFETY: the library maps a pool from its first byte, so the sum stays inside the mapping:
        // the object's range does (invariant 1), and `at` and `bytes` lie within it (checked).
        unsafe { self.raw.as_ptr().cast::<u8>().add(object.oid.off as usize + at) }
    }
}

impl Drop for PmdkPool {
    fn drop(&mut self) {
        // SAFETY: the pool is open and not used after this; this thread has no transaction,
        // because `transaction` ends those that it begins, and a panic inside one ends the bench.
        unsafe { ffi::pmemobj_close(self.raw.as_ptr()) }
    }
}

impl PmdkTransaction<'_> {
    /// Stores bytes in an object, after a snapshot of the old ones.
    #[inline]
    pub(super) fn update(&mut self, object: &Object, at: usize, source: &[u8]) -> Result<()> {
        let address = self.pool.address(object, at, source.len());
        // SAFETY: `address` is valid for the range (checked there) and a transaction is at work.
        let code = unsafe { ffi::pmemobj_tx_add_range_direct(address.cast(), source.len()) };
        if code != 0 {
            return Err(failed("take a snapshot"));
        }
        // SAFETY: as above, and nobody holds a reference into the pool.
        unsafe { address.copy_from_nonoverlapping(source.as_ptr(), source.len()) };
        Ok(())
    }

    /// Allocates an object that exists once the transaction is committed.
    #[inline]
    pub(super) fn alloc(&mut self, bytes: usize) -> Result<Object> {
        // SAFETY: a transaction is at work.
        let oid = unsafe { ffi::pmemobj_tx_alloc(bytes, 0) };
        object(oid, bytes, "allocate an object")
    }

    /// Stores bytes in an object that this transaction allocated; no snapshot is needed.
    #[inline]
    pub(super) fn fill(&mut self, object: &Object, at: usize, source: &[u8]) {
        let address = self.pool.address(object, at, source.len());
        // SAFETY: `address` is valid for the range (checked there), which is not in use elsewhere.
        unsafe { address.copy_from_nonoverlapping(source.as_ptr(), source.len()) };
    }

    /// Frees an object once the transaction is committed.
    #[inline]
    pub(super) fn free(&mut self, object: Object) -> Result<()> {
        // SAFETY: a transaction is at work; the object was handed out by the library.
        match unsafe { ffi::pmemobj_tx_free(object.oid) } {
            0 => Ok(()),
            _ => Err(failed("free an object")),
        }
    }
}

#[inline]
fn object(oid: ffi::PmemOid, bytes: usize, action: &str) -> Result<Object> {
    if oid.off == 0 { Err(failed(action)) } else { Ok(Object { oid, bytes }) }
}

#[inline]
fn finish<T>(outcome: Result<T>, code: c_int) -> Result<T> {
    let value = outcome?;
    if code == 0 { Ok(value) } else { Err(failed("commit a transaction")) }
}

#[cold]
fn failed(action: &str) -> Error {
    // SAFETY: the library returns a string that ends in a zero byte and stays until this thread's
    // next call into it; it is copied here.
    let message = unsafe {
        let message = ffi::pmemobj_errormsg();
        if message.is_null() {
            String::new()
        } else {
            CStr::from_ptr(message).to_string_lossy().into_owned()
        }
    };
    Error::Pmdk(format!("libpmemobj cannot {action}: {message}"))
}
