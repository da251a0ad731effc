//! Ranges of rows for threads.

use std::ops::Range;
use std::thread;

/// Calls `work` for equal ranges of `rows`, each in a thread of its own, or here if it is one.
/// Returns what it returns, in the order of the ranges.
pub(super) fn split<T: Send>(
    rows: usize,
    threads: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let threads = threads.max(1);
    if threads == 1 {
        return vec![work(0..rows)];
    }
    let bound = |index: usize| (rows as u128 * index as u128 / threads as u128) as usize;
    let work = &work;
    thread::scope(|scope| {
        let spawn = |index| scope.spawn(move || work(bound(index)..bound(index + 1)));
        let workers: Vec<_> = (0..threads).map(spawn).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, T>| match worker.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        workers.into_iter().map(join).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_every_row_once_and_in_order() {
        for (rows, threads) in [(0, 3), (10, 1), (10, 3), (2, 5), (7, 0)] {
            let ranges = split(rows, threads, |range| range);
            assert_eq!(ranges.len(), threads.max(1));
            assert!(ranges.into_iter().flatten().eq(0..rows), "{rows} {threads}");
        }
    }
}
