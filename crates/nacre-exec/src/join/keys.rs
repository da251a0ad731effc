//! From key columns to words.
//!
//! | key | words |
//! |---|---|
//! | truth value | 0 or 1 |
//! | whole number | one of 64 bits if either side fits these, else two |
//! | float | the bits of the double, the same for all that are equal |
//! | string | its code in the dictionary of the build side |
//!
//! A row whose key is null, or a value that no row of the other side can have, has no key.

use std::sync::Arc;

use crate::error::{ExecError, ExecResult};
use crate::group::{float_word, hash_words};
use crate::pipeline::SlotId;
use crate::vector::{
    BitVector, ColumnVector, DictionaryReaders, QueryDictionary, VectorBatch, VectorValues,
};

/// A code whose string was not looked up in the other dictionary yet.
const CODE_UNKNOWN: u64 = u64::MAX;

/// A code whose string the other dictionary lacks.
const CODE_MISSING: u64 = u64::MAX - 1;

/// How a key becomes words.
#[derive(Clone, Debug)]
pub(super) enum JoinKeyForm {
    Bool,
    Int,
    WideInt,
    Float,
    Text {
        dictionary: Arc<QueryDictionary>,
        /// Whether the build side has no codes of its own, and the join numbers its strings.
        is_interned: bool,
    },
}

/// A key of a join.
#[derive(Debug)]
pub(super) struct JoinKeyPlan {
    pub(super) probe_slot: SlotId,
    pub(super) build_slot: SlotId,
    pub(super) form: JoinKeyForm,
    /// Its first word.
    pub(super) word: usize,
}

/// The key words of the rows of a batch.
#[derive(Debug, Default)]
pub(super) struct JoinKeyWords {
    pub(super) words: Vec<u64>,
    /// A bit for each row that has a key.
    pub(super) has_key: BitVector,
    /// By key: codes of the build side's dictionary, by code of the probe side's.
    codes: Vec<Vec<u64>>,
    stride: usize,
}

/// Hashes a key of one word.
#[inline]
pub(super) fn hash_key(key: i64) -> u64 {
    hash_words(&[key as u64])
}

impl JoinKeyForm {
    /// Returns how many words the key has.
    pub(super) fn words(&self) -> usize {
        if matches!(self, Self::WideInt) { 2 } else { 1 }
    }
}

impl JoinKeyWords {
    /// Fills the words of all rows of a batch of the build side; strings get codes.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if a column is of another class.
    pub(super) fn fill_build(
        &mut self,
        keys: &[JoinKeyPlan],
        stride: usize,
        batch: &VectorBatch,
    ) -> ExecResult<()> {
        self.begin(stride, batch.rows);
        for key in keys {
            let column = &batch.columns[key.build_slot];
            let JoinKeyForm::Text { dictionary, .. } = &key.form else {
                self.fill_numbers(key, column)?;
                continue;
            };
            self.mask_nulls(column);
            match &column.values {
                VectorValues::Code(codes) => {
                    let codes = codes.iter().map(|code| Some(u64::from(*code)));
                    self.put_all(key.word, codes);
                }
                VectorValues::Bytes(strings) => {
                    let codes = dictionary.intern_column(strings);
                    self.put_all(key.word, codes.into_iter().map(|code| Some(u64::from(code))));
                }
                _ => return Err(other_class()),
            }
        }
        Ok(())
    }

    /// Fills the words of all rows of a batch of the probe side.
    ///
    /// # Errors
    /// As [`JoinKeyWords::fill_build`].
    pub(super) fn fill_probe(
        &mut self,
        keys: &[JoinKeyPlan],
        stride: usize,
        batch: &VectorBatch,
    ) -> ExecResult<()> {
        self.begin(stride, batch.rows);
        self.codes.resize_with(keys.len(), Vec::new);
        for (index, key) in keys.iter().enumerate() {
            let column = &batch.columns[key.probe_slot];
            let JoinKeyForm::Text { dictionary, .. } = &key.form else {
                self.fill_numbers(key, column)?;
                continue;
            };
            self.mask_nulls(column);
            let mut known = std::mem::take(&mut self.codes[index]);
            self.fill_strings(key.word, column, dictionary, &mut known)?;
            self.codes[index] = known;
        }
        Ok(())
    }

