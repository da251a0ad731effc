//! Step 5: flip one byte of every replica of a block on disk, see who notices, flip them back.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nacre_sql::ErrorKind;

use crate::demo::Story;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::tpch::{Table, table};

/// The column whose block is damaged, and a query that must read it.
const DAMAGED_COLUMN: &str = "l_extendedprice";
const DAMAGED_QUERY: &str = "SELECT sum(l_extendedprice + l_tax) FROM lineitem";

/// A query over other columns of the same table.
const OTHER_QUERY: &str = "SELECT sum(l_quantity + l_discount), max(l_shipdate) FROM lineitem";

/// Where a byte of each replica of a block lies.
struct Place {
    bytes: Vec<(PathBuf, u64)>,
    chunk: u64,
}

pub(super) async fn flip_a_byte(story: &Story) -> Result<()> {
    let console = story.console;
    console.line("\n5. Flip one byte of a block on disk")?;
    let engine = story.open().await?;
    let sum = engine.line(DAMAGED_QUERY).await?;
    let other = engine.line(OTHER_QUERY).await?;
    let place = middle_of_a_block(&engine)?;
    drop(engine);

    flip_all(&place)?;
    for (file, offset) in &place.bytes {
        console.line(format_args!(
            "   byte {offset} of {}, in lineitem.{DAMAGED_COLUMN}, chunk {}",
            file.file_name().unwrap_or_default().to_string_lossy(),
            place.chunk
        ))?;
    }
    let seen = see_the_damage(story, &place, &other).await;
    // Whatever was seen, the byte is flipped back first: a kept directory is a sound database.
    flip_all(&place)?;
    seen?;

    let engine = story.open().await?;
    let again = engine.line(DAMAGED_QUERY).await?;
    if again != sum {
        let message = format!("`{DAMAGED_QUERY}` answered {sum} before the damage, now {again}");
        return Err(Error::Deviation(message));
    }
    console.line("   the bytes are flipped back: the query answers what it answered before")
}

async fn see_the_damage(story: &Story, place: &Place, other: &str) -> Result<()> {
    let engine = story.open().await?;
    match engine.try_query(DAMAGED_QUERY).await? {
        Ok(answer) => {
            return Err(Error::Deviation(format!(
                "a damaged block was read without an error: `{DAMAGED_QUERY}` answered {}",
                answer.to_line()
            )));
        }
        Err(error) => {
            check_message(&error, place)?;
            story.console.line(format_args!("   {DAMAGED_QUERY}\n   -> error: {error}"))?;
        }
    }
    let now = engine.line(OTHER_QUERY).await?;
    if now != other {
        return Err(Error::Deviation(format!(
            "`{OTHER_QUERY}` answered {other} before the damage of another column, now {now}"
        )));
    }
    story
        .console
        .line(format_args!("   {OTHER_QUERY}\n   -> {now}, as before: other columns answer"))
}

/// The error must say that data are damaged, and name table, column and chunk.
fn check_message(error: &nacre_sql::Error, place: &Place) -> Result<()> {
    let text = format!("{error} {}", error.detail().unwrap_or_default());
    let chunk = format!("chunk {}", place.chunk);
    let names_all = ["lineitem", DAMAGED_COLUMN, &chunk].iter().all(|name| text.contains(name));
    if error.kind() == ErrorKind::DataCorrupted && names_all {
        return Ok(());
    }
    Err(Error::Deviation(format!(
        "reading a damaged block of lineitem.{DAMAGED_COLUMN}, {chunk}, fails with another error: \
         {error} ({:?})",
        error.kind()
    )))
}

/// Finds the bytes in the middle of the column's block in the middle chunk.
fn middle_of_a_block(engine: &Engine) -> Result<Place> {
    let deviation = |message: &str| Error::Deviation(format!("lineitem: {message}"));
    let column = table("lineitem").and_then(column_index).ok_or_else(|| deviation("no column"))?;
    let table = engine.database().store().table("lineitem");
    let snapshot = table.map_err(|error| deviation(&error.to_string()))?.snapshot();
    let chunks = snapshot.chunks().map_err(|error| deviation(&error.to_string()))?;
    let chunk = chunks.get(chunks.len() / 2).ok_or_else(|| deviation("no chunk"))?;
    let replicas = chunk.locations(column).into_iter();
    let bytes: Vec<(PathBuf, u64)> = replicas
        .filter_map(|block| Some((block.pool_path?, block.offset + block.bytes / 2)))
        .collect();
    match bytes.is_empty() {
        true => Err(deviation("its blocks are in no file")),
        false => Ok(Place { bytes, chunk: chunk.number() }),
    }
}

fn flip_all(place: &Place) -> Result<()> {
    place.bytes.iter().try_for_each(|(file, offset)| flip(file, *offset))
}

fn column_index(table: &Table) -> Option<usize> {
    table.columns.iter().position(|column| column.name == DAMAGED_COLUMN)
}

/// Inverts all bits of one byte of a file.
fn flip(path: &Path, offset: u64) -> Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(Error::io("open", path))?;
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).map_err(Error::io("read", path))?;
    file.write_all_at(&[!byte[0]], offset).map_err(Error::io("write", path))?;
    file.sync_data().map_err(Error::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flipping_twice_restores_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("block");
        std::fs::write(&path, b"abc").unwrap();
        flip(&path, 1).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), [b'a', !b'b', b'c']);
        flip(&path, 1).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
        assert!(flip(&path, 3).is_err());
    }

    #[test]
    fn error_that_names_no_chunk_is_a_deviation() {
        let place = Place { file: PathBuf::new(), offset: 0, chunk: 4 };
        let error = |message: &str| nacre_sql::Error::new(ErrorKind::DataCorrupted, message);
        assert!(check_message(&error("chunk 4 of lineitem.l_extendedprice: bad"), &place).is_ok());
        assert!(check_message(&error("lineitem.l_extendedprice: bad"), &place).is_err());
    }
}
