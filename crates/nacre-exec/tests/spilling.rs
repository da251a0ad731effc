//! Queries that need more memory than they have: the same rows as without a limit, and no files
//! that stay.

#![allow(clippy::single_range_in_vec_init, reason = "a table has a chunk for each range")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nacre_exec::dispatch::{QueryOptions, WorkerPool};
use nacre_exec::plan::{
    AggregateCall, AggregateFunction, AggregateNode, AppendNode, CommonNode, CommonScanNode,
    GroupingSetsNode, PairingKind, PhysicalPlan, PlanNode, SortKey, SortNode, WindowCall,
    WindowFrame, WindowFunction, WindowNode, WindowNumber, WindowSpecification,
};
use nacre_exec::spill::{SpillHandle, SpillMedium, SpillSpace};
use nacre_exec::value::{IntLimit, ScalarValue};
use nacre_exec::{ExecError, ExecErrorKind, ExecResult};
use nacre_store::{OpenOptions, Store, Table};
use support::joins::{
    KINDS, MODE_DIFFERS, MONEY_IS_LESS, Residual, Sides, join, keys, with_residual,
};
use support::{
    FLAG, FLOAT, ID, MODE, MONEY, SMALL, TEXT, WIDE, key, pool, rows_of, run, scan, sorted,
    spilling_pool, table,
};

const ALL: [usize; 8] = [ID, SMALL, MONEY, WIDE, FLOAT, FLAG, MODE, TEXT];

/// Rows of the table, some megabytes.
const ROWS: i64 = 30_000;

type Scalars = Vec<Vec<ScalarValue>>;

/// A directory for temporary files, which has to be empty in the end.
struct SpillPlace {
    directory: tempfile::TempDir,
    space: Arc<SpillSpace>,
}

impl SpillPlace {
    fn new(bytes_max: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let space = SpillSpace::open(directory.path(), "the limit of files", bytes_max);
        Self { directory, space }
    }

    fn assert_empty(&self) {
        assert_eq!((self.space.bytes_used(), self.space.files()), (0, 0));
        assert_eq!(std::fs::read_dir(self.directory.path()).unwrap().count(), 0);
    }
}

/// What came of a query with little memory.
struct SpilledAnswer {
    rows: Scalars,
    spilled_bytes: u64,
    spilled_files: u64,
}

fn execute(pool: &WorkerPool, root: &PlanNode, bytes_max: u64) -> ExecResult<SpilledAnswer> {
    let options = QueryOptions { memory_bytes_max: bytes_max, ..QueryOptions::default() };
    let mut stream = pool.execute(PhysicalPlan { root: root.clone() }, options)?;
    let rows = rows_of(&stream.collect_batches()?);
    let report = stream.report();
    let sum = |count: fn(&nacre_exec::counters::OperatorReport) -> u64| {
        report.pipelines.iter().flatten().map(count).sum()
    };
    let (spilled_bytes, spilled_files) =
        (sum(|one| one.spilled_bytes), sum(|one| one.spilled_files));
    Ok(SpilledAnswer { rows, spilled_bytes, spilled_files })
}

/// Checks that a plan spills under each limit, and gives the rows that it gives without one, in the
/// same order if they have one.
fn assert_same(root: &PlanNode, is_ordered: bool, limits: &[u64], what: &str) {
    let texts = |rows: Scalars| match is_ordered {
        true => rows.iter().map(|row| key(row)).collect::<Vec<_>>(),
        false => sorted(rows),
    };
    let wanted = texts(run(&pool(2), root.clone()).unwrap());
    assert!(!wanted.is_empty(), "{what}");
    let place = SpillPlace::new(u64::MAX);
    for workers in [1, 3] {
        let pool = spilling_pool(workers, &place.space);
        for limit in limits {
            let answer = execute(&pool, root, *limit);
            let answer = answer.unwrap_or_else(|error| panic!("{what}, {limit} bytes: {error}"));
            assert!(texts(answer.rows) == wanted, "{what}, {workers} workers, {limit} bytes");
            let spilled = (answer.spilled_bytes, answer.spilled_files);
            assert!(spilled > (0, 0) && spilled.1 > 0, "{what}, {limit} bytes: no files");
        }
        let much = execute(&pool, root, 1 << 30).unwrap();
        assert_eq!((much.spilled_bytes, much.spilled_files), (0, 0), "{what}");
    }
    place.assert_empty();
}

