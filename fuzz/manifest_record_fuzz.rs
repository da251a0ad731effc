//! A manifest record of any payload, with a right checksum.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| nacre_fuzz::manifest_record(data));
