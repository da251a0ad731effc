//! The few functions of `libpmemobj` (version 1.12, `libpmemobj-dev`) that the adapter calls.
//!
//! Written by hand from the library's headers `libpmemobj/{base,pool_base,tx_base}.h`; names and
//! types are the library's own.

use std::ffi::{c_char, c_int, c_void};

/// `PMEMobjpool`; its insides are the library's.
#[repr(C)]
pub(super) struct PmemObjPool {
    _private: [u8; 0],
}

/// `PMEMoid`: an object's pool and its offset there.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct PmemOid {
    pub(super) pool_uuid_lo: u64,
    pub(super) off: u64,
}

/// `TX_PARAM_NONE`: ends the parameters of a transaction.
pub(super) const TX_PARAM_NONE: c_int = 0;

/// `TX_STAGE_NONE`: this thread has no transaction.
pub(super) const TX_STAGE_NONE: c_int = 0;

/// `TX_STAGE_WORK`: a transaction is in progress.
pub(super) const TX_STAGE_WORK: c_int = 1;

#[link(name = "pmemobj")]
unsafe extern "C" {
    pub(super) fn pmemobj_create(
        path: *const c_char,
        layout: *const c_char,
        pool_bytes: usize,
        mode: u32,
    ) -> *mut PmemObjPool;
    pub(super) fn pmemobj_close(pool: *mut PmemObjPool);
    pub(super) fn pmemobj_root(pool: *mut PmemObjPool, bytes: usize) -> PmemOid;
    pub(super) fn pmemobj_errormsg() -> *const c_char;

    pub(super) fn pmemobj_persist(pool: *mut PmemObjPool, address: *const c_void, bytes: usize);
    pub(super) fn pmemobj_memcpy_persist(
        pool: *mut PmemObjPool,
        destination: *mut c_void,
        source: *const c_void,
        bytes: usize,
    ) -> *mut c_void;

    pub(super) fn pmemobj_tx_begin(pool: *mut PmemObjPool, env: *mut c_void, ...) -> c_int;
    pub(super) fn pmemobj_tx_stage() -> c_int;
    pub(super) fn pmemobj_tx_add_range_direct(address: *const c_void, bytes: usize) -> c_int;
    pub(super) fn pmemobj_tx_alloc(bytes: usize, type_number: u64) -> PmemOid;
    pub(super) fn pmemobj_tx_free(object: PmemOid) -> c_int;
    pub(super) fn pmemobj_tx_abort(error_number: c_int);
    pub(super) fn pmemobj_tx_commit();
    pub(super) fn pmemobj_tx_process();
    pub(super) fn pmemobj_tx_end() -> c_int;
}
