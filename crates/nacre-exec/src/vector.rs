//! Vectors: up to 8,192 values of one column in memory, and batches of them. Scans may be told to
//! make shorter or longer ones ([`VectorRows`]).
//!
//! # Invariants
//! 1. Validity bits exist only where a value may be null; values of null rows are unspecified.
//! 2. A batch's selection holds at least a quarter of its rows ([`DENSE_PERCENT_MIN`]); with fewer
//!    the columns are compacted. So sub-operators that cannot fail work on all rows.
//!
//! # Source
//! [Muehlbauer16 section 7.3] vectors of 8,192 records. Differs: values are always copied, since
//! mapped pages may vanish and hot rows need their latch.

mod batch;
mod bits;
mod column;
mod dictionary;
mod size;
mod strings;

pub use batch::{DENSE_PERCENT_MIN, ResultBatch, SelectionVector, VectorBatch};
pub use bits::BitVector;
pub(crate) use column::require_string_room;
pub use column::{ColumnVector, VectorValues};
pub use dictionary::{DictionaryReader, DictionaryReaders, QueryDictionary};
pub use size::VectorRows;
pub use strings::{INLINE_BYTES_MAX, StringColumn, StringView};
