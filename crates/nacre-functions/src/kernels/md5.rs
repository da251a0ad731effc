//! MD5 digests.
//!
//! # Source
//! RFC 1321.

/// How far each step of a round turns.
const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// Returns the 32 digits of the digest of some bytes.
pub(super) fn md5_digits(bytes: &[u8]) -> String {
    let mut state = START;
    let mut blocks = bytes.chunks_exact(64);
    for block in &mut blocks {
        mix(&mut state, block);
    }
    let rest = blocks.remainder();
    let mut tail = rest.to_vec();
    tail.push(0x80);
    let padded = if tail.len() > 56 { 128 } else { 64 };
    tail.resize(padded - 8, 0);
    tail.extend((bytes.len() as u64).wrapping_mul(8).to_le_bytes());
    tail.chunks_exact(64).for_each(|block| mix(&mut state, block));
    let digest = state.into_iter().flat_map(u32::to_le_bytes);
    digest.map(|byte| format!("{byte:02x}")).collect()
}

/// The constant of a step: the first 32 bits behind the point of a sine.
fn step_constant(step: usize) -> u32 {
    (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32
}

fn mix(state: &mut [u32; 4], block: &[u8]) {
    let word = |index: usize| {
        let bytes = &block[4 * index..4 * index + 4];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    };
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64 {
        let round = step / 16;
        let (mixed, index) = match round {
            0 => (b & c | !b & d, step),
            1 => (d & b | !d & c, (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), 7 * step % 16),
        };
        let sum = a.wrapping_add(mixed).wrapping_add(step_constant(step)).wrapping_add(word(index));
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(TURNS[round][step % 4]));
    }
    for (own, new) in state.iter_mut().zip([a, b, c, d]) {
        *own = own.wrapping_add(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        assert_eq!(md5_digits(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(md5_digits(b"message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
        let long = "1234567890".repeat(8);
        assert_eq!(md5_digits(long.as_bytes()), "57edf4a22be3c955ac49da2e2107b67a");
    }
}
