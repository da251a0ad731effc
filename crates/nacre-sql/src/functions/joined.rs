//! `||`, `concat` and `concat_ws`, which ask for memory before they take it, `chr`, and the array
//! without elements that stands for none.
//! [`crate::operators`] puts the first one in the place of the operator.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, ListArray, MutableArrayData, Scalar, make_array, new_empty_array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::is_null;
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::datatypes::{
    BinaryViewType, ByteViewType, DataType, Int64Type, StringViewType,
};
use datafusion::logical_expr::Volatility;

use super::scalar::Definition;
use super::value_blocks::ValueBlocks;
use crate::error::{Error, ErrorKind, Result};
use crate::text::TextColumn;
use crate::types::{is_bytes, is_text};

/// The name of what gives the array without elements for null.
pub(crate) const OR_EMPTY: &str = "nacre_or_empty";

pub(super) fn functions() -> [Definition; 4] {
    let volatility = Volatility::Immutable;
    [
        Definition {
            name: OR_EMPTY,
            takes: |types| match types {
                [list @ DataType::List(_)] => Some(vec![list.clone()]),
                _ => None,
            },
            returns: |types, _| types.first().cloned().unwrap_or(DataType::Null),
            volatility,
            body: or_empty,
        },
        Definition {
            name: "concat",
            takes: |types| (!types.is_empty()).then(|| views(types)),
            returns: |_, _| DataType::Utf8View,
            volatility,
            body: |args, rows, _| separated(None, args, rows),
        },
        Definition {
            name: "concat_ws",
            takes: |types| match types {
                [between, _, ..] if is_text(between) || between == &DataType::Null => {
                    let mut taken = views(types);
                    taken[0] = DataType::Utf8View;
                    Some(taken)
                }
                _ => None,
            },
            returns: |_, _| DataType::Utf8View,
            volatility,
            body: |args, rows, _| separated(Some(&args[0]), &args[1..], rows),
        },
        Definition {
            name: "chr",
            takes: |types| match types {
                [one] if one.is_integer() || one == &DataType::Null => Some(vec![DataType::Int64]),
                _ => None,
            },
            returns: |_, _| DataType::Utf8View,
            volatility,
            body: characters,
        },
    ]
}

/// Puts arrays without elements in the place of nulls.
fn or_empty(args: &[ArrayRef], _: usize, returned: &DataType) -> Result<ArrayRef> {
    if args[0].null_count() == 0 {
        return Ok(Arc::clone(&args[0]));
    }
    let DataType::List(item) = returned else {
        return Err(Error::new(ErrorKind::Internal, format!("{OR_EMPTY} returns {returned}")));
    };
    let none = new_empty_array(item.data_type());
    let none = ListArray::new(Arc::clone(item), OffsetBuffer::from_lengths([0]), none, None);
    Ok(zip(&is_null(&args[0])?, &Scalar::new(none), &args[0])?)
}

/// Makes what joins two texts, a text and another value, or two byte strings.
pub(super) fn joined() -> Definition {
    Definition {
        name: "nacre_joined",
        takes: |types| {
            let [one, other] = types else { return None };
            if is_text(one) || is_text(other) {
                return Some(views(types));
            }
            let are_bytes = is_bytes(one) && is_bytes(other);
            are_bytes.then(|| vec![DataType::BinaryView; 2])
        },
        returns: |types, _| match types {
            [one, other] if is_bytes(one) && is_bytes(other) => DataType::BinaryView,
            _ => DataType::Utf8View,
        },
        volatility: Volatility::Immutable,
        body: |args, rows, returned| match returned {
            DataType::BinaryView => {
                let both = [args[0].as_binary_view(), args[1].as_binary_view()];
                pairs::<BinaryViewType>(args, rows, |place, row, out| {
                    out.append(both[place].value(row))
                })
            }
            _ => {
                let both = [TextParts::of(&args[0]), TextParts::of(&args[1])];
                pairs::<StringViewType>(args, rows, |place, row, out| {
                    both[place].append(row, BooleanStyle::Words, out)
                })
            }
        },
    }
}

/// Makes what joins two arrays, or an array and an element.
pub(super) fn joined_arrays() -> Definition {
    Definition {
        name: "nacre_joined_arrays",
        takes: |types| match types {
            [list @ DataType::List(_), DataType::List(_) | DataType::Null]
            | [DataType::Null, list @ DataType::List(_)] => Some(vec![list.clone(); 2]),
            [list @ DataType::List(item), _] => Some(vec![list.clone(), item.data_type().clone()]),
            [_, list @ DataType::List(item)] => Some(vec![item.data_type().clone(), list.clone()]),
            _ => None,
        },
        returns: |types, _| {
            let list = types.iter().find(|one| matches!(one, DataType::List(_)));
            list.cloned().unwrap_or(DataType::Null)
        },
        volatility: Volatility::Immutable,
        body: joined_lists,
    }
}

