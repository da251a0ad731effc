//! Strings in format lz4: decoded to what was encoded, and under damage.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| nacre_fuzz::strings(nacre_fuzz::Format::Lz4, data));
