//! LZ4 in three efforts, all of which write the LZ4 block format and share its decoder.
//!
//! | effort | match search |
//! |---|---|
//! | fast | one candidate, tried only where a key begins; steps grow soon after misses |
//! | standard | one candidate, tried at every byte |
//! | high | hash chains with up to [`CHAIN_MAX`] candidates, one byte of look-ahead |
//!
//! A piece compressed at a time has at most [`PIECE_BYTES`], so every earlier byte is in reach.
//!
//! # Layout
//! A sequence is a token (upper four bits: number of literals, lower: match length - 4; 15 means
//! that bytes follow which are added up to and including the first below 255), literals, a 16-bit
//! offset back, further length bytes. The last sequence has literals only, at least five; no
//! match begins in the last twelve bytes.
//!
//! # Source
//! [Zarubin22 section 3.3.1] LZ4, LZ4s (speed) and LZ4c (rate). Differs: the fast search knows the
//! width of a key.

use std::ops::Range;

use lz4_flex::block::get_maximum_output_size;

/// Most bytes of a piece.
pub(crate) const PIECE_BYTES: usize = 65_536;

/// Least bytes of a match.
const MATCH_MIN: usize = 4;

/// Bytes at the end that are always literals.
const LITERALS_LAST: usize = 5;

/// No match begins closer to the end than this.
const MATCH_START_MARGIN: usize = 12;

/// Candidates that the high effort looks at for one position.
const CHAIN_MAX: usize = 96;

/// A match this long is taken by the high effort without looking further.
const MATCH_GOOD: usize = 256;

/// The fast search steps at least this far, also through bytes and strings.
const FAST_STEP_MIN: usize = 2;

const SINGLE_HASH_BITS: u32 = 12;
const HIGH_HASH_BITS: u32 = 15;

/// How much work goes into the search for matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    Fast,
    Standard,
    High,
}

/// Compresses pieces; holds the tables of the match search.
pub(crate) struct Compressor {
    search: Search,
    buffer: Vec<u8>,
}

enum Search {
    Single(SingleCandidate),
    High(Chains),
}

impl Compressor {
    /// Makes a compressor of pieces that consist of keys of `stride` bytes.
    pub(crate) fn new(effort: Effort, stride: usize) -> Self {
        let search = match effort {
            Effort::Fast => Search::Single(SingleCandidate::new(stride.max(FAST_STEP_MIN), 6, 4)),
            Effort::Standard => Search::Single(SingleCandidate::new(1, 5, 6)),
            Effort::High => Search::High(Chains::new()),
        };
        Self { search, buffer: vec![0; get_maximum_output_size(PIECE_BYTES)] }
    }

    /// Compresses `piece`, of at most [`PIECE_BYTES`], in LZ4's block format.
    pub(crate) fn compress(&mut self, piece: &[u8]) -> &[u8] {
        debug_assert!(piece.len() <= PIECE_BYTES);
        let sequences = Sequences { out: &mut self.buffer, bytes: 0 };
        let bytes = match &mut self.search {
            Search::Single(search) => search.compress(piece, sequences),
            Search::High(chains) => compress_high(piece, chains, sequences),
        };
        &self.buffer[..bytes]
    }
}

/// Decompresses `bytes` over `out`; false if they are not exactly `out.len()` bytes compressed,
/// and then `out` holds anything.
pub(crate) fn decompress(bytes: &[u8], out: &mut [u8]) -> bool {
    lz4_flex::block::decompress_into(bytes, out).is_ok_and(|written| written == out.len())
}

/// Returns an upper bound of what `bytes` compressed bytes can hold.
pub(crate) fn decompressed_bytes_max(bytes: usize) -> usize {
    bytes.saturating_mul(255)
}

