//! Size classes: how large the extents of a group are, and how many spans a group has.

/// Bytes of a span.
pub(super) const SPAN_BYTES: u64 = 16 << 10;
/// Extents of a group at most: the bits of a line.
pub(super) const GROUP_EXTENTS_MAX: usize = 384;
/// Spans of a group at most.
const GROUP_SPANS_MAX: u32 = 8;
/// Largest size that comes from a group.
pub(super) const SMALL_BYTES_MAX: u64 = 32 << 10;
/// Number of classes: 8 multiples of 64, then 4 in each of the 6 doublings up to 32 KiB.
pub(super) const CLASS_COUNT: usize = 8 + 4 * 6;

/// Shape of the groups of one size class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// Bytes of an extent.
    pub(super) extent_bytes: u64,
    /// Spans of a group.
    pub(super) spans: u32,
    /// Extents of a group.
    pub(super) extents: u32,
}

/// All classes, smallest first.
pub(super) const CLASSES: [Class; CLASS_COUNT] = classes();

const fn classes() -> [Class; CLASS_COUNT] {
    let mut classes = [Class { extent_bytes: 0, spans: 0, extents: 0 }; CLASS_COUNT];
    let mut index = 0;
    while index < CLASS_COUNT {
        let extent_bytes = if index < 8 {
            64 * (index as u64 + 1)
        } else {
            let doubling = (index - 8) / 4;
            let quarter = (index - 8) % 4;
            (128 << doubling) * (5 + quarter as u64)
        };
        classes[index] = class(extent_bytes);
        index += 1;
    }
    classes
}

/// Takes the fewest spans that hold 4 extents and waste at most a sixteenth.
const fn class(extent_bytes: u64) -> Class {
    let mut spans = 1;
    loop {
        let bytes = spans as u64 * SPAN_BYTES;
        let extents = bytes / extent_bytes;
        let wasted = bytes - extents * extent_bytes;
        if extents >= 4 && wasted * 16 <= bytes {
            assert!(extents <= GROUP_EXTENTS_MAX as u64, "a line has a bit for each extent");
            assert!(spans <= GROUP_SPANS_MAX, "a group is small");
            return Class { extent_bytes, spans, extents: extents as u32 };
        }
        spans += 1;
    }
}

/// Returns the smallest class for `bytes`, which is 1 to [`SMALL_BYTES_MAX`].
pub(super) fn class_of(bytes: u64) -> usize {
    if bytes <= 512 {
        return (bytes.max(1) as usize).div_ceil(64) - 1;
    }
    // 512 << doubling < bytes <= 1024 << doubling.
    let doubling = ((bytes - 1) / 512).ilog2();
    let quarter = (bytes - (512 << doubling)).div_ceil(128 << doubling) - 1;
    8 + 4 * doubling as usize + quarter as usize
}

/// Returns how many spans a large extent takes.
pub(super) fn large_spans(bytes: u64) -> u64 {
    bytes.div_ceil(SPAN_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_gets_the_smallest_class_that_holds_it() {
        assert_eq!(CLASSES[CLASS_COUNT - 1].extent_bytes, SMALL_BYTES_MAX);
        for bytes in 1..=SMALL_BYTES_MAX {
            let class = class_of(bytes);
            assert!(CLASSES[class].extent_bytes >= bytes, "{bytes}");
            assert!(class == 0 || CLASSES[class - 1].extent_bytes < bytes, "{bytes}");
        }
    }

    #[test]
    fn extents_are_whole_lines_and_a_fifth_larger_at_most() {
        for pair in CLASSES.windows(2) {
            assert!(pair[1].extent_bytes.is_multiple_of(64));
            let is_dense = pair[1].extent_bytes * 4 <= pair[0].extent_bytes * 5;
            assert!(is_dense || pair[0].extent_bytes < 512, "{pair:?}");
        }
    }
}
