//! Any bytes behind the first fields of a block's header.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| nacre_fuzz::any_block(data));
