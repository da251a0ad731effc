//! Texts or byte strings that a batch makes, in blocks of memory that may be refused.
//!
//! A value has at most [`VALUE_BYTES_MAX`] bytes (54000). A block that the system does not give
//! is an error of the statement (53200), where a growing `String` would end the process.

use std::marker::PhantomData;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, GenericByteViewBuilder};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::ByteViewType;

use crate::error::{Error, ErrorKind, Result};
use crate::text::reserve_bytes;

/// The longest text or byte string, as in PostgreSQL.
pub(super) const VALUE_BYTES_MAX: u64 = (1 << 30) - 1;

/// A block of this length takes no further value: places in it are numbers of 32 bits.
const BLOCK_BYTES_FULL: usize = 2 << 30;

/// The values of a batch; the last one may be under way.
pub(super) struct ValueBlocks<T: ByteViewType> {
    builder: GenericByteViewBuilder<T>,
    block: Vec<u8>,
    /// Where the values of the block lie; `None` is null.
    spans: Vec<Option<(u32, u32)>>,
    start: usize,
    values: PhantomData<T>,
}

impl<T: ByteViewType> ValueBlocks<T> {
    pub(super) fn new(rows: usize) -> Self {
        Self {
            builder: GenericByteViewBuilder::with_capacity(rows),
            block: Vec::new(),
            spans: Vec::with_capacity(rows),
            start: 0,
            values: PhantomData,
        }
    }

    /// Appends bytes to the value under way.
    ///
    /// # Errors
    /// 54000, 53200.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.reserve(bytes.len())?;
        self.block.extend_from_slice(bytes);
        Ok(())
    }

    /// Makes place for bytes of the value under way.
    ///
    /// # Errors
    /// As [`ValueBlocks::append`].
    pub(super) fn reserve(&mut self, more: usize) -> Result<()> {
        let bytes = (self.block.len() - self.start).saturating_add(more);
        if bytes as u64 > VALUE_BYTES_MAX {
            return Err(too_long());
        }
        reserve_bytes(more, &mut self.block)
    }

    /// Ends the value under way.
    ///
    /// # Errors
    /// `InvalidData` for a text that is none.
    pub(super) fn end_value(&mut self) -> Result<()> {
        let place = |bytes: usize| {
            u32::try_from(bytes).map_err(|_| Error::new(ErrorKind::Internal, "a block is too long"))
        };
        let span = (place(self.start)?, place(self.block.len() - self.start)?);
        self.spans.push(Some(span));
        self.start = self.block.len();
        if self.start >= BLOCK_BYTES_FULL { self.end_block() } else { Ok(()) }
    }

    pub(super) fn push_null(&mut self) {
        self.spans.push(None);
    }

    pub(super) fn push_option(&mut self, value: Option<&[u8]>) -> Result<()> {
        match value {
            Some(value) => {
                self.append(value)?;
                self.end_value()
            }
            None => {
                self.push_null();
                Ok(())
            }
        }
    }

    fn end_block(&mut self) -> Result<()> {
        let number = self.builder.append_block(Buffer::from_vec(std::mem::take(&mut self.block)));
        for span in self.spans.drain(..) {
            match span {
                Some((offset, length)) => self.builder.try_append_view(number, offset, length)?,
                None => self.builder.append_null(),
            }
        }
        self.start = 0;
        Ok(())
    }

    /// Returns the values.
    ///
    /// # Errors
    /// As [`ValueBlocks::end_value`].
    pub(super) fn finish(mut self) -> Result<ArrayRef> {
        self.end_block()?;
        Ok(Arc::new(self.builder.finish()))
    }
}

/// Returns the error for a value that is longer than any may be.
pub(super) fn too_long() -> Error {
    Error::new(ErrorKind::InvalidData, "requested length too large").with_code("54000")
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Array, AsArray};
    use datafusion::arrow::datatypes::StringViewType;

    use super::*;

    #[test]
    fn values_lie_one_behind_the_other() {
        let mut blocks = ValueBlocks::<StringViewType>::new(4);
        blocks.push_option(Some(b"a text of more than twelve bytes")).unwrap();
        blocks.push_null();
        blocks.append(b"a").unwrap();
        blocks.append(b"b").unwrap();
        blocks.end_value().unwrap();
        blocks.push_option(Some(b"")).unwrap();
        let array = blocks.finish().unwrap();
        let texts: Vec<Option<&str>> = array.as_string_view().iter().collect();
        assert_eq!(texts, [Some("a text of more than twelve bytes"), None, Some("ab"), Some("")]);
        assert_eq!(array.null_count(), 1);
    }

    #[test]
    fn a_value_that_is_too_long_is_refused_before_it_is_made() {
        let mut blocks = ValueBlocks::<StringViewType>::new(1);
        blocks.append(b"abc").unwrap();
        let error = blocks.reserve(1 << 30).unwrap_err();
        assert_eq!(error.sqlstate(), "54000");
    }
}
