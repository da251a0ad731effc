//! How fast are blocks encoded, decoded and searched, and what does each SIMD flavour bring?
//!
//! Baseline of each row: the same work in flavour `scalar`, run in turn with it in this process;
//! for `decode`, the row `copy` is the same number of values copied from memory to memory. One
//! thread; a block of 65,536 rows, decoded in vectors of 8,192 rows into a buffer that is reused,
//! as scans do. Each figure is the best of several rounds.
//!
//! `cargo bench -p nacre-column --bench decode [-- PREFIX]` prints the rows whose id starts with
//! PREFIX; as a test it checks that all flavours give one answer.
#![allow(clippy::expect_used, reason = "a bench that cannot run may panic where it stands")]

use std::hint::black_box;
use std::time::Instant;

use nacre_column::{
    Block, CHUNK_ROWS, ColumnBuffer, ColumnType, CompareOp, Constant, EncodedBlock, Flavour,
    Format, Restriction, VECTOR_ROWS, block, kernel,
};

/// Runs the rows and prints them.
struct Runner {
    /// 0 to check the answers only.
    rounds: usize,
    prefix: String,
}

impl Runner {
    /// Prints ns per value of `work` for each flavour; `work` returns a checksum of its answer.
    fn flavours(&self, id: &str, suffix: &str, mut work: impl FnMut(Flavour) -> u64) {
        if !id.starts_with(&self.prefix) {
            return;
        }
        let flavours = Flavour::available();
        let mut best = vec![f64::MAX; flavours.len()];
        let expected = work(Flavour::Scalar);
        for flavour in &flavours {
            assert_eq!(work(*flavour), expected, "{id} {flavour}");
        }
        if self.rounds == 0 {
            return;
        }
        for _ in 0..self.rounds {
            for (best, flavour) in best.iter_mut().zip(&flavours) {
                let start = Instant::now();
                black_box(work(*flavour));
                let nanoseconds = start.elapsed().as_nanos() as f64;
                *best = best.min(nanoseconds / CHUNK_ROWS as f64);
            }
        }
        for (nanoseconds, flavour) in best.iter().zip(&flavours) {
            let id = format!("{id}/{flavour}{suffix}");
            println!(
                "{id:<52} {nanoseconds:>8.3} ns/value {:>8.0} M values/s {:>6.2} x scalar",
                1_000.0 / nanoseconds,
                best[0] / nanoseconds
            );
        }
    }
}

/// Numbers that look random and repeat from run to run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 ^ self.0 >> 29
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

fn ints(column_type: ColumnType, width: u32, nulls_every: u64) -> ColumnBuffer {
    let mut random = Random(width.into());
    let mut column = ColumnBuffer::new(column_type);
    for row in 0..CHUNK_ROWS as u64 {
        if nulls_every > 0 && row % nulls_every == 3 {
            column.push_null();
        } else {
            column.push_int(1_000 + random.next().unbounded_shr(64 - width) as i64);
        }
    }
    column
}

fn strings(distinct: u64, len: usize) -> ColumnBuffer {
    let mut random = Random(distinct);
    let mut column = ColumnBuffer::new(ColumnType::Varchar { max_chars: None });
    for _ in 0..CHUNK_ROWS {
        let value = format!("{:0len$}", random.below(distinct));
        column.push_bytes(value.as_bytes());
    }
    column
}

fn encoded(column: &ColumnBuffer) -> EncodedBlock {
    block::encode(column, Flavour::active()).expect("benchmark input encodes")
}

fn vectors() -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..CHUNK_ROWS).step_by(VECTOR_ROWS).map(|start| start..start + VECTOR_ROWS)
}

