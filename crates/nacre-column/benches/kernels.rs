//! How fast are kernels on encoded data, against plain data and against what memory can deliver?
//!
//! The two distributions of [Zarubin22 section 4.2.3] in 64-bit columns: random numbers of 32 bits,
//! and numbers of which 99.9 % fit 8 bits. For each operator and format the row gives the time for
//! a value and the bytes read in a second, against the same operator on the plain blocks, run in
//! turn with it (`x plain`), and against the bandwidth that a loop of loads over the plain blocks
//! reaches (`of read`). One thread, best of several rounds.
//!
//! `cargo bench -p nacre-column --bench kernels [-- PREFIX [VALUES]]` prints the rows whose id
//! starts with PREFIX. Without VALUES there are 100 million, so that no cache holds the plain
//! blocks. As a test it checks on a few that all formats and flavours give one answer.
#![allow(clippy::expect_used, reason = "a bench that cannot run may panic where it stands")]

use std::hint::black_box;
use std::time::Instant;

use nacre_column::{
    Block, CHUNK_ROWS, ColumnBuffer, ColumnType, CompareOp, Constant, EncodedBlock, Flavour,
    Format, Restriction, block, kernel,
};
use nacre_simd::{Kernel, Simd};

/// Formats next to plain.
const FORMATS: [Format; 2] = [Format::StaticBp, Format::DynamicBp];

/// Blocks of one column in one format.
struct Column {
    encoded: Vec<EncodedBlock>,
    column_type: ColumnType,
}

impl Column {
    fn new(column_type: ColumnType, values: usize, format: Format, next: Spread) -> Self {
        let mut random = Random(7);
        let mut buffer = ColumnBuffer::new(column_type);
        let mut encoded = Vec::new();
        for start in (0..values).step_by(CHUNK_ROWS) {
            buffer.clear();
            for _ in start..values.min(start + CHUNK_ROWS) {
                buffer.push_int(next(&mut random));
            }
            let block = block::encode_as(&buffer, Flavour::active(), format);
            encoded.push(block.expect("benchmark input encodes"));
        }
        Self { encoded, column_type }
    }

    fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        let column_type = self.column_type;
        let blocks = self.encoded.iter();
        blocks.map(move |block| Block::open(&block.bytes, column_type).expect("opens"))
    }

    fn bytes(&self) -> usize {
        self.encoded.iter().map(|block| block.bytes.len()).sum()
    }
}

type Spread = fn(&mut Random) -> i64;

/// Numbers that look random and repeat from run to run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 ^ self.0 >> 29
    }
}

fn random_32(random: &mut Random) -> i64 {
    (random.next() >> 32) as i64
}

fn mostly_8(random: &mut Random) -> i64 {
    let next = random.next() >> 16;
    if next.is_multiple_of(1_000) { (next >> 16) as i64 } else { (next >> 40) as i64 & 0xff }
}

/// The values that a select keeps, and where a project reads.
struct Work {
    select: Restriction,
    positions: Vec<u16>,
}

/// One pass over all blocks; returns a checksum of the answer.
type Operator = fn(&Column, Flavour, &Work) -> u64;

const OPERATORS: [(&str, Operator); 4] = [
    ("sum", |column, flavour, _| {
        let sum = |block: Block<'_>| kernel::sum(&block, flavour, 0..block.rows());
        column.blocks().fold(0, |all, block| all ^ sum(block).expect("sums").unwrap_or(0) as u64)
    }),
    ("aggregate", |column, flavour, _| {
        column.blocks().fold(0, |all, block| {
            let rows = 0..block.rows();
            let of_block = kernel::aggregate(&block, flavour, rows).expect("aggregates");
            all ^ (of_block.sum.unwrap_or(0) + of_block.max.unwrap_or(0)) as u64
        })
    }),
    ("select", |column, flavour, work| {
        let mut bits = Vec::new();
        column.blocks().fold(0, |all, block| {
            let rows = 0..block.rows();
            let done = kernel::select_bits(&block, flavour, &work.select, rows, &mut bits);
            done.expect("selects");
            all + bits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>()
        })
    }),
    ("project", |column, flavour, work| {
        let mut values = Vec::new();
        column.blocks().fold(0, |all, block| {
            values.clear();
            let used = work.positions.partition_point(|at| usize::from(*at) < block.rows());
            let positions = &work.positions[..used];
            let done = kernel::project(&block, flavour, 0..block.rows(), positions, &mut values);
            done.expect("projects");
            all ^ values.iter().fold(0, |all, value| all + *value as u64)
        })
    }),
];

