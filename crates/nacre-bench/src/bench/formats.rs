//! `nacre bench formats`: what each format makes of integers, and how fast.
//!
//! Question: how small does a format make the four data sets of Table 3.2, and what do encoding and
//! decoding cost in each SIMD flavour? Baseline: the format `plain`, which copies. If the feature
//! `rivals` is on, other people's crates with the same schemes run in turn with ours.
//!
//! How: a data set is cut into rounds, so that a round's values do not fit the caches. In each
//! round every contestant encodes all its chunks of 65,536 values, then decodes them; medians of
//! the rounds are reported. In the first round what was decoded is compared with the values.
//!
//! Kept equal: 32-bit values, chunks, one thread, output that stays in the cache. Not equal: our
//! encoding returns a block that was checksummed, decoded again and compared, with its aggregates;
//! so a rival's encoding is given alone and with checksum, decoding and comparison.
//!
//! # Source
//! [Zarubin22 3.3.1] Table 3.2, Figures 3.12 and 3.13.

mod contestant;
mod ours;
#[cfg(feature = "rivals")]
mod rivals;
mod slice;
mod table;

use std::time::{Duration, Instant};

use nacre_column::{BlockErrorKind, CHUNK_ROWS, ColumnType, Flavour, Format};

use self::contestant::Contestant;
use self::slice::Slice;
use crate::bench::Setup;
use crate::dataset::DataSet;
use crate::error::{Error, Result};
use crate::format::{count, median};
use crate::memory;
use crate::report::Report;

/// Values of a data set, as in the paper.
const VALUES: u64 = 100_000_000;
const VALUES_QUICK: u64 = 1_000_000;

const ROUNDS: u64 = 5;
const ROUNDS_QUICK: u64 = 3;

/// Bytes that a value of a round takes at most while it is measured: the column, the numbers for
/// rivals twice, and twice the largest encoding.
const BYTES_PER_VALUE: u64 = 8 + 4 + 4 + 2 * 9;

/// The type of the columns: its plain values are as wide as the rivals' numbers.
const COLUMN_TYPE: ColumnType = ColumnType::Integer;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// Chunks of each round.
    chunks: u64,
    rounds: u64,
}

/// What one contestant did with one data set.
#[derive(Debug)]
struct Figures {
    name: String,
    /// The format and flavour; `None` for a rival.
    ours: Option<(Format, Flavour)>,
    /// The formats of ours that have the rival's scheme.
    schemes: &'static [Format],
    bytes: u64,
    encode: Vec<Duration>,
    /// Encoding and proving that it can be decoded.
    encode_checked: Vec<Duration>,
    decode: Vec<Duration>,
}

impl Size {
    fn choose(setup: &Setup) -> Result<Self> {
        let is_quick = setup.is_quick;
        let wanted = setup.values.unwrap_or(if is_quick { VALUES_QUICK } else { VALUES });
        let rounds = if is_quick { ROUNDS_QUICK } else { ROUNDS };
        // Only one round's values are there at a time.
        let values = memory::fit(setup.console, wanted, BYTES_PER_VALUE.div_ceil(rounds))?;
        Ok(Self { chunks: values.div_ceil(rounds * CHUNK_ROWS as u64).max(1), rounds })
    }

    fn values(self) -> u64 {
        self.round_values() * self.rounds
    }

    fn round_values(self) -> u64 {
        self.chunks * CHUNK_ROWS as u64
    }
}

impl Figures {
    fn new(contestant: &dyn Contestant) -> Self {
        Self {
            name: contestant.name(),
            ours: contestant.ours(),
            schemes: contestant.schemes(),
            bytes: 0,
            encode: Vec::new(),
            encode_checked: Vec::new(),
            decode: Vec::new(),
        }
    }

    fn bits_per_value(&self, size: Size) -> f64 {
        self.bytes as f64 * 8.0 / size.values() as f64
    }
}

/// Returns nanoseconds for each value of a round.
fn ns_per_value(time: Duration, size: Size) -> f64 {
    time.as_secs_f64() * 1e9 / size.round_values() as f64
}

/// Measures all data sets.
pub(super) fn run(setup: &Setup, report: &mut Report) -> Result<()> {
    let size = Size::choose(setup)?;
    setup.console.line(format_args!(
        "Formats: {} values of 32 bits a data set in {} rounds, blocks of {} values, 1 thread",
        count(size.values()),
        size.rounds,
        count(CHUNK_ROWS as u64)
    ))?;
    if cfg!(not(feature = "rivals")) {
        setup.console.line("Other people's crates: not built in (cargo feature rivals)")?;
    }
    for set in DataSet::TABLE_3_2 {
        let figures = measure(setup, set, size)?;
        table::print(setup, report, set, size, &figures)?;
    }
    Ok(())
}

fn measure(setup: &Setup, set: DataSet, size: Size) -> Result<Vec<Figures>> {
    let mut contestants = ours::contestants();
    #[cfg(feature = "rivals")]
    contestants.extend(rivals::contestants(set));
    let mut figures: Vec<Option<Figures>> =
        contestants.iter().map(|contestant| Some(Figures::new(contestant.as_ref()))).collect();
    let mut values = set.values(size.values());
    for round in 0..size.rounds {
        setup.interrupt.check()?;
        let slice = Slice::take(&mut values, size.chunks);
        for (contestant, figures) in contestants.iter_mut().zip(&mut figures) {
            setup.interrupt.check()?;
            let Some(one) = figures else {
                continue;
            };
            match run_round(contestant.as_mut(), &slice, one, round == 0) {
                // Such as a dictionary of too many numbers.
                Err(Error::Column { source, .. }) if source.kind() == BlockErrorKind::Misuse => {
                    contestant.clear();
                    *figures = None;
                }
                outcome => outcome?,
            }
        }
    }
    Ok(figures.into_iter().flatten().collect())
}

/// Lets one contestant encode and decode one slice.
fn run_round(
    contestant: &mut dyn Contestant,
    slice: &Slice,
    figures: &mut Figures,
    compares: bool,
) -> Result<()> {
    let start = Instant::now();
    contestant.encode(slice)?;
    let encode = start.elapsed();

    let start = Instant::now();
    for chunk in 0..slice.chunks() {
        std::hint::black_box(contestant.decode(chunk)?.len());
    }
    figures.decode.push(start.elapsed());
    figures.encode.push(encode);
    figures.encode_checked.push(match figures.ours {
        Some(_) => encode,
        None => encode + check_time(contestant, slice)?,
    });
    figures.bytes += contestant.bytes();
    if compares {
        compare(contestant, slice)?;
    }
    contestant.clear();
    Ok(())
}

/// Measures what our encoding does besides: checksum, decoding, comparison.
fn check_time(contestant: &mut dyn Contestant, slice: &Slice) -> Result<Duration> {
    let start = Instant::now();
    std::hint::black_box(contestant.checksum());
    compare(contestant, slice)?;
    Ok(start.elapsed())
}

fn compare(contestant: &mut dyn Contestant, slice: &Slice) -> Result<()> {
    for chunk in 0..slice.chunks() {
        if !contestant.decode(chunk)?.equals(slice, chunk) {
            let name = contestant.name();
            return Err(Error::Deviation(format!("{name}: chunk {chunk} decodes to other values")));
        }
    }
    Ok(())
}
