//! Keys as whole bytes: each in the fewest of 0, 1, 2, 4 or 8 that hold every key.
//!
//! What the byte-oriented compressors work on, and how a dictionary of whole numbers keeps its
//! entries. Little-endian, end to end.

use std::mem::MaybeUninit;

use super::integer::Key;

/// Returns the bytes of a key that has `width` bits, 0 to 64.
pub(crate) fn bytes_of_width(width: usize) -> usize {
    match width {
        0 => 0,
        1..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        _ => 8,
    }
}

/// Appends `keys` to `out`, `bytes_each` bytes each.
pub(crate) fn append(keys: &[u64], bytes_each: usize, out: &mut Vec<u8>) {
    match bytes_each {
        0 => {}
        1 => out.extend(keys.iter().map(|key| *key as u8)),
        2 => extend(keys, out, |key| (key as u16).to_le_bytes()),
        4 => extend(keys, out, |key| (key as u32).to_le_bytes()),
        _ => extend(keys, out, u64::to_le_bytes),
    }
}

fn extend<const N: usize>(keys: &[u64], out: &mut Vec<u8>, to_bytes: impl Fn(u64) -> [u8; N]) {
    let start = out.len();
    out.resize(start + keys.len() * N, 0);
    for (out, key) in out[start..].as_chunks_mut().0.iter_mut().zip(keys) {
        *out = to_bytes(*key);
    }
}

/// Writes the keys at the front of `bytes`, each added to `base`, over all of `out`; where `bytes`
/// end early, zeros for keys.
#[inline(always)]
pub(crate) fn unpack<K: Key>(bytes: &[u8], bytes_each: usize, base: K, out: &mut [MaybeUninit<K>]) {
    let put = |out: &mut MaybeUninit<K>, key: u64| {
        out.write(K::from_u64(key).plus(base));
    };
    let written = match bytes_each {
        0 => 0,
        1 => each(bytes, out, |out, [key]: [u8; 1]| put(out, key.into())),
        2 => each(bytes, out, |out, key| put(out, u16::from_le_bytes(key).into())),
        4 => each(bytes, out, |out, key| put(out, u32::from_le_bytes(key).into())),
        _ => each(bytes, out, |out, key| put(out, u64::from_le_bytes(key))),
    };
    out[written..].fill(MaybeUninit::new(base));
}

#[inline(always)]
fn each<T, const N: usize>(
    bytes: &[u8],
    out: &mut [T],
    mut put: impl FnMut(&mut T, [u8; N]),
) -> usize {
    let keys = bytes.as_chunks().0;
    for (out, key) in out.iter_mut().zip(keys) {
        put(out, *key);
    }
    out.len().min(keys.len())
}

/// Returns key `index` of `bytes`; 0 if there is none.
#[inline]
pub(crate) fn get(bytes: &[u8], bytes_each: usize, index: usize) -> u64 {
    let mut key = [0; 8];
    let start = index * bytes_each;
    if let Some(bytes) = bytes.get(start..start + bytes_each) {
        key[..bytes_each].copy_from_slice(bytes);
    }
    u64::from_le_bytes(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_at_every_width() {
        for width in 0..=64 {
            let greatest = u64::MAX.checked_shr(64 - width).unwrap_or(0);
            let keys = [greatest, 0, greatest / 2, greatest / 3, 1 & greatest];
            let bytes_each = bytes_of_width(width as usize);
            let mut bytes = Vec::new();
            append(&keys, bytes_each, &mut bytes);
            assert_eq!(bytes.len(), keys.len() * bytes_each);
            for (index, key) in keys.iter().enumerate() {
                assert_eq!(get(&bytes, bytes_each, index), *key, "width {width}");
            }
        }
    }

    #[test]
    fn missing_bytes_read_as_zeros() {
        assert_eq!(get(&[1, 0, 2], 2, 0), 1);
        assert_eq!(get(&[1, 0, 2], 2, 1), 0);
    }
}
