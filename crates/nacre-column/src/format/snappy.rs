//! Snappy: one match candidate at every byte, as the crate `snap` does it.
//!
//! # Source
//! [Zarubin22 section 3.3.1] Snappy.

/// Compresses pieces; holds the encoder's table and room for its output.
pub(crate) struct Compressor {
    encoder: snap::raw::Encoder,
    buffer: Vec<u8>,
}

impl Compressor {
    /// Makes a compressor of pieces of at most `piece_bytes`.
    pub(crate) fn new(piece_bytes: usize) -> Self {
        let buffer = vec![0; snap::raw::max_compress_len(piece_bytes)];
        Self { encoder: snap::raw::Encoder::new(), buffer }
    }

    /// Compresses `piece`.
    pub(crate) fn compress(&mut self, piece: &[u8]) -> &[u8] {
        // The buffer has the size that the crate asks for, so there is no other outcome.
        let bytes = self.encoder.compress(piece, &mut self.buffer).unwrap_or(0);
        &self.buffer[..bytes]
    }
}

/// Decompresses `bytes` over `out`; false if they are not exactly `out.len()` bytes compressed,
/// and then `out` holds anything.
pub(crate) fn decompress(bytes: &[u8], out: &mut [u8]) -> bool {
    let written = snap::raw::Decoder::new().decompress(bytes, out);
    written.is_ok_and(|written| written == out.len())
}

/// Returns an upper bound of what `bytes` compressed bytes can hold: 64 bytes for a copy of three.
pub(crate) fn decompressed_bytes_max(bytes: usize) -> usize {
    bytes.saturating_mul(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_and_damage_stays_in_bounds() {
        let piece: Vec<u8> = (0..5_000_u32).flat_map(|i| (i / 7 % 300).to_le_bytes()).collect();
        let mut compressor = Compressor::new(piece.len());
        for length in [0, 1, 15, 16, 17, 4_096, piece.len()] {
            let piece = &piece[..length];
            let bytes = compressor.compress(piece).to_vec();
            let mut out = vec![0xaa; length];
            assert!(decompress(&bytes, &mut out) && out == piece, "{length} bytes");
            assert!(length <= decompressed_bytes_max(bytes.len()));
            assert!(!decompress(&bytes, &mut vec![0; length + 1]));
            for at in 0..bytes.len().min(300) {
                for value in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut damaged = bytes.clone();
                    damaged[at] = value;
                    decompress(&damaged, &mut out);
                    decompress(&damaged[..at], &mut out);
                }
            }
        }
    }
}