/// Has texts and byte strings be views, and leaves all other values as they are.
fn views(types: &[DataType]) -> Vec<DataType> {
    let view = |one: &DataType| match one {
        one if is_text(one) => DataType::Utf8View,
        one if is_bytes(one) => DataType::BinaryView,
        other => other.clone(),
    };
    types.iter().map(view).collect()
}

/// How truth values are written.
#[derive(Clone, Copy)]
enum BooleanStyle {
    Letters,
    Words,
}

/// A column whose values become parts of texts.
struct TextParts<'a> {
    array: &'a ArrayRef,
    texts: TextColumn<'a>,
}

impl<'a> TextParts<'a> {
    fn of(array: &'a ArrayRef) -> Self {
        Self { array, texts: TextColumn::new(array) }
    }

    fn is_null(&self, row: usize) -> bool {
        self.array.is_null(row) || self.array.data_type() == &DataType::Null
    }

    fn append(
        &self,
        row: usize,
        truth: BooleanStyle,
        out: &mut ValueBlocks<StringViewType>,
    ) -> Result<()> {
        match (self.array.data_type(), truth) {
            (DataType::Utf8View, _) => {
                out.append(self.array.as_string_view().value(row).as_bytes())
            }
            (DataType::Boolean, BooleanStyle::Words) => {
                let is_true = self.array.as_boolean().value(row);
                out.append(if is_true { b"true" } else { b"false" })
            }
            _ => {
                let mut text = Vec::new();
                self.texts.put(row, &mut text)?;
                out.append(&text)
            }
        }
    }
}

fn pairs<T: ByteViewType>(
    args: &[ArrayRef],
    rows: usize,
    append: impl Fn(usize, usize, &mut ValueBlocks<T>) -> Result<()>,
) -> Result<ArrayRef> {
    let mut made = ValueBlocks::new(rows);
    let is_null =
        |array: &ArrayRef, row| array.is_null(row) || array.data_type() == &DataType::Null;
    for row in 0..rows {
        if args.iter().any(|array| is_null(array, row)) {
            made.push_null();
            continue;
        }
        append(0, row, &mut made)?;
        append(1, row, &mut made)?;
        made.end_value()?;
    }
    made.finish()
}

/// Writes the values that are not null one behind the other.
fn separated(between: Option<&ArrayRef>, args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
    let parts: Vec<TextParts<'_>> = args.iter().map(TextParts::of).collect();
    let mut made = ValueBlocks::<StringViewType>::new(rows);
    for row in 0..rows {
        let between = match between {
            None => "",
            Some(between) if between.is_null(row) => {
                made.push_null();
                continue;
            }
            Some(between) => between.as_string_view().value(row),
        };
        let mut is_first = true;
        for part in parts.iter().filter(|part| !part.is_null(row)) {
            if !is_first {
                made.append(between.as_bytes())?;
            }
            is_first = false;
            part.append(row, BooleanStyle::Letters, &mut made)?;
        }
        made.end_value()?;
    }
    made.finish()
}

fn characters(args: &[ArrayRef], rows: usize, _: &DataType) -> Result<ArrayRef> {
    let numbers = args[0].as_primitive::<Int64Type>();
    let mut made = ValueBlocks::<StringViewType>::new(rows);
    let refused =
        |message: String, code| Err(Error::new(ErrorKind::InvalidData, message).with_code(code));
    for number in numbers {
        let Some(number) = number else {
            made.push_null();
            continue;
        };
        match u32::try_from(number).ok().map(|number| (number, char::from_u32(number))) {
            None if number < 0 => {
                return refused("character number must be positive".to_owned(), "22023");
            }
            Some((0, _)) => return refused("null character not permitted".to_owned(), "54000"),
            Some((_, Some(one))) => {
                made.push_option(Some(one.encode_utf8(&mut [0; 4]).as_bytes()))?;
            }
            Some((0xd800..=0xdfff, None)) => {
                let message = format!("requested character not valid for encoding: {number}");
                return refused(message, "54000");
            }
            _ => {
                let message = format!("requested character too large for encoding: {number}");
                return refused(message, "54000");
            }
        }
    }
    made.finish()
}