fn small_table() -> (Store, Arc<Table>) {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..9_000, 9_000..ROWS], 5);
    (store, table)
}

fn sort_of(table: &Arc<Table>, keys: &[(usize, bool, bool)]) -> PlanNode {
    let key = |&(column, is_descending, is_nulls_first): &(usize, bool, bool)| SortKey {
        column,
        is_descending,
        is_nulls_first,
    };
    let input = scan(&table.snapshot(), &ALL, Vec::new());
    let keys = keys.iter().map(key).collect();
    PlanNode::Sort(Box::new(SortNode { input, keys, rows_max: None }))
}

fn call(function: AggregateFunction, argument: Option<usize>) -> AggregateCall {
    AggregateCall::new(function, argument, IntLimit::NUMERIC)
}

fn calls() -> Vec<AggregateCall> {
    use AggregateFunction as F;
    vec![
        call(F::CountRows, None),
        AggregateCall { filter: Some(FLAG), ..call(F::Sum, Some(MONEY)) },
        call(F::Max, Some(TEXT)),
        call(F::Min, Some(FLOAT)),
        call(F::AverageState, Some(WIDE)),
    ]
}

fn distinct_calls() -> Vec<AggregateCall> {
    use AggregateFunction as F;
    let mut calls = calls();
    calls.extend([call(F::CountDistinct, Some(TEXT)), call(F::DistinctState, Some(MONEY))]);
    calls.push(AggregateCall { filter: Some(FLAG), ..call(F::CountDistinct, Some(MODE)) });
    calls
}

fn groups_of(table: &Arc<Table>, keys: &[usize], aggregates: Vec<AggregateCall>) -> PlanNode {
    let input = scan(&table.snapshot(), &ALL, Vec::new());
    PlanNode::Aggregate(Box::new(AggregateNode {
        input,
        keys: keys.to_vec(),
        dependents: Vec::new(),
        aggregates,
    }))
}

#[test]
fn sorts_with_little_memory_give_the_same_order() {
    let (_store, table) = small_table();
    let limits = [100_000, 400_000, 2_000_000];
    for keys in [
        &[(MODE, true, true), (FLOAT, false, false), (ID, true, false)][..],
        &[(TEXT, false, false)],
        &[(WIDE, false, true), (FLAG, true, false), (ID, false, false)],
    ] {
        assert_same(&sort_of(&table, keys), true, &limits, &format!("{keys:?}"));
    }
    // Without keys any order is right.
    assert_same(&sort_of(&table, &[]), false, &limits, "no keys");
}

#[test]
fn groups_with_little_memory_are_the_same() {
    let (_store, table) = small_table();
    let limits = [400_000, 1_500_000];
    for keys in [&[ID][..], &[TEXT, MODE], &[MONEY, FLAG], &[FLOAT, WIDE]] {
        assert_same(&groups_of(&table, keys, calls()), false, &limits, &format!("{keys:?}"));
    }
}

#[test]
fn distinct_values_with_little_memory_are_the_same() {
    let (_store, table) = small_table();
    let limits = [500_000, 1_000_000];
    // Of all rows, of a few groups, of one that has most rows, and of many.
    for keys in [&[][..], &[FLAG], &[SMALL], &[ID], &[MODE, MONEY]] {
        let plan = groups_of(&table, keys, distinct_calls());
        assert_same(&plan, false, &limits, &format!("{keys:?}"));
    }
}

#[test]
fn grouping_sets_with_little_memory_are_the_same() {
    let (_store, table) = small_table();
    let node = GroupingSetsNode {
        input: scan(&table.snapshot(), &ALL, Vec::new()),
        keys: vec![MODE, FLAG, TEXT, ID],
        sets: vec![vec![0, 1, 2], vec![3], vec![], vec![1]],
        aggregates: distinct_calls(),
    };
    let plan = PlanNode::GroupingSets(Box::new(node));
    assert_same(&plan, false, &[1_500_000, 3_000_000], "grouping sets");
}