    /// Returns the words of a row.
    pub(super) fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.stride..(row + 1) * self.stride]
    }

    /// Takes words that were filled before.
    pub(super) fn restore(&mut self, words: Vec<u64>, has_key: BitVector, stride: usize) {
        (self.words, self.has_key, self.stride) = (words, has_key, stride);
    }

    fn begin(&mut self, stride: usize, rows: usize) {
        self.stride = stride;
        self.words.clear();
        self.words.resize(stride * rows, 0);
        self.has_key.clear();
        self.has_key.resize(rows, true);
    }

    fn mask_nulls(&mut self, column: &ColumnVector) {
        if let Some(validity) = &column.validity {
            self.has_key.and_with(validity);
        }
    }

    /// Puts a word of each row; a row with none has no key.
    #[inline]
    fn put_all(&mut self, word: usize, values: impl Iterator<Item = Option<u64>>) {
        let slots = self.words.iter_mut().skip(word).step_by(self.stride.max(1));
        for (row, (slot, value)) in slots.zip(values).enumerate() {
            match value {
                Some(value) => *slot = value,
                None => self.has_key.set(row, false),
            }
        }
    }

    fn fill_numbers(&mut self, key: &JoinKeyPlan, column: &ColumnVector) -> ExecResult<()> {
        use VectorValues as V;
        self.mask_nulls(column);
        let (word, form) = (key.word, &key.form);
        macro_rules! put {
            ($values:expr, $value:ident => $made:expr) => {
                self.put_all(word, $values.iter().map(|&$value| Some($made)))
            };
        }
        match (form, &column.values) {
            (JoinKeyForm::Bool, V::Bool(bits)) => {
                self.put_all(word, (0..bits.len()).map(|row| Some(bits.get(row).into())));
            }
            (JoinKeyForm::Int, V::Int16(values)) => put!(values, value => i64::from(value) as u64),
            (JoinKeyForm::Int, V::Int32(values)) => put!(values, value => i64::from(value) as u64),
            (JoinKeyForm::Int, V::Int64(values)) => put!(values, value => value as u64),
            (JoinKeyForm::Int, V::Int128(values)) => {
                let narrow = |value: &i128| i64::try_from(*value).ok().map(|value| value as u64);
                self.put_all(word, values.iter().map(narrow));
            }
            (JoinKeyForm::WideInt, values) => {
                for row in 0..values.len() {
                    let value = values.int(row).ok_or_else(other_class)?;
                    let at = row * self.stride + word;
                    self.words[at] = value as u64;
                    self.words[at + 1] = (value >> 64) as u64;
                }
            }
            (JoinKeyForm::Float, V::Float32(values)) => {
                put!(values, value => float_word(value.into()));
            }
            (JoinKeyForm::Float, V::Float64(values)) => put!(values, value => float_word(value)),
            _ => return Err(other_class()),
        }
        Ok(())
    }

    /// Puts the codes that `dictionary` has for the strings of a column; `known` are those of the
    /// column's own codes that were looked up before.
    fn fill_strings(
        &mut self,
        word: usize,
        column: &ColumnVector,
        dictionary: &Arc<QueryDictionary>,
        known: &mut Vec<u64>,
    ) -> ExecResult<()> {
        match (&column.values, &column.dictionary) {
            (VectorValues::Code(codes), Some(own)) if Arc::ptr_eq(own, dictionary) => {
                self.put_all(word, codes.iter().map(|code| Some(u64::from(*code))));
            }
            (VectorValues::Code(codes), Some(own)) => {
                let readers = DictionaryReaders::new(&[Some(own), Some(dictionary)]);
                let (Some(own), Some(build)) = (readers.of(0), readers.of(1)) else {
                    return Err(other_class());
                };
                known.resize(own.len().max(known.len()), CODE_UNKNOWN);
                let translate = |code: &u32| {
                    let slot = known.get_mut(*code as usize)?;
                    if *slot == CODE_UNKNOWN {
                        *slot = build.find(own.get(*code)).map_or(CODE_MISSING, u64::from);
                    }
                    (*slot != CODE_MISSING).then_some(*slot)
                };
                self.put_all(word, codes.iter().map(translate));
            }
            (VectorValues::Bytes(strings), _) => {
                let build = dictionary.read();
                let find = |row| strings.with(row, |value| build.find(value)).map(u64::from);
                self.put_all(word, (0..strings.len()).map(find));
            }
            _ => return Err(other_class()),
        }
        Ok(())
    }
}

fn other_class() -> ExecError {
    ExecError::internal("a key of a join is of another class than planned")
}
