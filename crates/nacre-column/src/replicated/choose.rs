//! Which replica of a block suits a reader best.
//!
//! A reader that hops over rows wants a format that finds a row without decoding those before it;
//! then memory counts before files, and a near node before a far one. Among equals the estimated
//! time decides: bytes through the medium, shared with those who read there now, and values
//! through the decoder.
//!
//! # Source
//! [Zarubin22 4.2.2] read access: a decision tree over what is known of the replicas and the
//! caller's hint. Differs: the current load counts, which the dissertation leaves to later work.

use nacre_pmem::DomainKind;

use crate::Format;

/// How a reader will go through a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessHint {
    /// All rows, or most of them, in order.
    Sequential,
    /// Few rows, anywhere.
    Random,
}

/// A replica that could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What kind of memory it lies in.
    pub kind: DomainKind,
    /// NUMA node of that memory, if it is known.
    pub node: Option<u32>,
    /// Its format, if it is known.
    pub format: Option<Format>,
    pub rows: u32,
    pub bytes: u64,
    /// How many readers its domain has now.
    pub readers: u32,
}

/// Returns the number of the best of `candidates`, the first of equals; `None` if there is none.
///
/// `local_node` is the node of the calling thread, if that matters.
#[inline]
pub fn choose(
    candidates: impl IntoIterator<Item = (usize, Candidate)>,
    hint: AccessHint,
    local_node: Option<u32>,
) -> Option<usize> {
    let mut best: Option<(usize, (bool, bool, bool, u64))> = None;
    for (number, candidate) in candidates {
        let rank = candidate.rank(hint, local_node);
        if best.is_none_or(|(_, least)| rank < least) {
            best = Some((number, rank));
        }
    }
    best.map(|(number, _)| number)
}

impl Candidate {
    /// Orders replicas: the least is read.
    fn rank(&self, hint: AccessHint, local_node: Option<u32>) -> (bool, bool, bool, u64) {
        let is_random = hint == AccessHint::Random;
        let decodes_all = is_random && self.format.is_some_and(|format| !format.is_random_access());
        let is_far = self.node.zip(local_node).is_some_and(|(node, local)| node != local);
        (decodes_all, self.kind != DomainKind::Dram, is_far, self.cost_ps(hint))
    }

    /// Estimates the time of reading, in picoseconds.
    fn cost_ps(&self, hint: AccessHint) -> u64 {
        let decoder = self.format.map_or(DecoderCost { value_ps: 0, byte_ps: 0 }, DecoderCost::of);
        let decode = decoder.value_ps * u64::from(self.rows) + decoder.byte_ps * self.bytes;
        match hint {
            AccessHint::Sequential => {
                let sharers = u64::from(self.readers) + 1;
                self.bytes * ps_of_byte(self.kind) * sharers + decode
            }
            // Few bytes are touched: what counts is the work for a row.
            AccessHint::Random => decode * (u64::from(self.readers) + 1),
        }
    }
}

/// Picoseconds that a byte takes through the medium: 10 GB/s of DRAM for a thread, and half of it
/// for memory that is slower to read.
fn ps_of_byte(kind: DomainKind) -> u64 {
    match kind {
        DomainKind::Dram | DomainKind::Shm | DomainKind::File => 100,
        DomainKind::Pmem => 200,
    }
}

/// Picoseconds that a decoder takes which has its bytes in a cache; only the order matters, and
/// that a format that is half as large may take longer.
#[derive(Clone, Copy, Debug)]
struct DecoderCost {
    value_ps: u64,
    /// For each encoded byte: FSST takes about 290 instructions for a string of 50 bytes.
    byte_ps: u64,
}

impl DecoderCost {
    fn of(format: Format) -> Self {
        let (value_ps, byte_ps) = match format {
            Format::Plain => (0, 0),
            Format::Rle => (50, 0),
            Format::StaticBp | Format::DynamicBp | Format::SimdBp128 | Format::ForBp => (100, 0),
            Format::Dictionary => (200, 0),
            Format::SimdFastPfor | Format::DeltaBp => (250, 0),
            Format::Fsst => (1_000, 2_000),
            Format::Lz4Fast | Format::Lz4 | Format::Lz4High => (1_500, 1_000),
            Format::Snappy => (2_000, 1_000),
        };
        Self { value_ps, byte_ps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(kind: DomainKind, node: u32, format: Format, bytes: u64) -> Candidate {
        Candidate { kind, node: Some(node), format: Some(format), rows: 65_536, bytes, readers: 0 }
    }

    fn pick(candidates: &[Candidate], hint: AccessHint) -> Option<usize> {
        choose(candidates.iter().copied().enumerate(), hint, Some(0))
    }

    #[test]
    fn sequential_reader_takes_the_smaller_of_two_light_formats() {
        let replicas = [
            candidate(DomainKind::Pmem, 0, Format::StaticBp, 262_144),
            candidate(DomainKind::Pmem, 0, Format::DynamicBp, 70_000),
        ];
        assert_eq!(pick(&replicas, AccessHint::Sequential), Some(1));
        assert_eq!(pick(&replicas, AccessHint::Random), Some(0));
    }

    #[test]
    fn random_reader_avoids_formats_that_decode_from_the_start() {
        let replicas = [
            candidate(DomainKind::Dram, 0, Format::Lz4, 10_000),
            candidate(DomainKind::File, 1, Format::DynamicBp, 70_000),
        ];
        assert_eq!(pick(&replicas, AccessHint::Random), Some(1));
        assert_eq!(pick(&replicas, AccessHint::Sequential), Some(0), "memory first");
    }

    #[test]
    fn long_strings_are_copied_rather_than_decoded_if_memory_is_fast() {
        let replicas = [
            candidate(DomainKind::File, 0, Format::Plain, 54 * 65_536),
            candidate(DomainKind::File, 0, Format::Fsst, 25 * 65_536),
        ];
        assert_eq!(pick(&replicas, AccessHint::Sequential), Some(0));
        assert_eq!(pick(&replicas, AccessHint::Random), Some(0));
        let busy = Candidate { readers: 20, ..replicas[0] };
        assert_eq!(pick(&[busy, replicas[1]], AccessHint::Sequential), Some(1));
    }

    #[test]
    fn near_node_comes_before_the_smaller_format() {
        let replicas = [
            candidate(DomainKind::Pmem, 1, Format::DynamicBp, 70_000),
            candidate(DomainKind::Pmem, 0, Format::StaticBp, 262_144),
        ];
        assert_eq!(pick(&replicas, AccessHint::Sequential), Some(1));
        let far = choose(replicas.into_iter().enumerate(), AccessHint::Sequential, Some(1));
        assert_eq!(far, Some(0));
    }

    #[test]
    fn busy_domain_is_left_to_those_who_read_there() {
        let mut replicas = [candidate(DomainKind::Pmem, 0, Format::Plain, 524_288); 2];
        assert_eq!(pick(&replicas, AccessHint::Sequential), Some(0));
        replicas[0].readers = 3;
        assert_eq!(pick(&replicas, AccessHint::Sequential), Some(1));
        assert_eq!(pick(&[], AccessHint::Sequential), None);
    }
}
