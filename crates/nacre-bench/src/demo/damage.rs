//! Step 5: flip a byte of one replica of a block on disk and see that nobody notices, then of all
//! replicas, and see who does.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nacre_sql::ErrorKind;
use nacre_store::{AccessHint, Chunk};

use crate::demo::Story;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::tpch::table;
use crate::workload::Table;

/// The column whose block is damaged, and a query that must read it.
const DAMAGED_COLUMN: &str = "l_extendedprice";
const DAMAGED_QUERY: &str = "SELECT sum(l_extendedprice + l_tax) FROM lineitem";

/// A query over other columns of the same table.
const OTHER_QUERY: &str = "SELECT sum(l_quantity + l_discount), max(l_shipdate) FROM lineitem";

/// Replicas that are not whole.
const LOST_QUERY: &str = "SELECT count(*) FROM nacre_replicas WHERE state <> 'good'";

/// How long a replica may take to be written again.
const MEND_WAIT_MAX: Duration = Duration::from_secs(20);

/// Where a byte of a replica of a block lies.
struct Place {
    file: PathBuf,
    offset: u64,
    chunk: u64,
}

pub(super) async fn flip_a_byte(story: &Story) -> Result<()> {
    let console = story.console;
    console.line("\n5. Flip one byte of a block on disk")?;
    let engine = story.open().await?;
    let sum = engine.line(DAMAGED_QUERY).await?;
    let other = engine.line(OTHER_QUERY).await?;
    let place = read_replica(&engine)?;
    drop(engine);

    flip(&place.file, place.offset)?;
    console.line(format_args!(
        "   byte {} of {}, in lineitem.{DAMAGED_COLUMN}, chunk {}",
        place.offset,
        place.file.file_name().unwrap_or_default().to_string_lossy(),
        place.chunk
    ))?;
    let engine = story.open().await?;
    expect(&engine, DAMAGED_QUERY, &sum).await?;
    console.line("   the query answers what it answered before, from another replica")?;
    mended(&engine).await?;
    console.line("   and the replica has been written again")?;
    let places = all_replicas(&engine)?;
    drop(engine);

    console.line(format_args!("   now the same block in all {} replicas", places.len()))?;
    flip_all(&places)?;
    let seen = see_the_damage(story, &place, &other).await;
    // Whatever was seen, the bytes are flipped back first: a kept directory is a sound database.
    flip_all(&places)?;
    seen?;
    expect(&story.open().await?, DAMAGED_QUERY, &sum).await?;
    console.line("   the bytes are flipped back: the query answers what it answered before")
}

async fn expect(engine: &Engine, query: &str, before: &str) -> Result<()> {
    let now = engine.line(query).await?;
    if now == before {
        return Ok(());
    }
    Err(Error::Deviation(format!("`{query}` answered {before} before the damage, now {now}")))
}

/// Waits until no replica is lost.
async fn mended(engine: &Engine) -> Result<()> {
    let start = Instant::now();
    loop {
        let lost = engine.line(LOST_QUERY).await?;
        if lost == "0" {
            return Ok(());
        }
        if start.elapsed() > MEND_WAIT_MAX {
            let message = format!("{lost} replicas are lost and were not written again");
            return Err(Error::Deviation(message));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
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
    expect(&engine, OTHER_QUERY, other).await?;
    story
        .console
        .line(format_args!("   {OTHER_QUERY}\n   -> {other}, as before: other columns answer"))
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

/// Returns the column's chunk in the middle of the table, and the column's index.
fn middle_chunk(engine: &Engine) -> Result<(Chunk, usize)> {
    let deviation = |message: &str| Error::Deviation(format!("lineitem: {message}"));
    let column = table("lineitem").and_then(column_index).ok_or_else(|| deviation("no column"))?;
    let table = engine.database().store().table("lineitem");
    let snapshot = table.map_err(|error| deviation(&error.to_string()))?.snapshot();
    let chunks = snapshot.chunks().map_err(|error| deviation(&error.to_string()))?;
    let chunk = chunks.get(chunks.len() / 2).ok_or_else(|| deviation("no chunk"))?;
    Ok((chunk.clone(), column))
}

/// Finds the bytes in the middle of all replicas of the block.
fn all_replicas(engine: &Engine) -> Result<Vec<Place>> {
    let (chunk, column) = middle_chunk(engine)?;
    let place = |block: nacre_store::BlockLocation| {
        let offset = block.offset + block.bytes / 2;
        Some(Place { file: block.pool_path?, offset, chunk: chunk.number() })
    };
    Ok(chunk.locations(column).into_iter().filter_map(place).collect())
}

/// Finds the byte in the middle of the replica that queries read.
fn read_replica(engine: &Engine) -> Result<Place> {
    let (chunk, column) = middle_chunk(engine)?;
    let read = chunk.read(column, AccessHint::Sequential);
    let replica = read.map_err(|error| Error::Deviation(error.to_string()))?.replica();
    let replicas = chunk.locations(column).into_iter().map(|block| block.replica);
    let place = replicas.zip(all_replicas(engine)?).find(|(number, _)| *number == replica);
    let place = place.map(|(_, place)| place);
    place.ok_or_else(|| Error::Deviation("lineitem: its blocks are in no file".into()))
}

fn column_index(table: &Table) -> Option<usize> {
    table.columns.iter().position(|column| column.name == DAMAGED_COLUMN)
}

fn flip_all(places: &[Place]) -> Result<()> {
    places.iter().try_for_each(|place| flip(&place.file, place.offset))
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
