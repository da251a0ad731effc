//! The functions that SCRAM is made of, by the names of RFC 5802.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Bytes of a SHA-256 digest.
pub(crate) const DIGEST_BYTES: usize = 32;

/// Bytes of a block of SHA-256, so of a key of its HMAC.
const BLOCK_BYTES: usize = 64;

pub(crate) type Bytes32 = [u8; DIGEST_BYTES];

/// H.
pub(crate) fn hash(bytes: &[u8]) -> Bytes32 {
    Sha256::digest(bytes).into()
}

/// HMAC over all `parts`, one after the other.
pub(crate) fn hmac(key: &[u8], parts: &[&[u8]]) -> Bytes32 {
    finish(keyed(key), parts)
}

/// Hi: PBKDF2 with a single block of output.
pub(crate) fn salted_password(password: &[u8], salt: &[u8], iterations: u32) -> Bytes32 {
    let keyed = keyed(password);
    let mut last = finish(keyed.clone(), &[salt, &1_u32.to_be_bytes()]);
    let mut sum = last;
    for _ in 1..iterations {
        last = finish(keyed.clone(), &[&last]);
        sum = xor(sum, &last);
    }
    sum
}

pub(crate) fn xor(mut one: Bytes32, other: &Bytes32) -> Bytes32 {
    one.iter_mut().zip(other).for_each(|(a, b)| *a ^= b);
    one
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    let mut block = [0; BLOCK_BYTES];
    // A longer key is replaced by its hash, as HMAC says.
    match block.get_mut(..key.len()) {
        Some(begin) => begin.copy_from_slice(key),
        None => block[..DIGEST_BYTES].copy_from_slice(&hash(key)),
    }
    Hmac::new(&block.into())
}

fn finish(mut hmac: Hmac<Sha256>, parts: &[&[u8]]) -> Bytes32 {
    parts.iter().for_each(|part| hmac.update(part));
    hmac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_keys_are_hashed_first() {
        let key = [7; 65];
        assert_eq!(hmac(&key, &[b"a", b"b"]), hmac(&hash(&key), &[b"ab"]));
        assert_ne!(hmac(&key[..64], &[b"ab"]), hmac(&key[..63], &[b"ab"]));
    }
}
