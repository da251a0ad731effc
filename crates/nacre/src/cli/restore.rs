//! `nacre restore`: a database as it was at a moment, of a backup and an archive.

use std::io::Write as _;

use nacre_sql::datafusion::arrow::compute::kernels::cast_utils::string_to_timestamp_nanos;
use nacre_store::{Lsn, RestoreOptions, RestoreReport, RestoreTarget, restore};

use super::arguments::RestoreArguments;
use super::describe::bytes_text;
use super::output::Output;
use super::place::Place;
use super::report;

/// It cannot be restored.
const EXIT_UNUSABLE: u8 = 1;

/// Restores and returns the exit code.
pub(crate) fn run(given: RestoreArguments) -> u8 {
    let RestoreArguments { backup, archive, to, into } = given;
    let target = to.unwrap_or(RestoreTarget::Latest);
    let options = RestoreOptions { backup, archive, target, into };
    match restore(&options) {
        Ok(report) => {
            let mut output = Output::stdout();
            // Nobody is left to tell if standard output is closed.
            let _ = output.write_all(summary(&report).as_bytes()).and_then(|()| output.flush());
            0
        }
        Err(error) => {
            report::print_message(&error.to_string(), None, &Place::Typed);
            EXIT_UNUSABLE
        }
    }
}

fn summary(report: &RestoreReport) -> String {
    let RestoreReport { moment, pool_bytes, log_bytes } = report;
    let (commit, lsn) = (moment.commit.0, moment.lsn.0);
    let (pools, log) = (bytes_text(*pool_bytes), bytes_text(*log_bytes));
    format!(
        "restored up to commit {commit}, byte {lsn} of the redo log: {pools} and {log} of log\n"
    )
}

/// Parses the moment to restore: digits alone are a position.
pub(super) fn parse_target(text: &str) -> Result<RestoreTarget, String> {
    if let Ok(position) = text.parse() {
        return Ok(RestoreTarget::Lsn(Lsn(position)));
    }
    let nanos = string_to_timestamp_nanos(text).map_err(
        |_| "it is neither a time such as '2026-03-01 12:00:00' nor a position of the redo log",
    )?;
    let micros = u64::try_from(nanos / 1_000).map_err(|_| "it is before 1970")?;
    Ok(RestoreTarget::Time(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_is_a_time_or_a_position() {
        assert_eq!(parse_target("1234"), Ok(RestoreTarget::Lsn(Lsn(1_234))));
        let noon = RestoreTarget::Time(1_772_366_400_000_000);
        for text in ["2026-03-01 12:00:00", "2026-03-01T12:00:00Z", "2026-03-01 13:00:00+01:00"] {
            assert_eq!(parse_target(text), Ok(noon), "{text}");
        }
        for text in ["", "noon", "1960-01-01", "-5"] {
            assert!(parse_target(text).is_err(), "{text}");
        }
    }
}
