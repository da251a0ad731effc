//! Streaming (non-temporal) copies: bytes go to memory without passing through the caches.
//!
//! A copy has three parts: a head up to the first line boundary and a tail after the last whole
//! line are stored normally and flushed; the lines between are streamed with the widest register
//! there is. The caller fences afterwards, on the same thread.
//!
//! # Source
//! [Zarubin22 2.1.3] MOVNT in its SSE2, AVX and AVX-512 variants, ordered by SFENCE.

use std::fmt;
use std::str::FromStr;

use crate::flush::{CACHE_LINE_BYTES, FlushFlavour, flush_lines};
use crate::sim;

/// Which register width streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamFlavour {
    /// Ordinary stores, then a flush of every line.
    None,
    /// 16 bytes a store.
    Sse2,
    /// 32 bytes a store.
    Avx,
    /// 64 bytes a store: a whole line.
    Avx512,
}

impl StreamFlavour {
    /// All flavours, narrowest first.
    pub const ALL: [StreamFlavour; 4] =
        [StreamFlavour::None, StreamFlavour::Sse2, StreamFlavour::Avx, StreamFlavour::Avx512];

    /// Returns the flavours that this processor can run, narrowest first.
    pub fn available() -> Vec<StreamFlavour> {
        StreamFlavour::ALL.into_iter().filter(|flavour| flavour.is_available()).collect()
    }

    /// Returns the widest flavour that this processor can run.
    pub fn best() -> StreamFlavour {
        StreamFlavour::ALL
            .into_iter()
            .rfind(|flavour| flavour.is_available())
            .unwrap_or(StreamFlavour::None)
    }

    /// Whether this processor can run the flavour.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return match self {
            StreamFlavour::None | StreamFlavour::Sse2 => true,
            StreamFlavour::Avx => is_x86_feature_detected!("avx"),
            StreamFlavour::Avx512 => is_x86_feature_detected!("avx512f"),
        };
        #[cfg(not(target_arch = "x86_64"))]
        return self == StreamFlavour::None;
    }

    fn name(self) -> &'static str {
        match self {
            StreamFlavour::None => "none",
            StreamFlavour::Sse2 => "sse2",
            StreamFlavour::Avx => "avx",
            StreamFlavour::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for StreamFlavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for StreamFlavour {
    type Err = ();

    fn from_str(text: &str) -> Result<StreamFlavour, ()> {
        StreamFlavour::ALL.into_iter().find(|flavour| flavour.name() == text).ok_or(())
    }
}

/// Copies `source` to `target` and starts its write-back. Durable after a fence of this thread.
///
/// # Safety
/// `target..target + source.len()` is mapped writable, overlaps neither `source` nor memory that
/// any other thread accesses meanwhile; both flavours are available.
pub(crate) unsafe fn copy_nt(
    stream: StreamFlavour,
    flush: FlushFlavour,
    target: *mut u8,
    source: &[u8],
) {
    let to_boundary = (target as usize).wrapping_neg() & (CACHE_LINE_BYTES - 1);
    let head = match stream {
        StreamFlavour::None => source.len(),
        _ => to_boundary.min(source.len()),
    };
    let body = (source.len() - head) & !(CACHE_LINE_BYTES - 1);
    let tail = head + body;
    // SAFETY: `0..head` lies in the caller's range.
    unsafe { copy_and_flush(flush, target, &source[..head]) };
    // SAFETY: `head..tail` lies in the caller's range; `target + head` is line-aligned whenever
    // `body > 0`, because then `head == to_boundary`; `body` is a multiple of a line.
    unsafe { stream_lines(stream, target.add(head), &source[head..tail]) };
    sim::stored(target.wrapping_add(head), body, sim::Store::NonTemporal);
    // SAFETY: `tail..` lies in the caller's range.
    unsafe { copy_and_flush(flush, target.add(tail), &source[tail..]) };
}

/// # Safety
/// As for [`copy_nt`].
unsafe fn copy_and_flush(flush: FlushFlavour, target: *mut u8, source: &[u8]) {
    // SAFETY: the caller's range is writable and disjoint from `source`; bytes need no alignment.
    unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), target, source.len()) };
    sim::stored(target, source.len(), sim::Store::Temporal);
    // SAFETY: the range is mapped and the flavour available by the caller's contract.
    unsafe { flush_lines(flush, target, source.len()) };
}

