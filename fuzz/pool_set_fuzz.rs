//! The members of a pool set, damaged.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| nacre_fuzz::pool_set(data));