#[test]
fn groups_above_a_sort_share_the_memory_with_it() {
    let (_store, table) = small_table();
    let input = sort_of(&table, &[(TEXT, false, false)]);
    let groups =
        AggregateNode { input, keys: vec![ID], dependents: vec![MODE], aggregates: calls() };
    let input = PlanNode::Aggregate(Box::new(groups));
    let keys = vec![SortKey { column: 0, is_descending: true, is_nulls_first: false }];
    let plan = PlanNode::Sort(Box::new(SortNode { input, keys, rows_max: None }));
    assert_same(&plan, true, &[800_000, 3_000_000], "sort, groups, sort");
}

#[test]
fn groups_and_joins_write_places_of_rows_to_files() {
    let (_store, table) = small_table();
    let side = |columns: &[usize]| scan(&table.snapshot(), columns, Vec::new());
    let joined = join(PairingKind::Inner, side(&[ID, SMALL]), side(&ALL), keys(&[0]));
    let input = with_residual(joined, None);
    // Text and mode are those of the build side, of which groups and joins have the places.
    let (keys, dependents) = (vec![0], vec![2 + TEXT, 2 + MODE]);
    let aggregates = vec![call(AggregateFunction::Sum, Some(1)); 4];
    let groups = AggregateNode { input, keys, dependents, aggregates };
    let input = PlanNode::Aggregate(Box::new(groups));
    let keys = vec![SortKey { column: 0, is_descending: true, is_nulls_first: false }];
    let plan = PlanNode::Sort(Box::new(SortNode { input, keys, rows_max: Some(100) }));
    let facts = plan.describe().facts;
    assert!(facts.contains(&("fetched", "text, mode".to_owned())), "{facts:?}");
    assert_same(&plan, true, &[900_000, 1_500_000], "top-k, groups, join");
}

/// Checks joins of all kinds, whose sides have these rows.
fn assert_joins(
    (probe, build): (i64, i64),
    columns: &[usize],
    residual: Option<Residual>,
    limits: &[u64],
    kinds: &[PairingKind],
) {
    let sides = Sides::new(probe, build);
    for (kind, conditions) in kinds.iter().flat_map(|kind| [(kind, vec![]), (kind, vec![FLAG])]) {
        let (probe, build) = sides.scans();
        let mut joined = join(*kind, probe, build, keys(columns));
        joined.probe_conditions.clone_from(&conditions);
        let what = format!("{kind:?} {columns:?} {conditions:?} {}", residual.is_some());
        let plan = with_residual(joined, residual);
        let is_small = !kind.has_build_columns();
        // Of the build side, little more than key words is kept.
        let limits = if is_small { &[120_000][..] } else { limits };
        assert_same(&plan, false, limits, &what);
    }
}

#[test]
fn joins_with_little_memory_are_the_same() {
    let limits = [600_000, 2_000_000];
    assert_joins((9_000, 12_000), &[ID], None, &limits, &KINDS);
    assert_joins((6_000, 9_000), &[WIDE, ID], Some(MODE_DIFFERS), &[900_000], &KINDS);
}

#[test]
fn joins_of_several_partners_with_little_memory_are_the_same() {
    // More than one partner is an error for one kind.
    let kinds: Vec<_> = KINDS.into_iter().filter(|kind| *kind != PairingKind::Single).collect();
    // Rows of one id are equal, so those of others have to be partners.
    assert_joins((1_000, 6_000), &[SMALL, FLOAT], Some(MONEY_IS_LESS), &[600_000], &kinds);
}

#[test]
fn joins_of_strings_with_little_memory_are_the_same() {
    // The strings of keys are numbered in memory.
    let kinds: Vec<_> = KINDS.into_iter().filter(|kind| kind.has_build_columns()).collect();
    assert_joins((5_000, 9_000), &[TEXT], None, &[1_200_000, 1_600_000], &kinds);
}

