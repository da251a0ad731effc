//! What clients send: the message that begins a connection, and those that follow, cut anywhere.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nacre_server::{decode_frames, decode_opening};

fuzz_target!(|bytes: &[u8]| {
    decode_opening(bytes);
    // A limit that inputs of a fuzzer reach.
    decode_frames(bytes, 1 << 10);
});
