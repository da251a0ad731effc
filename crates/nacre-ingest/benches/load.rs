//! How fast CSV becomes column buffers, without a store behind it.
//!
//! Question: speed in MiB/s of CSV by shape of the data, of wall time and of processor time (which
//! other work on the machine disturbs less). Baseline: a pass over the same file that
//! only reads it, which no loader can beat. Kept equal: file (in the page cache), threads.
//! [Muehlbauer16 section 3.4] reports 250 MB/s per core for a row store without index on TPC-H.
//!
//! Run: `cargo bench -p nacre-ingest [-- [SHAPE] [ROWS]]`; a run by `cargo test` uses few rows.

#![allow(clippy::expect_used, reason = "a benchmark may fail by panicking")]

use nacre_column::{ColumnBuffer, ColumnType};
use nacre_ingest::{ChunkSink, CsvOptions, Loader, Progress, Source, Target, TargetColumn};
use std::{
    convert::Infallible,
    fmt::Write as _,
    fs::{self, File},
    io::Read,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

const DECIMAL: ColumnType = ColumnType::Decimal { precision: 15, scale: 2 };
const TEXT: ColumnType = ColumnType::Varchar { max_chars: None };

/// Adds up the rows and sees to it that nothing is optimised away.
#[derive(Default)]
struct CountingSink(AtomicU64);

impl ChunkSink for CountingSink {
    type Error = Infallible;

    fn append_chunk(&self, _: u64, columns: &mut [ColumnBuffer]) -> Result<(), Infallible> {
        let rows = std::hint::black_box(columns)[0].len() as u64;
        self.0.fetch_add(rows, Ordering::Relaxed);
        Ok(())
    }
}

/// One shape of data.
struct Shape {
    name: &'static str,
    types: Vec<ColumnType>,
    row: fn(u64, &mut String),
}

/// A cheap sequence of numbers without a pattern.
fn random(seed: u64) -> u64 {
    let x = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

fn lineitem(row: u64, out: &mut String) {
    let r = random(row);
    let words = "carefully final deposits detect slyly against the quickly express packages";
    let (from, bytes) = ((r % 28) as usize, 10 + (r >> 9) as usize % 34);
    let _ = writeln!(
        out,
        "{},{},{},{},{}.00,{}.{:02},0.{:02},0.{:02},{},{},{}-{:02}-{:02},199{}-{:02}-{:02},\
         1996-{:02}-{:02},{},{},{}",
        row / 4 * 8 + row % 4 + 1,
        r % 200_000 + 1,
        r % 10_000 + 1,
        row % 4 + 1,
        r % 50 + 1,
        r % 100_000 + 900,
        r % 100,
        r % 11,
        (r >> 3) % 9,
        ["A", "N", "R"][(r % 3) as usize],
        ["O", "F"][(r % 2) as usize],
        1992 + r % 7,
        r % 12 + 1,
        r % 28 + 1,
        r % 10,
        (r >> 4) % 12 + 1,
        (r >> 5) % 28 + 1,
        (r >> 6) % 12 + 1,
        (r >> 7) % 28 + 1,
        ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"][(r % 4) as usize],
        ["TRUCK", "MAIL", "REG AIR", "AIR", "SHIP"][(r % 5) as usize],
        &words[from..from + bytes],
    );
}

fn quoted(row: u64, out: &mut String) {
    let r = random(row);
    let _ = writeln!(
        out,
        "\"{row}\",\"name, with \"\"quotes\"\" {}\",\"{}.{:02}\",\"some\ntext\",\"199{}-0{}-1{}\"",
        r % 1_000,
        r % 10_000,
        r % 100,
        r % 10,
        r % 9 + 1,
        r % 10,
    );
}

fn numbers(row: u64, out: &mut String) {
    let r = random(row);
    let _ = writeln!(out, "{row},{},{}.{},-{},{}e-3", r, r % 1_000, r % 977, r % 99, r % 9_999);
}

fn shapes() -> Vec<Shape> {
    let int = ColumnType::Integer;
    let date = ColumnType::Date;
    let char = |chars| ColumnType::Char { chars };
    let big = ColumnType::BigInt;
    let lineitem_types = vec![
        big,
        int,
        int,
        int,
        DECIMAL,
        DECIMAL,
        DECIMAL,
        DECIMAL,
        char(1),
        char(1),
        date,
        date,
        date,
        char(25),
        char(10),
        TEXT,
    ];
    vec![
        Shape { name: "lineitem", types: lineitem_types, row: lineitem },
        Shape { name: "quoted", types: vec![int, TEXT, DECIMAL, TEXT, date], row: quoted },
        Shape {
            name: "numbers",
            types: vec![int, big, ColumnType::Double, int, ColumnType::Real],
            row: numbers,
        },
    ]
}

fn mib_per_s(bytes: u64, since: Instant) -> f64 {
    bytes as f64 / (1 << 20) as f64 / since.elapsed().as_secs_f64()
}

/// Reads the file as the loader does and nothing else.
fn read_only(path: &Path) -> f64 {
    let mut buffer = vec![0; 64 << 10];
    let start = Instant::now();
    let mut bytes = 0;
    let mut file = File::open(path).expect("the file was just written");
    while let Ok(read @ 1..) = file.read(&mut buffer) {
        bytes += std::hint::black_box(&buffer[..read]).len() as u64;
    }
    mib_per_s(bytes, start)
}

/// Returns the processor time that this process has used so far, in seconds.
fn cpu_s() -> f64 {
    // Fields 14 and 15 of the line, the 12th and 13th after the name in brackets, in 1/100 s.
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// What one load took.
#[derive(Clone, Copy, Default)]
struct Speed {
    wall_mib_per_s: f64,
    cpu_mib_per_s: f64,
    rows: u64,
}

fn load(path: &Path, shape: &Shape, threads: usize) -> Speed {
    let column = |(index, &column_type): (usize, &ColumnType)| TargetColumn {
        name: format!("c{index}"),
        column_type,
        is_nullable: true,
    };
    let target = Target {
        relation: "t".to_owned(),
        columns: shape.types.iter().enumerate().map(column).collect(),
        fields: (0..shape.types.len()).collect(),
    };
    let (progress, sink) = (Progress::default(), CountingSink::default());
    let source = Source::File(path.to_owned());
    let (start, cpu_start) = (Instant::now(), cpu_s());
    let mut loader = Loader::open(source, target, &CsvOptions::default(), &progress)
        .unwrap_or_else(|error| panic!("{error}"));
    let rows = loader.run(threads, &progress, &sink).unwrap_or_else(|error| panic!("{error}"));
    let bytes = progress.bytes_done.load(Ordering::Relaxed);
    let cpu_mib_per_s = bytes as f64 / (1 << 20) as f64 / (cpu_s() - cpu_start);
    Speed { wall_mib_per_s: mib_per_s(bytes, start), cpu_mib_per_s, rows }
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let rows = std::env::args().filter_map(|argument| argument.parse().ok()).next();
    let rows: u64 = rows.unwrap_or(if is_bench { 4_000_000 } else { 2_000 });
    let directory = std::env::temp_dir();
    let path = directory.join(format!("nacre-bench-load-{}.csv", std::process::id()));
    let heads = ["id", "MiB/s", "MiB/cpu-s", "read MiB/s", "ratio"];
    let [id, wall, cpu, read, ratio] = heads;
    println!("{id:<28} {wall:>10} {cpu:>10} {read:>11} {ratio:>7}");
    let shapes = shapes();
    let is_named = |shape: &&Shape| std::env::args().any(|argument| argument == shape.name);
    let has_name = shapes.iter().any(|shape| is_named(&shape));
    for shape in shapes.iter().filter(|shape| !has_name || is_named(shape)) {
        let mut text = String::new();
        (0..rows).for_each(|row| (shape.row)(row, &mut text));
        fs::write(&path, &text).expect("the temporary directory takes the file");
        drop(text);
        for threads in [1, 2] {
            let baseline = read_only(&path);
            let best = (0..3)
                .map(|_| load(&path, shape, threads))
                .max_by(|a, b| a.wall_mib_per_s.total_cmp(&b.wall_mib_per_s))
                .unwrap_or_default();
            assert_eq!(best.rows, rows);
            let Speed { wall_mib_per_s: wall, cpu_mib_per_s: cpu, .. } = best;
            let ratio = wall / baseline;
            let id = format!("load/{}/threads={threads}", shape.name);
            println!("{id:<28} {wall:>10.0} {cpu:>10.0} {baseline:>11.0} {ratio:>7.3}");
        }
    }
    let _ = fs::remove_file(&path);
}