#[test]
fn one_key_of_many_rows_is_joined_some_rows_at_a_time() {
    use PairingKind as K;
    let kinds = [K::Inner, K::BuildOuter, K::BuildSemi, K::BuildAnti];
    assert_joins((30, 6_000), &[MODE], None, &[200_000], &kinds);
    assert_joins((30, 6_000), &[MODE], Some(MONEY_IS_LESS), &[200_000], &kinds);
    // These have to know all partners at once.
    let sides = Sides::new(60, 9_000);
    let place = SpillPlace::new(u64::MAX);
    for kind in [K::ProbeOuter, K::FullOuter, K::Semi, K::Anti, K::Mark] {
        let (probe, build) = sides.scans();
        let joined = join(kind, probe, build, keys(&[MODE]));
        let plan = with_residual(joined, Some(MONEY_IS_LESS));
        let error = execute(&spilling_pool(2, &place.space), &plan, 60_000).err();
        let error = error.unwrap_or_else(|| panic!("{kind:?} has memory enough"));
        assert_eq!(error.kind(), ExecErrorKind::OutOfMemory, "{kind:?}");
    }
    place.assert_empty();
}

#[test]
fn joins_above_each_other_share_the_memory() {
    let sides = Sides::new(6_000, 9_000);
    let (probe, build) = sides.scans();
    let lower = with_residual(join(PairingKind::FullOuter, probe, build, keys(&[ID])), None);
    let (probe, _) = sides.scans();
    let upper = join(PairingKind::BuildOuter, probe, lower, keys(&[ID]));
    let groups = AggregateNode {
        dependents: Vec::new(),
        input: with_residual(upper, None),
        keys: vec![ID, MODE],
        aggregates: calls(),
    };
    let plan = PlanNode::Aggregate(Box::new(groups));
    assert_same(&plan, false, &[2_000_000, 5_000_000], "joins above each other");
}

#[test]
fn windows_with_little_memory_are_the_same() {
    let (_store, table) = small_table();
    let key = |column| SortKey { column, is_descending: false, is_nulls_first: false };
    let window_call = |function| WindowCall { function, frame: WindowFrame::DEFAULT };
    let sum = call(AggregateFunction::Sum, Some(MONEY));
    for (partition, limits) in [(MONEY, [3_000_000, 5_000_000]), (SMALL, [4_000_000, 5_000_000])] {
        let calls = vec![
            window_call(WindowFunction::RowNumber),
            window_call(WindowFunction::Aggregate(sum.clone())),
        ];
        let windows = vec![WindowSpecification { partition_keys: 1, order_keys: 1, calls }];
        let input = scan(&table.snapshot(), &ALL, Vec::new());
        let node = WindowNode { input, keys: vec![key(partition), key(ID)], windows };
        let plan = PlanNode::Window(Box::new(node));
        assert_same(&plan, false, &limits, &format!("window by {partition}"));
    }
}

#[test]
fn partitions_that_do_not_fit_in_memory_are_in_files() {
    let (_store, table) = small_table();
    let key = |column| SortKey { column, is_descending: false, is_nulls_first: false };
    let sum = WindowFunction::Aggregate(call(AggregateFunction::Sum, Some(MONEY)));
    let greatest = WindowFunction::Aggregate(call(AggregateFunction::Max, Some(TEXT)));
    let distance = WindowNumber::Constant(Some(1));
    let shift = WindowFunction::Shift { argument: TEXT, distance, is_lead: false, default: None };
    let functions = [WindowFunction::RowNumber, WindowFunction::CumeDist, sum, greatest, shift];
    // All rows in one partition, in order and without one, and most of them in one.
    for (column, partition_keys, order_keys) in [(ID, 0, 1), (ID, 0, 0), (FLAG, 1, 1)] {
        let own = |function: &WindowFunction| {
            let function = function.clone();
            WindowCall { function, frame: WindowFrame::DEFAULT }
        };
        let calls = functions.iter().map(own).collect();
        let windows = vec![WindowSpecification { partition_keys, order_keys, calls }];
        let input = scan(&table.snapshot(), &ALL, Vec::new());
        let node = WindowNode { input, keys: vec![key(column), key(ID)], windows };
        let node = PlanNode::Window(Box::new(node));
        let what = format!("one window by {column}");
        assert_same(&node, false, &[500_000, 2_000_000, 5_000_000], &what);
    }
}

