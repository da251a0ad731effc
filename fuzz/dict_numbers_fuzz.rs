//! Numbers in format dict: decoded to what was encoded, and under damage.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| nacre_fuzz::numbers(nacre_fuzz::Format::Dictionary, data));
