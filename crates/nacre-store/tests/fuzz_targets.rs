//! The fuzz targets, which nothing else of the workspace builds: each takes a few inputs, so that
//! they follow the code that they ask. `docs/fuzzing.md` says how to let them run for long.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use nacre_column::ColumnType;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

#[allow(unreachable_pub, reason = "a crate of its own elsewhere")]
#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use targets::Format;

/// Runs a target on inputs of up to `bytes_max` random bytes.
fn run(cases: u32, bytes_max: usize, target: impl Fn(&[u8])) {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(cases));
    let inputs = prop::collection::vec(any::<u8>(), 0..=bytes_max);
    let ran = runner.run(&inputs, |input| {
        target(&input);
        Ok(())
    });
    ran.unwrap();
}

#[test]
fn targets_of_blocks_find_nothing_in_random_bytes() {
    run(256, 400, targets::any_block);
    for format in Format::ALL {
        if format.can_hold(ColumnType::BigInt) {
            run(16, 400, |input| targets::numbers(format, input));
        }
        if format.can_hold(ColumnType::Bytea) {
            run(16, 400, |input| targets::strings(format, input));
        }
    }
}

#[test]
fn targets_of_files_find_nothing_in_random_bytes() {
    run(16, 200, targets::manifest_record);
    run(16, 200, targets::pool_set);
    run(16, 200, targets::store_directory);
}

#[test]
fn targets_of_the_redo_log_find_nothing_in_random_bytes() {
    run(64, 200, targets::redo_log);
    run(256, 200, targets::redo_records);
}
