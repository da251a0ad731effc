//! Ranks formats for a block by what they would take.

use super::ALIGNMENT;
use crate::Format;
use crate::format::static_bp;

/// Returns the formats for `rows` keys of `width` bits, best first.
///
/// Plain wins a tie, since it needs no decoding; booleans are always packed.
pub(super) fn rank_keys(
    rows: usize,
    width: usize,
    plain_bytes: usize,
    is_boolean: bool,
) -> Vec<Format> {
    let packed = static_bp::packed_bytes(rows, width).next_multiple_of(ALIGNMENT);
    if is_boolean || packed < plain_bytes.next_multiple_of(ALIGNMENT) {
        vec![Format::StaticBp, Format::Plain]
    } else {
        vec![Format::Plain, Format::StaticBp]
    }
}