#[test]
fn kept_rows_with_little_memory_are_read_more_than_once() {
    let (_store, table) = small_table();
    let read = || {
        PlanNode::CommonScan(CommonScanNode {
            is_of_run: false,
            query: 0,
            name: "c".to_owned(),
            width: ALL.len(),
            rows_expected: ROWS as f64,
            has_one_row: false,
        })
    };
    let queries = vec![scan(&table.snapshot(), &ALL, Vec::new())];
    let input = PlanNode::Append(AppendNode { inputs: vec![read(), read()] });
    let plan = PlanNode::Common(Box::new(CommonNode { queries, input }));
    assert_same(&plan, false, &[100_000, 2_000_000], "kept rows");
}

#[test]
fn full_disk_ends_its_query_only() {
    let (store, table) = small_table();
    let few = support::table(&store, "few", &[0..1_000], 5);
    let place = SpillPlace::new(300_000);
    let input = |table: &Arc<Table>| scan(&table.snapshot(), &ALL, Vec::new());
    let joined = join(PairingKind::Inner, input(&table), input(&table), keys(&[ID]));
    let plans = [
        sort_of(&table, &[(ID, true, false)]),
        groups_of(&table, &[TEXT], calls()),
        with_residual(joined, None),
    ];
    for workers in [1, 3] {
        let pool = spilling_pool(workers, &place.space);
        for plan in &plans {
            let error = execute(&pool, plan, 500_000).err().unwrap();
            assert_eq!(error.kind(), ExecErrorKind::DiskFull);
            let text = error.to_string();
            assert!(text.contains("the limit of files leaves them 300000"), "{text}");
            // The workers go on, and so does a query that spills less.
            assert_eq!(execute(&pool, plan, 1 << 30).unwrap().rows.len(), ROWS as usize);
            assert_eq!((place.space.bytes_used(), place.space.files()), (0, 0));
            let answer = execute(&pool, &sort_of(&few, &[(ID, true, false)]), 100_000).unwrap();
            assert!(answer.spilled_bytes > 0 && answer.rows.len() == 1_000);
        }
    }
    place.assert_empty();
}

/// Files in memory whose writes or reads fail after some.
#[derive(Debug)]
struct FailingMedium {
    /// Writes that succeed.
    writes_left: Arc<AtomicU64>,
    reads_left: Arc<AtomicU64>,
    error: io::ErrorKind,
}

#[derive(Debug)]
struct FailingFile {
    file: std::fs::File,
    writes_left: Arc<AtomicU64>,
    reads_left: Arc<AtomicU64>,
    error: io::ErrorKind,
}

impl SpillMedium for FailingMedium {
    fn place(&self) -> String {
        "a place that fails".to_owned()
    }

    fn create(&self) -> io::Result<Box<dyn SpillHandle>> {
        Ok(Box::new(FailingFile {
            file: tempfile::tempfile()?,
            writes_left: Arc::clone(&self.writes_left),
            reads_left: Arc::clone(&self.reads_left),
            error: self.error,
        }))
    }
}

fn take_one(left: &AtomicU64, error: io::ErrorKind) -> io::Result<()> {
    let taken = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    taken.map(|_| ()).map_err(|_| error.into())
}

impl SpillHandle for FailingFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        take_one(&self.writes_left, self.error)?;
        SpillHandle::write_at(&self.file, bytes, offset)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        take_one(&self.reads_left, self.error)?;
        SpillHandle::read_at(&self.file, bytes, offset)
    }
}

