//! The segments of a redo log, damaged.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| nacre_fuzz::redo_log(data));
