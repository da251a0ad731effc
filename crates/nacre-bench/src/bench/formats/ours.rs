//! Our formats, each in each flavour that this processor runs.

use nacre_column::{Block, EncodedBlock, Flavour, Format, block};

use super::COLUMN_TYPE;
use super::contestant::{Contestant, Decoded};
use super::slice::Slice;
use crate::error::{Error, Result};

/// A format in a flavour.
struct Ours {
    format: Format,
    flavour: Flavour,
    blocks: Vec<EncodedBlock>,
    decoded: Vec<i32>,
}

/// Returns all contestants of ours, the flavours of a format side by side.
pub(super) fn contestants() -> Vec<Box<dyn Contestant>> {
    let formats = Format::ALL.into_iter().filter(|format| format.can_hold(COLUMN_TYPE));
    let all = formats.flat_map(|format| {
        Flavour::available().into_iter().map(move |flavour| {
            let (blocks, decoded) = (Vec::new(), Vec::new());
            Box::new(Ours { format, flavour, blocks, decoded }) as Box<dyn Contestant>
        })
    });
    all.collect()
}

impl Contestant for Ours {
    fn name(&self) -> String {
        self.format.name().to_owned()
    }

    fn ours(&self) -> Option<(Format, Flavour)> {
        Some((self.format, self.flavour))
    }

    fn encode(&mut self, slice: &Slice) -> Result<()> {
        for column in slice.columns() {
            let encoded = block::encode_as(column, self.flavour, self.format);
            self.blocks.push(encoded.map_err(Error::column(self.format))?);
        }
        Ok(())
    }

    fn decode(&mut self, chunk: usize) -> Result<Decoded<'_>> {
        let decode = |decoded: &mut Vec<i32>| {
            let block = Block::open(&self.blocks[chunk].bytes, COLUMN_TYPE)?;
            decoded.clear();
            block.decode_i32(self.flavour, 0..block.rows(), decoded)
        };
        decode(&mut self.decoded).map_err(Error::column(self.format))?;
        Ok(Decoded::Signed(&self.decoded))
    }

    fn bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes.len() as u64).sum()
    }

    fn checksum(&self) -> u32 {
        self.blocks.iter().fold(0, |sum, block| sum ^ block.header.crc32c)
    }

    fn clear(&mut self) {
        self.blocks.clear();
    }
}