/// # Safety
/// As for [`copy_nt`], and `target` is 64-aligned, and `source.len()` a multiple of 64.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn stream_lines(stream: StreamFlavour, target: *mut u8, source: &[u8]) {
    match stream {
        StreamFlavour::None => debug_assert!(source.is_empty()),
        // SAFETY: range, alignment and length by the caller's contract; SSE2 is always there.
        StreamFlavour::Sse2 => unsafe { stream_sse2(target, source) },
        // SAFETY: as above; AVX is available by the caller's contract.
        StreamFlavour::Avx => unsafe { stream_avx(target, source) },
        // SAFETY: as above; AVX-512F is available by the caller's contract.
        StreamFlavour::Avx512 => unsafe { stream_avx512(target, source) },
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn stream_lines(_stream: StreamFlavour, _target: *mut u8, source: &[u8]) {
    debug_assert!(source.is_empty());
}

/// # Safety
/// As for [`stream_lines`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
unsafe fn stream_sse2(target: *mut u8, source: &[u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    for offset in (0..source.len()).step_by(16) {
        // SAFETY: `offset + 16 <= source.len()`, a multiple of 64; the load may be unaligned; the
        // store is 16-aligned because `target` is 64-aligned.
        unsafe {
            let value = _mm_loadu_si128(source.as_ptr().add(offset).cast::<__m128i>());
            _mm_stream_si128(target.add(offset).cast::<__m128i>(), value);
        }
    }
}

/// # Safety
/// As for [`stream_lines`], and the processor has AVX.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn stream_avx(target: *mut u8, source: &[u8]) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_stream_si256};
    for offset in (0..source.len()).step_by(32) {
        // SAFETY: `offset + 32 <= source.len()`, a multiple of 64; the load may be unaligned; the
        // store is 32-aligned because `target` is 64-aligned.
        unsafe {
            let value = _mm256_loadu_si256(source.as_ptr().add(offset).cast::<__m256i>());
            _mm256_stream_si256(target.add(offset).cast::<__m256i>(), value);
        }
    }
}

/// # Safety
/// As for [`stream_lines`], and the processor has AVX-512F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn stream_avx512(target: *mut u8, source: &[u8]) {
    use std::arch::x86_64::{__m512i, _mm512_loadu_si512, _mm512_stream_si512};
    for offset in (0..source.len()).step_by(64) {
        // SAFETY: `offset + 64 <= source.len()`, a multiple of 64; the load may be unaligned; the
        // store is 64-aligned because `target` is.
        unsafe {
            let value = _mm512_loadu_si512(source.as_ptr().add(offset).cast::<__m512i>());
            _mm512_stream_si512(target.add(offset).cast::<__m512i>(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flush::fence;

    #[test]
    fn copy_is_exact_for_every_flavour_alignment_and_length() {
        let source: Vec<u8> = (0..400u32).map(|i| (i * 7 + 1) as u8).collect();
        for stream in StreamFlavour::available() {
            for start in [0, 1, 15, 16, 31, 32, 63, 64, 65] {
                for length in [0, 1, 15, 63, 64, 65, 127, 128, 129, 192, 300] {
                    let mut target = vec![0xA5u8; 512];
                    let base = target.as_mut_ptr().wrapping_add(start);
                    // SAFETY: `start + length <= 365 < 512`; the vectors are distinct and owned
                    // by this thread; both flavours are available.
                    unsafe { copy_nt(stream, FlushFlavour::best(), base, &source[3..3 + length]) };
                    fence();
                    let end = start + length;
                    assert!(target[..start].iter().all(|&byte| byte == 0xA5));
                    assert_eq!(target[start..end], source[3..3 + length], "{stream} {start}");
                    assert!(target[end..].iter().all(|&byte| byte == 0xA5));
                }
            }
        }
    }

    #[test]
    fn names_read_back() {
        for flavour in StreamFlavour::ALL {
            assert_eq!(flavour.to_string().parse(), Ok(flavour));
        }
        assert!(StreamFlavour::available().contains(&StreamFlavour::best()));
    }
}
