//! What fuzzers call.

use super::frames::{Frames, OPENING_BYTES_MAX};
use super::frontend;

/// Decodes frames as a server does, for fuzzing; the result tells whether all were well formed.
pub fn decode_frames(bytes: &[u8], message_bytes_max: usize) -> bool {
    let mut frames = Frames::new(message_bytes_max);
    frames.push(bytes);
    loop {
        match frames.next() {
            Ok(None) => return true,
            Ok(Some(frame)) => {
                if frontend::decode(frame).is_err() {
                    return false;
                }
            }
            Err(_) => return false,
        }
    }
}

/// Decodes what a connection begins with, for fuzzing.
pub fn decode_opening(bytes: &[u8]) -> bool {
    let mut frames = Frames::new(OPENING_BYTES_MAX);
    frames.push(bytes);
    match frames.next_opening() {
        Ok(Some(body)) => frontend::Opening::decode(body).is_ok(),
        Ok(None) => true,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;

    /// Bodies of messages that clients send, to be damaged.
    const BODIES: [(u8, &[u8]); 8] = [
        (b'Q', b"select 1\0"),
        (b'P', b"s\0select $1\0\0\x02\0\0\0\x17\0\0\0\0"),
        (b'B', b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\x01\0\x01"),
        (b'D', b"Ss\0"),
        (b'E', b"p\0\0\0\0\x0a"),
        (b'C', b"Pp\0"),
        (b'd', b"1\t2\n"),
        (b'p', b"SCRAM-SHA-256\0\0\0\0\x06n,,n=,"),
    ];

    /// A message whose length is right and whose body has some bytes replaced, or a byte less.
    fn message() -> impl Strategy<Value = Vec<u8>> {
        let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
        (any::<prop::sample::Index>(), damage, 0_u8..4).prop_map(|(which, damage, cut)| {
            let (kind, body) = BODIES[which.index(BODIES.len())];
            let mut body = body.to_vec();
            for (at, byte) in damage {
                let at = at.index(body.len());
                body[at] = byte;
            }
            if cut == 0 {
                body.pop();
            }
            let length = u32::try_from(body.len() + 4).unwrap_or_default();
            [&[kind][..], &length.to_be_bytes(), &body].concat()
        })
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..200), limit in 0_usize..300
        ) {
            decode_opening(&bytes);
            decode_frames(&bytes, limit);
        }

        #[test]
        fn damaged_messages_mean_the_same_wherever_they_are_cut(
            messages in prop::collection::vec(message(), 1..6), cuts in 1_usize..40
        ) {
            let bytes = messages.concat();
            let whole = decode_frames(&bytes, 1 << 10);
            let mut frames = Frames::new(1 << 10);
            let mut is_sound = true;
            for part in bytes.chunks(cuts) {
                frames.push(part);
                while is_sound && let Some(frame) = frames.next().unwrap_or_default() {
                    is_sound = frontend::decode(frame).is_ok();
                }
            }
            prop_assert_eq!(whole, is_sound);
            let alone: Vec<bool> = messages.iter().map(|one| decode_frames(one, 1 << 10)).collect();
            prop_assert_eq!(whole, alone.iter().all(|sound| *sound));
        }
    }

    #[test]
    fn messages_to_damage_are_sound() {
        for (kind, body) in BODIES {
            let frame = crate::wire::frames::Frame { kind, body: Bytes::from_static(body) };
            assert!(frontend::decode(frame).is_ok(), "{}", char::from(kind));
        }
    }
}
