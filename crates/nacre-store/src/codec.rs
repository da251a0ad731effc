//! Little-endian encoding of manifest payloads, pool directories and redo records.
//!
//! # Invariants
//! 1. [`Decoder`] never reads past its input and never allocates more than its input is long, so
//!    damaged bytes give [`Truncated`], not a panic.

/// The input ended, or a length in it points past its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truncated;

/// Appends values to a byte vector.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    #[inline]
    pub(crate) fn put_u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Puts a byte before all that are there.
    pub(crate) fn put_first(&mut self, value: u8) {
        self.bytes.insert(0, value);
    }

    pub(crate) fn put_u16(&mut self, value: u16) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    pub(crate) fn put_u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    pub(crate) fn put_u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends raw bytes without a length.
    #[inline]
    pub(crate) fn put_raw(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
    }

    /// Appends the first `count` of some bytes; they are few, and copying all is what costs least.
    #[inline]
    pub(crate) fn put_first_of<const N: usize>(&mut self, bytes: [u8; N], count: usize) {
        let end = self.bytes.len() + count;
        self.bytes.extend_from_slice(&bytes);
        self.bytes.truncate(end);
    }

    /// Appends 7 bits a byte, the low ones first; the high bit says that more follow.
    #[inline]
    pub(crate) fn put_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Appends a 32-bit length and the bytes. Callers bound the length far below 4 GiB.
    pub(crate) fn put_bytes(&mut self, value: &[u8]) {
        assert!(value.len() < u32::MAX as usize, "{} bytes in one field", value.len());
        self.put_u32(value.len() as u32);
        self.put_raw(value);
    }

    pub(crate) fn put_str(&mut self, value: &str) {
        self.put_bytes(value.as_bytes());
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Drops all but the first `count` bytes.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.bytes.truncate(count);
    }

    /// Drops all bytes; memory beyond `kept_bytes` is given back.
    pub(crate) fn clear(&mut self, kept_bytes: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(kept_bytes);
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads values from the front of a byte slice.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Takes `count` raw bytes.
    pub(crate) fn raw(&mut self, count: usize) -> Result<&'a [u8], Truncated> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        self.raw(N)?.try_into().map_err(|_| Truncated)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Truncated> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Truncated> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Truncated> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Truncated> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads what [`Encoder::put_varint`] wrote. What does not fit 64 bits is an error.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Truncated> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(Truncated);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Truncated)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Truncated> {
        let count = self.u32()? as usize;
        self.raw(count)
    }

    pub(crate) fn string(&mut self) -> Result<String, Truncated> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Truncated)
    }

    /// Returns how many bytes are left.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }
}

/// Returns the CRC-32C of a header of 64 bytes that has it in bytes 12 to 15.
///
/// # Panics
/// If there are fewer bytes.
pub(crate) fn header_crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..64])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoder_returns_what_encoder_wrote() {
        let mut encoder = Encoder::default();
        encoder.put_u8(1);
        encoder.put_u16(2);
        encoder.put_u32(3);
        encoder.put_u64(4);
        encoder.put_str("five");
        let bytes = encoder.into_bytes();
        let mut decoder = Decoder::new(&bytes);
        assert_eq!(decoder.u8(), Ok(1));
        assert_eq!(decoder.u16(), Ok(2));
        assert_eq!(decoder.u32(), Ok(3));
        assert_eq!(decoder.u64(), Ok(4));
        assert_eq!(decoder.string().as_deref(), Ok("five"));
        assert_eq!(decoder.remaining(), 0);
    }

    #[test]
    fn every_truncation_is_an_error() {
        let mut encoder = Encoder::default();
        encoder.put_u64(9);
        encoder.put_str("name");
        let bytes = encoder.into_bytes();
        for end in 0..bytes.len() {
            let mut decoder = Decoder::new(&bytes[..end]);
            let read = decoder.u64().and_then(|_| decoder.string());
            assert_eq!(read, Err(Truncated), "cut at {end}");
        }
    }

    #[test]
    fn varint_takes_seven_bits_a_byte() {
        for (value, bytes) in [(0, 1), (127, 1), (128, 2), (1 << 14, 3), (u64::MAX, 10)] {
            let mut encoder = Encoder::default();
            encoder.put_varint(value);
            assert_eq!(encoder.bytes().len(), bytes);
            assert_eq!(Decoder::new(encoder.bytes()).varint(), Ok(value));
            assert_eq!(Decoder::new(&encoder.bytes()[..bytes - 1]).varint(), Err(Truncated));
        }
        let too_large = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(Decoder::new(&too_large).varint(), Err(Truncated));
        assert_eq!(Decoder::new(&[0x80; 11]).varint(), Err(Truncated));
    }

    #[test]
    fn length_past_the_end_is_an_error() {
        let mut bytes = u32::MAX.to_le_bytes().to_vec();
        bytes.extend_from_slice(b"abc");
        assert_eq!(Decoder::new(&bytes).bytes(), Err(Truncated));
    }
}
