//! A persistent list of transfers in a replicated pool set, from creation to the loss of a member.
//!
//! Run it with `cargo run -p nacre-pmem --example account_book`.

use nacre_pmem::heap::Heap;
use nacre_pmem::transaction_log::Transaction;
use nacre_pmem::{Access, Domain, PoolSet, PoolSetOptions, Result};

/// Bytes of an entry: the offset of the next one, then the amount.
const ENTRY_BYTES: u64 = 16;

fn main() -> Result<()> {
    let directory = std::env::temp_dir().join(format!("account-book-{}", std::process::id()));
    let main = Domain::create("main", &directory.join("main"))?;
    let mirror = Domain::create("mirror", &directory.join("mirror"))?;
    let result = run(&[main, mirror], &directory);
    // What is left of an example is nobody's data.
    let _ = std::fs::remove_dir_all(&directory);
    result
}

fn run(domains: &[Domain], directory: &std::path::Path) -> Result<()> {
    let mut set = PoolSet::create("book", domains, &PoolSetOptions::new(1 << 20))?;
    let mut heap = Heap::create(&mut set)?;
    for amount in [100, -30, 7] {
        set.transaction(|tx| push(&mut heap, tx, amount))?;
    }
    // A transaction that fails leaves no trace, in no member.
    let refused = set.transaction(|tx| {
        push(&mut heap, tx, 1_000_000)?;
        heap.alloc(tx, 1 << 40).map(|_| ())
    });
    println!("refused: {}", refused.err().map_or("nothing".to_string(), |error| error.to_string()));
    println!("sum {}", sum(&heap, &set)?);
    set.close()?;

    // The first member is lost; the second serves, and the first is rebuilt from it.
    println!("removing {}", directory.join("main/book.0").display());
    domains[0].remove_pool("book.0")?;
    let mut set = PoolSet::open("book", domains, Access::ReadWrite)?;
    let heap = Heap::open(&mut set)?;
    println!("sum {} with {} of 2 members", sum(&heap, &set)?, set.copy_count());
    while !set.rebuild_step(1 << 20)?.is_done {}
    println!("sum {} with {} of 2 members", sum(&heap, &set)?, set.copy_count());
    set.close()
}

/// Puts an entry in front of the list.
fn push(heap: &mut Heap, tx: &mut Transaction<'_>, amount: i64) -> Result<()> {
    let next = heap.root(tx.set())?.unwrap_or(0);
    let entry = heap.alloc(tx, ENTRY_BYTES)?;
    tx.write_new(entry.offset, &next.to_le_bytes())?;
    tx.write_new(entry.offset + 8, &amount.to_le_bytes())?;
    heap.set_root(tx, entry.offset)
}

fn sum(heap: &Heap, set: &PoolSet) -> Result<i64> {
    let mut sum = 0;
    let mut next = heap.root(set)?.unwrap_or(0);
    while next != 0 {
        sum += set.load_u64(next + 8)?.cast_signed();
        next = set.load_u64(next)?;
    }
    Ok(sum)
}
