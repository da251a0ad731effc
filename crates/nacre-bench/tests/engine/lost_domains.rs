//! Loss of a memory domain under a running TPC-H query mix: every answer stays right, and repair
//! restores what the policies say.
//!
//! Two domains, each with one replica of every column. One of them is damaged in three ways while
//! queries run: bytes flip, files are cut, the directory is removed. Then the database is opened
//! without it, repaired into a fresh one, and opened again with nothing but the repaired replicas.
//!
//! # Source
//! [Zarubin22 section 3.4, 4.2] replicas keep the data readable when a medium fails.

use std::fs::{self, OpenOptions as FileOptions};
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nacre_bench::Engine;
use nacre_bench::tpch::{QUERIES, generate};
use nacre_bench::workload::{Answer, CsvFile, Oracle, compare};
use nacre_sql::OpenOptions;

const SCALE_FACTOR: f64 = 0.01;

/// Scans, joins of many tables, grouping, text search, sub-queries: the pools are read in every
/// way, and a pass takes about a second.
const MIX: [u32; 8] = [1, 3, 6, 9, 13, 16, 18, 21];

const LOST: &str = "SELECT count(*) FROM nacre_replicas WHERE state <> 'good'";

fn open(root: &Path, domains: &[(&str, &str)]) -> Engine {
    let domains = domains.iter().map(|(name, path)| ((*name).to_owned(), root.join(path)));
    Engine::open_with(OpenOptions {
        directory: Some(root.join("main")),
        domains: domains.collect(),
        threads: Some(2),
        ..OpenOptions::default()
    })
    .unwrap()
}

/// Files with replicas below a directory.
fn pools(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pools(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "pool") {
            found.push(path);
        }
    }
    found.sort();
}

fn flip_bytes(path: &Path) -> io::Result<()> {
    let file = FileOptions::new().read(true).write(true).open(path)?;
    let bytes = file.metadata()?.len();
    for offset in (0..bytes).step_by(4096).map(|start| start + 1_000).filter(|at| *at < bytes) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, offset)?;
        file.write_all_at(&[!byte[0]], offset)?;
    }
    Ok(())
}

fn cut(path: &Path) -> io::Result<()> {
    let file = FileOptions::new().write(true).open(path)?;
    file.set_len(file.metadata()?.len() / 2)
}

/// Damages one pool after the other, with queries in between.
fn damage(directory: PathBuf, how: fn(&Path) -> io::Result<()>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut files = Vec::new();
        pools(&directory, &mut files);
        assert!(!files.is_empty());
        for file in files {
            // A pool that was repaired in the meantime has another name.
            match how(&file) {
                Err(error) if error.kind() != ErrorKind::NotFound => panic!("{error}"),
                _ => {}
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    })
}

async fn run_mix(engine: &Engine, answers: &[Answer]) {
    let queries = QUERIES.iter().filter(|query| MIX.contains(&query.number));
    for (query, answer) in queries.zip(answers) {
        let found = engine.query(&query.sql(SCALE_FACTOR)).await.unwrap();
        assert_eq!(compare(&found, answer, query.order_by), Ok(()), "Q{}", query.number);
    }
}

async fn oracle_answers(files: &[CsvFile]) -> Vec<Answer> {
    let oracle = Oracle::for_everything(files, 2).await.unwrap();
    let mut answers = Vec::new();
    for query in QUERIES.iter().filter(|query| MIX.contains(&query.number)) {
        answers.push(oracle.query(&query.sql(SCALE_FACTOR)).await.unwrap());
    }
    answers
}

/// Removes directory `path` while an engine may be making files in it: what appears between
/// emptying it and removing it is removed in another pass.
fn remove_while_in_use(path: &Path) {
    loop {
        match fs::remove_dir_all(path) {
            Ok(()) => return,
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            Err(error) => panic!("cannot remove {}: {error}", path.display()),
        }
    }
}

/// Repairs, and returns how many replicas are lost then and how many lie in domain `second`.
async fn repair(engine: &Engine) -> (String, u64) {
    let report = engine.database().repair(&mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.is_whole(), "{report:?}");
    let second = "SELECT count(*) FROM nacre_replicas WHERE domain = 'second' AND bytes > 0";
    (engine.line(LOST).await.unwrap(), engine.line(second).await.unwrap().parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_right_while_a_domain_is_damaged_lost_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let files = generate(SCALE_FACTOR, root, 2).unwrap();
    let answers = oracle_answers(&files).await;
    let engine = open(root, &[("second", "second")]);
    for file in &files {
        engine.create_and_load(file, Arc::default()).await.unwrap();
    }
    run_mix(&engine, &answers).await;

    for how in [flip_bytes as fn(&Path) -> io::Result<()>, cut] {
        let saboteur = damage(root.join("second"), how);
        run_mix(&engine, &answers).await;
        saboteur.join().unwrap();
        run_mix(&engine, &answers).await;
    }
    let gone = root.join("second");
    let saboteur = std::thread::spawn(move || remove_while_in_use(&gone));
    run_mix(&engine, &answers).await;
    saboteur.join().unwrap();
    // Loads go on with the domain that is left.
    let sql = files[0].table.create_statement("more");
    engine.query(&sql).await.unwrap();
    engine.load("more", &files[0].path, Arc::default()).await.unwrap();
    drop(engine);

    let engine = open(root, &[]);
    assert!(engine.database().store().notes().iter().any(|note| note.contains("second")));
    run_mix(&engine, &answers).await;
    drop(engine);

    fs::create_dir(root.join("replacement")).unwrap();
    let engine = open(root, &[("second", "replacement")]);
    let (lost, second) = repair(&engine).await;
    assert_eq!(lost, "0");
    assert!(second > 0);
    run_mix(&engine, &answers).await;
    drop(engine);

    // The other domain's turn: what answers now was written by the repair.
    let mut first = Vec::new();
    pools(&root.join("main"), &mut first);
    assert!(!first.is_empty());
    first.iter().for_each(|path| fs::remove_file(path).unwrap());
    let engine = open(root, &[]);
    run_mix(&engine, &answers).await;
    let more = engine.line("SELECT count(*) FROM more").await.unwrap();
    assert_eq!(more, files[0].rows.to_string());
    assert_eq!(repair(&engine).await.0, "0");
    run_mix(&engine, &answers).await;
}
