//! Rows of a bulk load: do they have their parents?
//!
//! The distinct keys that the load refers to are collected, in passes over parts of the keys' hash
//! space so that memory is bounded; those that frozen chunks of the parent have are taken out, a
//! chunk after the other, and the rest is looked for among hot rows.
//!
//! # Concurrency
//! The load is announced before, so whoever deletes a key of the parent looks at its rows.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::check::violation;
use super::links::ForeignKey;
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::hot::KeyClaim;
use crate::stored_load::StoredLoad;
use crate::table::Table;
use crate::uniqueness::{PASS_ROWS_MAX, for_each_key, hash};
use crate::value::ValueRef;

/// Keys of the parent, with the first row of the load that refers to each.
type Wanted = BTreeMap<Vec<u8>, (usize, usize)>;

/// Checks the rows of an announced load.
///
/// # Errors
/// [`Error::ForeignKeyViolation`]; [`Error::SerializationConflict`] if a transaction that has not
/// ended inserted or deleted a row that is referred to; a damaged block.
pub(crate) fn check_load(table: &Arc<Table>, load: &Arc<StoredLoad>) -> Result<()> {
    let Some(links) = table.links().get().filter(|links| !links.outgoing.is_empty()) else {
        return Ok(());
    };
    let open = load.open()?;
    let chunks: Vec<Chunk> = (0..open.chunks.len())
        .map(|index| Chunk::new(table, load, &open, index, index as u64))
        .collect();
    let rows: u64 = chunks.iter().map(|chunk| chunk.rows() as u64).sum();
    let passes = rows.div_ceil(PASS_ROWS_MAX).max(1);
    for key in &links.outgoing {
        let (_, parent) = key.tables()?;
        parent.require_undropped()?;
        for pass in 0..passes {
            // Keys missing in a parent that was dropped during the pass prove nothing.
            let checked = check_pass(key, (table, &chunks), &parent, (pass, passes));
            checked.or_else(|error| parent.require_undropped().and(Err(error)))?;
        }
    }
    Ok(())
}

fn check_pass(
    key: &ForeignKey,
    (child, chunks): (&Arc<Table>, &[Chunk]),
    parent: &Arc<Table>,
    (pass, passes): (u64, u64),
) -> Result<()> {
    let mut wanted = Wanted::new();
    for (number, chunk) in chunks.iter().enumerate() {
        collect(key, (child, parent), (number, chunk), (pass, passes), &mut wanted)?;
    }
    let (index, view) = (key.parent_index(), child.load_view());
    let others = parent.snapshot().chunks()?;
    if Arc::ptr_eq(child, parent) {
        // The load itself may have what it refers to.
        for chunk in chunks {
            for_each_key(index, chunk, |_, bytes, _| {
                wanted.remove(bytes);
                Ok(())
            })?;
        }
    }
    let mut is_pending = false;
    for chunk in &others {
        if wanted.is_empty() {
            return Ok(());
        }
        let range = chunk.key_range().filter(|_| index.is_primary(parent));
        let may_have = range.is_none_or(|range| {
            let bounds = (Bound::Included(&range.min), Bound::Included(&range.max));
            wanted.range::<Vec<u8>, _>(bounds).next().is_some()
        });
        if !may_have {
            continue;
        }
        for_each_key(index, chunk, |row, bytes, _| {
            if wanted.contains_key(bytes) {
                let id = chunk.row_id(row as u16);
                match id.map_or(Some(KeyClaim::Taken), |id| parent.claim(id, view)) {
                    Some(KeyClaim::Taken) => drop(wanted.remove(bytes)),
                    Some(_) => is_pending = true,
                    None => {}
                }
            }
            Ok(())
        })?;
    }
    wanted.retain(|bytes, _| {
        let claims = index.rows_of(bytes).into_iter();
        let claims: Vec<KeyClaim> = claims.filter_map(|row| parent.claim(row, view)).collect();
        let is_there = claims.contains(&KeyClaim::Taken);
        is_pending |= !is_there && !claims.is_empty();
        !is_there
    });
    match wanted.values().min() {
        None => Ok(()),
        Some(_) if is_pending => {
            let name = &key.definition().name;
            let reason = format!(
                "a transaction that has not ended inserted or deleted a row that the load refers \
                 to (constraint \"{name}\")"
            );
            let table = parent.schema().name.clone();
            Err(Error::SerializationConflict { table, reason })
        }
        Some(&(chunk, row)) => missing(key, (child, parent), (&chunks[chunk], row)),
    }
}

/// Collects the keys that rows of a chunk refer to and that belong to a pass.
fn collect(
    key: &ForeignKey,
    (child, parent): (&Table, &Table),
    (number, chunk): (usize, &Chunk),
    (pass, passes): (u64, u64),
    wanted: &mut Wanted,
) -> Result<()> {
    let columns = &key.definition().columns;
    let buffers = columns.iter().map(|&column| chunk.decode(column)).collect::<Result<Vec<_>>>()?;
    let mut bytes = Vec::new();
    for row in 0..chunk.rows() {
        let values: Vec<ValueRef<'_>> =
            buffers.iter().map(|buffer| ValueRef::of(buffer, row)).collect();
        if values.iter().any(|value| value.is_null()) {
            continue;
        }
        let Some(parent_key) = key.parent_key(parent, &values) else {
            return Err(violation(key, child, parent, &values, false));
        };
        bytes.clear();
        key.parent_index().key().encode(parent_key, &mut bytes);
        if hash(&bytes) % passes == pass && !wanted.contains_key(&bytes) {
            wanted.insert(bytes.clone(), (number, row));
        }
    }
    Ok(())
}

/// Makes the error for a row whose parent is missing.
fn missing(
    key: &ForeignKey,
    (child, parent): (&Table, &Table),
    (chunk, row): (&Chunk, usize),
) -> Result<()> {
    let columns = &key.definition().columns;
    let values =
        columns.iter().map(|&column| chunk.value(column, row)).collect::<Result<Vec<_>>>()?;
    let values: Vec<ValueRef<'_>> = values.iter().map(|value| value.as_ref()).collect();
    Err(violation(key, child, parent, &values, false))
}