/// Loads all bytes and does next to nothing with them.
struct ReadAll<'a>(&'a [u8]);

impl Kernel for ReadAll<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> u64 {
        let mut all = [simd.splat(0_u64); 4];
        for bytes in self.0.chunks_exact(4 * S::BYTES) {
            for (all, bytes) in all.iter_mut().zip(bytes.chunks_exact(S::BYTES)) {
                *all = *all ^ simd.load_le(bytes);
            }
        }
        all.into_iter().fold(0, |sum, register| sum ^ register.reduce_sum())
    }
}

/// Returns the least nanoseconds that each of `works` took, run in turn.
fn in_turn<const N: usize>(rounds: usize, mut works: [&mut dyn FnMut() -> u64; N]) -> [f64; N] {
    let mut best = [f64::MAX; N];
    for _ in 0..rounds {
        for (best, work) in best.iter_mut().zip(&mut works) {
            let start = Instant::now();
            black_box(work());
            *best = best.min(start.elapsed().as_nanos() as f64);
        }
    }
    best
}

struct Runner {
    /// 0 to check the answers only.
    rounds: usize,
    values: usize,
    prefix: String,
}

impl Runner {
    fn run(&self, data: &str, column_type: ColumnType, spread: Spread, work: &Work) {
        let plain = Column::new(column_type, self.values, Format::Plain, spread);
        self.compare(data, &plain, None, work);
        for format in FORMATS {
            let column = Column::new(column_type, self.values, format, spread);
            self.compare(data, &plain, Some((format, &column)), work);
        }
    }

    /// Compares a column with the plain one, or the plain one with the bandwidth alone.
    fn compare(&self, data: &str, plain: &Column, other: Option<(Format, &Column)>, work: &Work) {
        let (format, column) = other.unwrap_or((Format::Plain, plain));
        for (name, operator) in OPERATORS {
            for flavour in Flavour::available() {
                let id = format!("{name}/{}/{flavour}/data={data}", format.name());
                if !id.starts_with(&self.prefix) {
                    continue;
                }
                let expected = operator(plain, Flavour::Scalar, work);
                assert_eq!(operator(column, flavour, work), expected, "{id}");
                let mut read = || {
                    let read = |block: Block<'_>| flavour.run(ReadAll(block.bytes()));
                    plain.blocks().fold(0, |all, block| all ^ read(block))
                };
                let mut on_plain = || operator(plain, flavour, work);
                let mut on_column = || operator(column, flavour, work);
                if self.rounds == 0 {
                    continue;
                }
                let [read, on_plain, on_column] =
                    in_turn(self.rounds, [&mut read, &mut on_plain, &mut on_column]);
                let bandwidth = plain.bytes() as f64 / read;
                let reached = column.bytes() as f64 / on_column;
                println!(
                    "{id:<46} {:>7.3} ns/value {:>6.2} GiB/s {:>5.2} x plain {:>4.0} % of read",
                    on_column / self.values as f64,
                    reached * 1e9 / f64::from(1 << 30),
                    on_plain / on_column,
                    100.0 * reached / bandwidth,
                );
            }
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let mut words = arguments.into_iter().filter(|argument| !argument.starts_with("--"));
    let prefix = words.next().unwrap_or_default();
    let asked = words.next().and_then(|values| values.parse().ok());
    let (rounds, default_values) = if is_bench { (5, 100_000_000) } else { (0, 70_000) };
    let runner = Runner { rounds, values: asked.unwrap_or(default_values), prefix };
    let mut random = Random(3);
    let below = |value| Restriction::Compare { op: CompareOp::Lt, value: Constant::Int(value) };
    let mut positions: Vec<u16> =
        (0..CHUNK_ROWS / 100).map(|_| (random.next() >> 48) as u16).collect();
    positions.sort_unstable();
    let tenth = Work { select: below(429_496_730), positions: positions.clone() };
    runner.run("random32", ColumnType::BigInt, random_32, &tenth);
    let tenth = Work { select: below(26), positions: positions.clone() };
    runner.run("mostly8", ColumnType::BigInt, mostly_8, &tenth);
    let narrow = Work { select: below(26), positions };
    runner.run("narrow32", ColumnType::Integer, |random| random_32(random) >> 1, &narrow);
    runner.run("narrow16", ColumnType::SmallInt, |random| random_32(random) >> 17, &narrow);
}