/// A list that is null counts as one without elements, unless both are null.
fn joined_lists(args: &[ArrayRef], rows: usize, returned: &DataType) -> Result<ArrayRef> {
    let DataType::List(item) = returned else {
        return Err(Error::new(ErrorKind::Internal, "arrays that are none"));
    };
    let sides: Vec<ArrayOperand<'_>> = args.iter().map(ArrayOperand::of).collect();
    let data: Vec<_> = sides.iter().map(|side| side.values().to_data()).collect();
    let mut made = MutableArrayData::new(data.iter().collect(), false, 0);
    let (mut lengths, mut validity) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    for row in 0..rows {
        let mut length = 0;
        for (number, side) in sides.iter().enumerate() {
            let (start, end) = side.range(row);
            made.try_extend(number, start, end)?;
            length += end - start;
        }
        lengths.push(length);
        validity.push(sides.iter().any(|side| side.is_there(row)));
    }
    if lengths.iter().sum::<usize>() > i32::MAX as usize {
        return Err(super::value_blocks::too_long());
    }
    let (offsets, values) = (OffsetBuffer::from_lengths(lengths), make_array(made.freeze()));
    let nulls = NullBuffer::from(validity);
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, Some(nulls))?))
}

/// An operand of `||` between arrays.
enum ArrayOperand<'a> {
    List(&'a ListArray),
    Element(&'a ArrayRef),
}

impl<'a> ArrayOperand<'a> {
    fn of(array: &'a ArrayRef) -> Self {
        match array.data_type() {
            DataType::List(_) => Self::List(array.as_list()),
            _ => Self::Element(array),
        }
    }

    fn values(&self) -> &ArrayRef {
        match self {
            Self::List(lists) => lists.values(),
            Self::Element(elements) => elements,
        }
    }

    fn range(&self, row: usize) -> (usize, usize) {
        match self {
            Self::List(lists) if lists.is_null(row) => (0, 0),
            Self::List(lists) => {
                let place = |at: usize| usize::try_from(lists.value_offsets()[at]).unwrap_or(0);
                (place(row), place(row + 1))
            }
            Self::Element(_) => (row, row + 1),
        }
    }

    fn is_there(&self, row: usize) -> bool {
        match self {
            Self::List(lists) => lists.is_valid(row),
            Self::Element(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{BooleanArray, Int32Array, StringViewArray};

    use super::*;

    #[test]
    fn truth_values_are_words_beside_texts_and_letters_in_lists() {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![Some("x"), None]));
        let truths: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        let args = [truths, texts];
        let strict = (joined().body)(&args, 2, &DataType::Utf8View).unwrap();
        assert_eq!(strict.as_string_view(), &StringViewArray::from(vec![Some("truex"), None]));
        let lenient = separated(None, &args, 2).unwrap();
        assert_eq!(lenient.as_string_view(), &StringViewArray::from(vec!["tx", "f"]));
    }

    #[test]
    fn characters_have_numbers_that_unicode_has() {
        for (number, code) in [(0, "54000"), (-1, "22023"), (0x11_0000, "54000"), (0xd800, "54000")]
        {
            let numbers: ArrayRef =
                Arc::new(datafusion::arrow::array::Int64Array::from(vec![number]));
            let error = characters(&[numbers], 1, &DataType::Utf8View).unwrap_err();
            assert_eq!(error.sqlstate(), code, "{number}");
        }
    }

    #[test]
    fn arrays_are_joined_with_arrays_and_elements() {
        let lists = |lists: Vec<Option<Vec<Option<i32>>>>| -> ArrayRef {
            Arc::new(
                ListArray::from_iter_primitive::<datafusion::arrow::datatypes::Int32Type, _, _>(
                    lists,
                ),
            )
        };
        let one = lists(vec![Some(vec![Some(1)]), None, None]);
        let other = lists(vec![Some(vec![Some(2), None]), Some(vec![]), None]);
        let returned = one.data_type().clone();
        let made = joined_lists(&[Arc::clone(&one), other], 3, &returned).unwrap();
        assert_eq!(&made, &lists(vec![Some(vec![Some(1), Some(2), None]), Some(vec![]), None]));
        let elements: ArrayRef = Arc::new(Int32Array::from(vec![Some(7), None, Some(8)]));
        let made = joined_lists(&[elements, one], 3, &returned).unwrap();
        assert_eq!(
            &made,
            &lists(vec![Some(vec![Some(7), Some(1)]), Some(vec![None]), Some(vec![Some(8)])])
        );
    }
}
