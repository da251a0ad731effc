//! What fuzzers call.

use super::frames::{Frames, OPENING_BYTES_MAX};
use super::frontend;

/// Decodes frames as a server does, for fuzzing; the result tells whether all were well formed.
pub fn decode_frames(bytes: &[u8], message_bytes_max: usize) -> bool {
    let mut frames = Frames::new(message_bytes_max);
    frames.push(bytes);
    loop {
        match frames.next() {
            Ok(None) => return true,
            Ok(Some(frame)) => {
                if frontend::decode(frame).is_err() {
                    return false;
                }
            }
            Err(_) => return false,
        }
    }
}

/// Decodes what a connection begins with, for fuzzing.
pub fn decode_opening(bytes: &[u8]) -> bool {
    let mut frames = Frames::new(OPENING_BYTES_MAX);
    frames.push(bytes);
    match frames.next_opening() {
        Ok(Some(body)) => frontend::Opening::decode(body).is_ok(),
        Ok(None) => true,
        Err(_) => false,
    }
}
