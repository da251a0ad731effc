//! From a block back to a buffer, to compare keys and to write other replicas.

use nacre_column::{Block, BlockError, ByteValues, ColumnBuffer, Physical};
use nacre_simd::Flavour;

/// Decodes all rows of a block.
pub(crate) fn decode(block: &Block<'_>) -> Result<ColumnBuffer, BlockError> {
    let mut column = ColumnBuffer::new(block.column_type());
    let (rows, flavour) = (0..block.rows(), Flavour::active());
    match block.column_type().physical() {
        Physical::Int64 => {
            let mut values = Vec::with_capacity(rows.len());
            block.decode_i64(flavour, rows, &mut values)?;
            push(block, values, &mut column, ColumnBuffer::push_int)?;
        }
        Physical::Int128 => {
            let mut values = Vec::with_capacity(rows.len());
            block.decode_i128(flavour, rows, &mut values)?;
            push(block, values, &mut column, ColumnBuffer::push_int128)?;
        }
        Physical::Float32 => {
            let mut values = Vec::with_capacity(rows.len());
            block.decode_f32(flavour, rows, &mut values)?;
            push(block, values, &mut column, ColumnBuffer::push_float32)?;
        }
        Physical::Float64 => {
            let mut values = Vec::with_capacity(rows.len());
            block.decode_f64(flavour, rows, &mut values)?;
            push(block, values, &mut column, ColumnBuffer::push_float64)?;
        }
        Physical::Bytes => {
            let mut values = ByteValues::default();
            block.decode_bytes(flavour, rows.clone(), &mut values)?;
            let has_nulls = block.header().null_count > 0;
            for row in rows {
                match has_nulls && block.is_null(row)? {
                    true => column.push_null(),
                    false => column.push_bytes(values.get(row)),
                }
            }
        }
    }
    Ok(column)
}

fn push<T>(
    block: &Block<'_>,
    values: Vec<T>,
    column: &mut ColumnBuffer,
    push: impl Fn(&mut ColumnBuffer, T),
) -> Result<(), BlockError> {
    let has_nulls = block.header().null_count > 0;
    for (row, value) in values.into_iter().enumerate() {
        match has_nulls && block.is_null(row)? {
            true => column.push_null(),
            false => push(column, value),
        }
    }
    Ok(())
}
