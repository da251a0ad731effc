//! The files of a database, damaged or cut.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| nacre_fuzz::store_directory(data));