/// Decodes a block of `column` in `format` to `T`, vector by vector.
fn decode_format<T: Copy + Into<i64>>(
    runner: &Runner,
    (id, suffix): (&str, &str),
    format: Format,
    column: &ColumnBuffer,
    decode: impl Fn(&Block<'_>, Flavour, std::ops::Range<usize>, &mut Vec<T>),
) {
    let encoded = block::encode_as(column, Flavour::active(), format).expect("encodes");
    let block = Block::open(&encoded.bytes, column.column_type()).expect("opens");
    let bits = encoded.bytes.len() as f64 * 8.0 / CHUNK_ROWS as f64;
    let mut out: Vec<T> = Vec::with_capacity(VECTOR_ROWS);
    runner.flavours(id, &format!("{suffix},bits={bits:.1}"), |flavour| {
        vectors().fold(0, |sum, rows| {
            out.clear();
            decode(&block, flavour, rows, &mut out);
            sum ^ (out[0].into() ^ out[VECTOR_ROWS - 1].into()) as u64
        })
    });
}

fn is_there(format: Format) -> bool {
    block::encode_as(&ColumnBuffer::new(ColumnType::Integer), Flavour::Scalar, format).is_ok()
}

/// Every format of whole numbers, beside a plain copy of as many values.
fn bench_formats(runner: &Runner) {
    let source = vec![7_i32; CHUNK_ROWS];
    let mut out: Vec<i32> = Vec::with_capacity(VECTOR_ROWS);
    runner.flavours("decode/copy/i32", "", |_| {
        vectors().fold(0, |sum, rows| {
            out.clear();
            out.extend_from_slice(&source[rows]);
            sum ^ out[0] as u64
        })
    });
    let mut outliers = ColumnBuffer::new(ColumnType::Integer);
    let mut random = Random(5);
    for row in 0..CHUNK_ROWS {
        let width = if row % 1_000 == 7 { 30 } else { 8 };
        outliers.push_int(random.next().unbounded_shr(64 - width) as i64);
    }
    let columns = [
        ("/width=7", ints(ColumnType::Integer, 7, 0)),
        ("/width=20", ints(ColumnType::Integer, 20, 0)),
        ("/outliers=0.1%", outliers),
    ];
    for format in Format::ALL.into_iter().filter(|f| is_there(*f)) {
        for (suffix, column) in &columns {
            let ids = ["i32", "i64"].map(|name| format!("decode/{format}/{name}"));
            decode_format(
                runner,
                (&ids[0], suffix),
                format,
                column,
                |block, flavour, rows, out| {
                    block.decode_i32(flavour, rows, out).expect("decodes");
                },
            );
            decode_format(
                runner,
                (&ids[1], suffix),
                format,
                column,
                |block, flavour, rows, out| {
                    block.decode_i64(flavour, rows, out).expect("decodes");
                },
            );
            let id = format!("encode/{format}/i32");
            runner.flavours(&id, suffix, |flavour| {
                let block = block::encode_as(column, flavour, format).expect("encodes");
                block.bytes.len() as u64 ^ u64::from(block.header.crc32c)
            });
        }
    }
}

fn bench_decode(runner: &Runner) {
    for width in [1, 4, 7, 12, 16, 20, 27, 33, 48, 63] {
        let column = ints(ColumnType::BigInt, width, 0);
        for format in [Format::StaticBp, Format::DynamicBp] {
            let (id, suffix) = (format!("decode/{format}/widths"), format!("/width={width}"));
            decode_format(runner, (&id, &suffix), format, &column, |block, flavour, rows, out| {
                block.decode_i64(flavour, rows, out).expect("decodes");
            });
        }
    }
    let decimal = ColumnType::Decimal { precision: 15, scale: 2 };
    let block_bytes = encoded(&ints(decimal, 23, 0));
    let block = Block::open(&block_bytes.bytes, decimal).expect("opens");
    let mut out: Vec<i128> = Vec::with_capacity(VECTOR_ROWS);
    runner.flavours("decode/static_bp/i128", "/width=23", |flavour| {
        vectors().fold(0, |sum, rows| {
            out.clear();
            block.decode_i128(flavour, rows, &mut out).expect("decodes");
            sum ^ out[0] as u64 ^ out[VECTOR_ROWS - 1] as u64
        })
    });
    let source = vec![7_i64; CHUNK_ROWS];
    let mut out: Vec<i64> = Vec::with_capacity(VECTOR_ROWS);
    runner.flavours("decode/copy/i64", "", |_| {
        vectors().fold(0, |sum, rows| {
            out.clear();
            out.extend_from_slice(&source[rows]);
            sum ^ out[0] as u64
        })
    });
    let encoded = encoded(&strings(1_000, 8));
    let block = Block::open(&encoded.bytes, encoded.header.column_type).expect("opens");
    let mut codes: Vec<u32> = Vec::with_capacity(VECTOR_ROWS);
    runner.flavours("decode/dict/codes", "/entries=1000", |flavour| {
        vectors().fold(0, |sum, rows| {
            codes.clear();
            block.decode_codes(flavour, rows, &mut codes).expect("decodes");
            sum ^ u64::from(codes[0]) ^ u64::from(codes[VECTOR_ROWS - 1])
        })
    });
}

fn bench_encode(runner: &Runner) {
    let columns = [
        ("encode/static_bp/i64", "/width=7", ints(ColumnType::BigInt, 7, 0)),
        ("encode/static_bp/i64", "/width=20", ints(ColumnType::BigInt, 20, 0)),
        ("encode/static_bp/i64", "/width=20,nulls=1%", ints(ColumnType::BigInt, 20, 100)),
        ("encode/plain/i64", "/width=63", ints(ColumnType::BigInt, 63, 0)),
        ("encode/dict", "/entries=3,bytes=1", strings(3, 1)),
        ("encode/dict", "/entries=7,bytes=10", strings(7, 10)),
        ("encode/dict", "/entries=1000,bytes=15", strings(1_000, 15)),
        ("encode/dict", "/entries=1000,bytes=30", strings(1_000, 30)),
        ("encode/dict", "/entries=16000,bytes=18", strings(16_000, 18)),
        ("encode/plain/strings", "/bytes=27", strings(u64::MAX, 27)),
    ];
    for (id, suffix, column) in &columns {
        runner.flavours(id, suffix, |flavour| {
            let block = block::encode(column, flavour).expect("encodes");
            block.bytes.len() as u64 ^ u64::from(block.header.crc32c)
        });
    }
    let encoded = encoded(&ints(ColumnType::BigInt, 20, 0));
    let block = Block::open(&encoded.bytes, ColumnType::BigInt).expect("opens");
    runner.flavours("verify/static_bp/i64", "/width=20", |_| u64::from(block.verify().is_ok()));
}

fn bench_select(runner: &Runner) {
    let encoded_ints = encoded(&ints(ColumnType::BigInt, 12, 0));
    let ints = Block::open(&encoded_ints.bytes, ColumnType::BigInt).expect("opens");
    let encoded_strings = encoded(&strings(1_000, 15));
    let text = ColumnType::Varchar { max_chars: None };
    let strings = Block::open(&encoded_strings.bytes, text).expect("opens");
    let below = |value| Restriction::Compare { op: CompareOp::Lt, value };
    let few = (0..40).map(|value| Constant::Int(1_000 + value * 97));
    let string = format!("{:015}", 500);
    let restrictions = [
        ("select/static_bp", "/selectivity=0.01", &ints, below(Constant::Int(1_041))),
        ("select/static_bp", "/selectivity=0.50", &ints, below(Constant::Int(3_048))),
        ("select/static_bp", "/in=40", &ints, Restriction::InSet(few.collect())),
        ("select/dict", "/selectivity=0.50", &strings, below(Constant::Bytes(string.into()))),
    ];
    let mut selection = Vec::new();
    for (id, suffix, block, restriction) in &restrictions {
        runner.flavours(id, suffix, |flavour| {
            vectors().fold(0, |sum, rows| {
                kernel::select(block, flavour, restriction, rows, &mut selection).expect("selects");
                sum + selection.len() as u64
            })
        });
    }
    let mut bits = Vec::new();
    let (_, suffix, block, restriction) = &restrictions[1];
    runner.flavours("select_bits/static_bp", suffix, |flavour| {
        vectors().fold(0, |sum, rows| {
            let result = kernel::select_bits(block, flavour, restriction, rows, &mut bits);
            result.expect("selects");
            sum + u64::from(bits[0].count_ones())
        })
    });
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let prefix = arguments.into_iter().find(|argument| !argument.starts_with("--"));
    let rounds = if is_bench { 200 } else { 0 };
    let runner = Runner { rounds, prefix: prefix.unwrap_or_default() };
    bench_formats(&runner);
    bench_decode(&runner);
    bench_encode(&runner);
    bench_select(&runner);
}