#[test]
fn failing_writes_and_reads_are_typed_errors() {
    let (_store, table) = small_table();
    let plans = [
        sort_of(&table, &[(ID, true, false)]),
        groups_of(&table, &[TEXT], calls()),
        groups_of(&table, &[], distinct_calls()),
    ];
    let cases = [
        (3, u64::MAX, io::ErrorKind::StorageFull, ExecErrorKind::DiskFull, "no space"),
        (3, u64::MAX, io::ErrorKind::Other, ExecErrorKind::SpillFailed, "could not write"),
        (u64::MAX, 3, io::ErrorKind::UnexpectedEof, ExecErrorKind::SpillFailed, "could not read"),
    ];
    for (writes, reads, error, kind, words) in cases {
        for plan in &plans {
            let medium = FailingMedium {
                writes_left: Arc::new(writes.into()),
                reads_left: Arc::new(reads.into()),
                error,
            };
            let space = SpillSpace::with_medium(Box::new(medium), "a limit", u64::MAX);
            let found: ExecError = execute(&spilling_pool(2, &space), plan, 500_000).err().unwrap();
            assert_eq!(found.kind(), kind);
            let text = found.to_string();
            assert!(text.contains(words) && text.contains("a place that fails"), "{text}");
            assert_eq!((space.bytes_used(), space.files()), (0, 0));
        }
    }
}

#[test]
fn canceled_queries_leave_no_files() {
    let (_store, table) = small_table();
    let place = SpillPlace::new(u64::MAX);
    let pool = spilling_pool(2, &place.space);
    for plan in [sort_of(&table, &[(TEXT, true, false)]), groups_of(&table, &[ID], calls())] {
        let options = QueryOptions {
            memory_bytes_max: 500_000,
            result_bytes_max: 1_000,
            ..QueryOptions::default()
        };
        let mut stream = pool.execute(PhysicalPlan { root: plan }, options).unwrap();
        // Rows have begun to come, and most are still in files.
        assert!(stream.next_batch().unwrap().is_some());
        assert!(place.space.bytes_used() > 0);
        stream.control().cancel();
        while let Ok(Some(_)) = stream.next_batch() {}
        drop(stream);
        // Workers let go of the query a moment after its last row.
        for _ in 0..1_000 {
            if place.space.files() == 0 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        place.assert_empty();
    }
}

/// Set for the process that is killed: the directory of its files.
const KILLED_DIRECTORY: &str = "NACRE_TEST_SPILL_DIRECTORY";

/// Spills, says so, and waits.
fn spill_and_wait(directory: &Path) {
    let (_store, table) = small_table();
    let space = SpillSpace::open(directory, "the limit of files", u64::MAX);
    let pool = spilling_pool(2, &space);
    let options = QueryOptions {
        memory_bytes_max: 500_000,
        result_bytes_max: 1_000,
        ..QueryOptions::default()
    };
    let root = sort_of(&table, &[(TEXT, true, false)]);
    let mut stream = pool.execute(PhysicalPlan { root }, options).unwrap();
    assert!(stream.next_batch().unwrap().is_some());
    println!("\nspilled {} {}", space.bytes_used(), space.files());
    io::stdout().flush().unwrap();
    let _ = io::stdin().read_line(&mut String::new());
}

#[test]
fn killed_process_leaves_no_file_and_the_next_start_is_clean() {
    const NAME: &str = "killed_process_leaves_no_file_and_the_next_start_is_clean";
    if let Some(directory) = std::env::var_os(KILLED_DIRECTORY) {
        return spill_and_wait(Path::new(&directory));
    }
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env(KILLED_DIRECTORY, directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let spilled = lines.map_while(Result::ok).find(|line| line.starts_with("spilled "));
    let spilled = spilled.expect("the process has spilled");
    let figures: Vec<u64> = spilled.split(' ').skip(1).map(|one| one.parse().unwrap()).collect();
    assert!(figures.iter().all(|one| *one > 0), "{spilled}");
    // SIGKILL.
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    let names = || std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(names(), 0);
    // What a process left that was killed between making a file and removing its name.
    std::fs::write(directory.path().join("nacre-spill-1-0x1-0"), b"rows").unwrap();
    let space = SpillSpace::open(directory.path(), "the limit of files", u64::MAX);
    assert_eq!((names(), space.bytes_used(), space.files()), (0, 0, 0));
    let (_store, table) = small_table();
    let plan = sort_of(&table, &[(TEXT, true, false)]);
    let answer = execute(&spilling_pool(2, &space), &plan, 500_000).unwrap();
    assert_eq!(answer.rows.len(), ROWS as usize);
    assert_eq!((names(), space.bytes_used(), space.files()), (0, 0, 0));
}