#[inline]
fn word(piece: &[u8], at: usize) -> u32 {
    piece[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[inline]
fn hash(word: u32, bits: u32) -> usize {
    (word.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
}

/// Returns how many bytes from `at` on equal those from `earlier` on, before `end`.
#[inline]
fn equal_bytes(piece: &[u8], earlier: usize, at: usize, end: usize) -> usize {
    let (left, right) = (&piece[earlier..end - (at - earlier)], &piece[at..end]);
    let mut equal = 0;
    for (left, right) in left.as_chunks::<8>().0.iter().zip(right.as_chunks::<8>().0) {
        let different = u64::from_le_bytes(*left) ^ u64::from_le_bytes(*right);
        if different != 0 {
            return equal + different.trailing_zeros() as usize / 8;
        }
        equal += 8;
    }
    equal + left[equal..].iter().zip(&right[equal..]).take_while(|(l, r)| l == r).count()
}

/// Sequences written one after the other. The buffer has room for any piece, see
/// [`get_maximum_output_size`]; what did not fit would be left out, and encoding verifies.
struct Sequences<'a> {
    out: &'a mut [u8],
    bytes: usize,
}

impl Sequences<'_> {
    #[inline]
    fn put_byte(&mut self, byte: u8) {
        if let Some(out) = self.out.get_mut(self.bytes) {
            *out = byte;
            self.bytes += 1;
        }
    }

    /// Appends what of a length does not fit the token.
    #[inline]
    fn put_length(&mut self, length: usize) {
        if let Some(mut rest) = length.checked_sub(15) {
            while rest >= 255 {
                self.put_byte(255);
                rest -= 255;
            }
            self.put_byte(rest as u8);
        }
    }

    /// Appends the bytes `literals` of `piece`.
    #[inline]
    fn put_literals(&mut self, piece: &[u8], literals: Range<usize>) {
        let out = &mut self.out[self.bytes..];
        self.bytes += literals.len();
        // Most are few: one store of 16 bytes, of which the rest is written over.
        match (piece[literals.start..].first_chunk::<16>(), out.first_chunk_mut::<16>()) {
            (Some(from), Some(to)) if literals.len() <= 16 => *to = *from,
            _ => out[..literals.len()].copy_from_slice(&piece[literals]),
        }
    }

    /// Appends one sequence: literals, then a match of `length` bytes `offset` bytes back.
    #[inline]
    fn put(&mut self, piece: &[u8], literals: Range<usize>, offset: usize, length: usize) {
        let length = length - MATCH_MIN;
        self.put_byte((literals.len().min(15) << 4 | length.min(15)) as u8);
        self.put_length(literals.len());
        self.put_literals(piece, literals);
        let [low, high] = (offset as u16).to_le_bytes();
        self.put_byte(low);
        self.put_byte(high);
        self.put_length(length);
    }

    /// Appends the last sequence, which has no match; returns the bytes of all.
    fn finish(mut self, piece: &[u8], literals: Range<usize>) -> usize {
        self.put_byte((literals.len().min(15) << 4) as u8);
        self.put_length(literals.len());
        self.put_literals(piece, literals);
        self.bytes
    }
}

/// The latest position with each hash is the one candidate for a match.
struct SingleCandidate {
    /// Bytes from one position that is tried to the next.
    step: usize,
    /// By how many bits a word is shifted so that only the bytes that are hashed are left. More
    /// than [`MATCH_MIN`] of them: shorter matches cost more than they save.
    unhashed_bits: u32,
    /// After this many misses in a row, as a power of two, the search steps one step further.
    skip_bits: usize,
    /// Latest position by hash.
    last: Box<[u16; 1 << SINGLE_HASH_BITS]>,
}

impl SingleCandidate {
    fn new(step: usize, hashed_bytes: u32, skip_bits: usize) -> Self {
        let unhashed_bits = 64 - hashed_bytes * 8;
        Self { step, unhashed_bits, skip_bits, last: Box::new([0; 1 << SINGLE_HASH_BITS]) }
    }

    /// Returns the hash and the first four bytes of what begins at `at`.
    #[inline(always)]
    fn look(&self, piece: &[u8], at: usize) -> (usize, u32) {
        let word = piece[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let product = (word << self.unhashed_bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((product >> (64 - SINGLE_HASH_BITS)) as usize, word as u32)
    }

    fn compress(&mut self, piece: &[u8], mut out: Sequences<'_>) -> usize {
        let Some(start_max) = piece.len().checked_sub(MATCH_START_MARGIN + 1) else {
            return out.finish(piece, 0..piece.len());
        };
        // All slots hold position 0, which is as good as any other: what lies there is compared.
        self.last.fill(0);
        let (step, skip_bits) = (self.step, self.skip_bits);
        let end = piece.len() - LITERALS_LAST;
        let (mut anchor, mut at, mut misses) = (0, step, 0);
        while at <= start_max {
            let (slot, here) = self.look(piece, at);
            let mut earlier = usize::from(self.last[slot]);
            self.last[slot] = at as u16;
            if word(piece, earlier) != here {
                misses += 1;
                at += step * (1 + (misses >> skip_bits));
                continue;
            }
            misses = 0;
            let mut start = at;
            while start > anchor && earlier > 0 && piece[start - 1] == piece[earlier - 1] {
                start -= 1;
                earlier -= 1;
            }
            let length = equal_bytes(piece, earlier, start, end);
            out.put(piece, anchor..start, start - earlier, length);
            anchor = start + length;
            at = anchor.next_multiple_of(step);
            let inside = at - step;
            if inside > 0 && inside <= start_max {
                let (slot, _) = self.look(piece, inside);
                self.last[slot] = inside as u16;
            }
        }
        out.finish(piece, anchor..piece.len())
    }
}

/// Positions with the same hash, latest first.
struct Chains {
    /// Latest position + 1 by hash; 0 is none.
    heads: Vec<u32>,
    /// Position + 1 before each position in its chain; 0 is none.
    links: Vec<u32>,
    /// Positions below this are in the chains.
    known: usize,
}

/// A match found: where it begins again, and its bytes.
#[derive(Clone, Copy)]
struct Match {
    earlier: usize,
    length: usize,
}

impl Chains {
    fn new() -> Self {
        Self { heads: vec![0; 1 << HIGH_HASH_BITS], links: vec![0; PIECE_BYTES], known: 0 }
    }

    fn clear(&mut self) {
        self.heads.fill(0);
        self.known = 0;
    }

    /// Enters all positions below `at`.
    fn enter_until(&mut self, piece: &[u8], at: usize) {
        for position in self.known..at {
            let head = &mut self.heads[hash(word(piece, position), HIGH_HASH_BITS)];
            self.links[position] = *head;
            *head = position as u32 + 1;
        }
        self.known = self.known.max(at);
    }

    /// Returns the longest of the latest matches at `at`, if longer than `length_min - 1`.
    fn longest(&self, piece: &[u8], at: usize, end: usize, length_min: usize) -> Option<Match> {
        let mut best: Option<Match> = None;
        let mut wanted = length_min.max(MATCH_MIN);
        let mut next = self.heads[hash(word(piece, at), HIGH_HASH_BITS)];
        for _ in 0..CHAIN_MAX {
            let Some(earlier) = next.checked_sub(1).map(|position| position as usize) else {
                break;
            };
            next = self.links[earlier];
            // The byte that would make it longer tells most candidates apart.
            let decides = wanted - 1;
            if at + decides >= end || piece[earlier + decides] != piece[at + decides] {
                continue;
            }
            let length = equal_bytes(piece, earlier, at, end);
            if length >= wanted {
                best = Some(Match { earlier, length });
                wanted = length + 1;
                if length >= MATCH_GOOD {
                    break;
                }
            }
        }
        best
    }
}

fn compress_high(piece: &[u8], chains: &mut Chains, mut out: Sequences<'_>) -> usize {
    let Some(start_max) = piece.len().checked_sub(MATCH_START_MARGIN + 1) else {
        return out.finish(piece, 0..piece.len());
    };
    chains.clear();
    let end = piece.len() - LITERALS_LAST;
    let (mut anchor, mut at) = (0, 0);
    while at <= start_max {
        chains.enter_until(piece, at);
        let Some(mut found) = chains.longest(piece, at, end, MATCH_MIN) else {
            at += 1;
            continue;
        };
        // A literal more is worth it if the match after it is longer by more than one byte.
        while found.length < MATCH_GOOD && at < start_max {
            chains.enter_until(piece, at + 1);
            let Some(later) = chains.longest(piece, at + 1, end, found.length + 2) else {
                break;
            };
            found = later;
            at += 1;
        }
        out.put(piece, anchor..at, at - found.earlier, found.length);
        at += found.length;
        anchor = at;
    }
    out.finish(piece, anchor..piece.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EFFORTS: [Effort; 3] = [Effort::Fast, Effort::Standard, Effort::High];

    fn compress(effort: Effort, stride: usize, piece: &[u8]) -> Vec<u8> {
        let mut compressor = Compressor::new(effort, stride);
        // Twice, since the tables are used again.
        compressor.compress(&piece[piece.len() / 2..]);
        compressor.compress(piece).to_vec()
    }

    /// Pieces from constant to random, with every kind of match length between.
    fn pieces() -> Vec<Vec<u8>> {
        let mut state = 1_u64;
        let mut random = move |bound: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 33) % bound
        };
        let mut pieces = Vec::new();
        for length in [0, 1, 4, 5, 12, 13, 14, 17, 64, 300, 5_000, PIECE_BYTES - 1, PIECE_BYTES] {
            for alphabet in [1, 2, 7, 256] {
                pieces.push((0..length).map(|_| random(alphabet) as u8).collect());
            }
            let mut repeated: Vec<u8> = Vec::new();
            while repeated.len() < length {
                let start = random(1 + repeated.len() as u64) as usize;
                let count = (random(600) as usize).min(repeated.len() - start);
                repeated.extend_from_within(start..start + count);
                repeated.push(random(256) as u8);
            }
            repeated.truncate(length);
            pieces.push(repeated);
        }
        pieces
    }

    #[test]
    fn every_effort_writes_what_the_decoder_reads() {
        for piece in pieces() {
            for effort in EFFORTS {
                for stride in [1, 2, 4, 8] {
                    let bytes = compress(effort, stride, &piece);
                    let mut out = vec![0xaa; piece.len()];
                    assert!(decompress(&bytes, &mut out), "{effort:?} {} bytes", piece.len());
                    assert!(out == piece, "{effort:?} stride {stride} {} bytes", piece.len());
                    assert!(piece.len() <= decompressed_bytes_max(bytes.len()));
                }
            }
        }
    }

    #[test]
    fn more_effort_takes_fewer_bytes_on_repeated_text() {
        let text: Vec<u8> = (0..PIECE_BYTES as u32)
            .flat_map(|i| format!("{} furiously {} ", i % 97, i * i % 13).into_bytes())
            .take(PIECE_BYTES)
            .collect();
        let [fast, standard, high] = EFFORTS.map(|effort| compress(effort, 1, &text).len());
        assert!(high < standard && standard <= fast, "{high} {standard} {fast}");
        assert!(high < PIECE_BYTES / 8);
    }

    #[test]
    fn another_length_or_damaged_bytes_are_refused_or_stay_in_bounds() {
        let piece = pieces().swap_remove(24);
        let bytes = compress(Effort::High, 1, &piece);
        assert!(!decompress(&bytes, &mut vec![0; piece.len() + 1]));
        assert!(!decompress(&bytes, &mut vec![0; piece.len().saturating_sub(1)]));
        for at in 0..bytes.len() {
            for value in [0, 1, 0x0f, 0xf0, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                decompress(&damaged, &mut vec![0; piece.len()]);
                decompress(&damaged[..at], &mut vec![0; piece.len()]);
            }
        }
    }
}
