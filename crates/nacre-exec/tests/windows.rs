//! Window functions, against the same computed row by row from the definitions of frames.

#![allow(clippy::single_range_in_vec_init, reason = "a table has a chunk for each range")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::cmp::Ordering;

use nacre_column::compare_floats;
use nacre_exec::dispatch::{QueryOptions, WorkerPool};
use nacre_exec::plan::{
    AggregateCall, AggregateFunction, FoldCall, FoldFunction, FoldState, FrameEdge, FrameExclusion,
    FrameOffset, FrameRange, FrameUnit, PhysicalPlan, PlanNode, RowFold, SortKey, WindowCall,
    WindowFrame, WindowFunction, WindowNode, WindowNumber, WindowSpecification,
};
use nacre_exec::spill::SpillSpace;
use nacre_exec::value::{IntBounds, IntLimit, ScalarValue, ValueClass};
use nacre_exec::vector::{ColumnVector, VectorValues};
use nacre_exec::{ExecErrorKind, ExecResult};
use nacre_store::{OpenOptions, Store};
use support::{
    FLAG, FLOAT, ID, MODE, MONEY, SMALL, SeededRandom, TEXT, WIDE, key, pool, row, rows_of, run,
    scalar, scan, spilling_pool, table,
};

const ALL: [usize; 8] = [ID, SMALL, MONEY, WIDE, FLOAT, FLAG, MODE, TEXT];

type Scalars = Vec<ScalarValue>;

/// Frames that are told apart: of other functions.
const ANY_FRAME: WindowFrame = WindowFrame::DEFAULT;

fn rows(ids: std::ops::Range<i64>) -> Vec<Scalars> {
    let scalars = |id| row(id, 5).iter().enumerate().map(|(at, value)| scalar(value, at)).collect();
    ids.map(scalars).collect()
}

fn is_null(value: &ScalarValue) -> bool {
    matches!(value, ScalarValue::Null(_))
}

/// Compares values that are not null.
fn order(left: &ScalarValue, right: &ScalarValue) -> Ordering {
    match (left, right) {
        (ScalarValue::Bool(left), ScalarValue::Bool(right)) => left.cmp(right),
        (ScalarValue::Int(left), ScalarValue::Int(right)) => left.cmp(right),
        (ScalarValue::Float64(left), ScalarValue::Float64(right)) => compare_floats(*left, *right),
        (ScalarValue::Bytes(left), ScalarValue::Bytes(right)) => left.cmp(right),
        _ => panic!("{left:?} and {right:?} have no order"),
    }
}

fn key_order(key: &SortKey, left: &Scalars, right: &Scalars) -> Ordering {
    let (left, right) = (&left[key.column], &right[key.column]);
    let nulls = if key.is_nulls_first { Ordering::Less } else { Ordering::Greater };
    match (is_null(left), is_null(right)) {
        (true, true) => Ordering::Equal,
        (true, false) => nulls,
        (false, true) => nulls.reverse(),
        (false, false) if key.is_descending => order(right, left),
        (false, false) => order(left, right),
    }
}

fn keys_order(keys: &[SortKey], left: &Scalars, right: &Scalars) -> Ordering {
    let orders = keys.iter().map(|key| key_order(key, left, right));
    orders.fold(Ordering::Equal, Ordering::then)
}

/// A partition in order, and which of its keys peers are equal in.
struct Partition<'r> {
    rows: Vec<&'r Scalars>,
    /// The number of groups of peers before that of a row.
    groups: Vec<i128>,
}

impl<'r> Partition<'r> {
    fn new(rows: &[&'r Scalars], order: &[SortKey]) -> Self {
        let mut groups = vec![0; rows.len()];
        for row in 1..rows.len() {
            let are_peers = keys_order(order, rows[row - 1], rows[row]) == Ordering::Equal;
            groups[row] = groups[row - 1] + i128::from(!are_peers);
        }
        Self { rows: rows.to_vec(), groups }
    }

    fn are_peers(&self, row: usize, other: usize) -> bool {
        self.groups[row] == self.groups[other]
    }

    fn group(&self, row: usize) -> i128 {
        self.groups[row]
    }

    /// How far `other` is behind `row` in the direction of the order, less the offset: `None` if
    /// that is no number.
    fn distance(&self, range: FrameRange, row: usize, other: usize) -> Result<i128, f64> {
        let sign = if range.key.is_descending { -1 } else { 1 };
        match (&self.rows[row][range.key.column], &self.rows[other][range.key.column]) {
            (ScalarValue::Int(row), ScalarValue::Int(other)) => Ok(sign * (other - row)),
            (ScalarValue::Float64(row), ScalarValue::Float64(other)) => Err(f64::from(sign as i32)
                * match (row.is_nan(), other.is_nan()) {
                    (true, true) => 0.0,
                    (true, false) => f64::NEG_INFINITY,
                    (false, true) => f64::INFINITY,
                    (false, false) => other - row,
                }),
            (row, other) => panic!("no distance between {row:?} and {other:?}"),
        }
    }

    /// Whether a row is not on the far side of an edge, as the manual says what edges mean.
    fn is_within(
        &self,
        frame: &WindowFrame,
        edge: FrameEdge,
        row: usize,
        other: usize,
        is_start: bool,
    ) -> bool {
        let steps = |offset| match offset {
            FrameOffset::Int(offset) => i128::try_from(offset).unwrap_or(1 << 100),
            FrameOffset::Float(_) | FrameOffset::Interval { .. } => panic!("steps are whole"),
        };
        let (offset, sign) = match edge {
            FrameEdge::UnboundedPreceding | FrameEdge::UnboundedFollowing => return true,
            FrameEdge::Preceding(offset) => (Some(offset), -1),
            FrameEdge::CurrentRow => (None, 1),
            FrameEdge::Following(offset) => (Some(offset), 1),
        };
        let place = match (frame.unit, offset) {
            (FrameUnit::Rows, offset) => {
                other as i128 - row as i128 - sign * offset.map_or(0, steps)
            }
            (FrameUnit::Groups, Some(offset)) => {
                self.group(other) - self.group(row) - sign * steps(offset)
            }
            (FrameUnit::Groups | FrameUnit::Range, None) => self.group(other) - self.group(row),
            (FrameUnit::Range, Some(offset)) => {
                let range = frame.range.unwrap();
                let column = range.key.column;
                if is_null(&self.rows[row][column]) || is_null(&self.rows[other][column]) {
                    self.group(other) - self.group(row)
                } else {
                    match (self.distance(range, row, other), offset) {
                        (Ok(distance), offset) => distance - sign * steps(offset),
                        (Err(distance), FrameOffset::Float(offset)) => {
                            let end = f64::from(sign as i32) * offset;
                            compare_floats(distance, end) as i128
                        }
                        (Err(_), FrameOffset::Int(_) | FrameOffset::Interval { .. }) => {
                            panic!("an offset of another type")
                        }
                    }
                }
            }
        };
        if is_start { place >= 0 } else { place <= 0 }
    }

    fn frame(&self, frame: &WindowFrame, row: usize) -> Vec<&'r Scalars> {
        let is_excluded = |other: usize| match frame.exclusion {
            FrameExclusion::Nothing => false,
            FrameExclusion::CurrentRow => other == row,
            FrameExclusion::Group => self.are_peers(row, other),
            FrameExclusion::Ties => other != row && self.are_peers(row, other),
        };
        let is_in = |other: &usize| {
            self.is_within(frame, frame.start, row, *other, true)
                && self.is_within(frame, frame.end, row, *other, false)
                && !is_excluded(*other)
        };
        (0..self.rows.len()).filter(is_in).map(|other| self.rows[other]).collect()
    }

    fn number(&self, number: WindowNumber, row: usize) -> Option<i64> {
        match number {
            WindowNumber::Constant(number) => number,
            WindowNumber::Column(column) => match &self.rows[row][column] {
                ScalarValue::Int(number) => Some(*number as i64),
                _ => None,
            },
        }
    }

    /// Evaluates a function for a row with that frame.
    fn evaluate(&self, call: &WindowCall, row: usize, frame: &[&Scalars]) -> Scalars {
        let (count, int) = (self.rows.len(), |value: i128| ScalarValue::Int(value));
        let peers: Vec<usize> = (0..count).filter(|other| self.are_peers(row, *other)).collect();
        let (first_peer, last_peer) = (peers[0], peers[peers.len() - 1]);
        let column = |argument: usize, row: Option<&&Scalars>| {
            row.map_or(ScalarValue::Null(ValueClass::Int), |row| row[argument].clone())
        };
        vec![match &call.function {
            WindowFunction::RowNumber => int(row as i128 + 1),
            WindowFunction::Rank => int(first_peer as i128 + 1),
            WindowFunction::DenseRank => int(self.group(row) + 1),
            WindowFunction::PercentRank if count == 1 => ScalarValue::Float64(0.0),
            WindowFunction::PercentRank => {
                ScalarValue::Float64(first_peer as f64 / (count - 1) as f64)
            }
            WindowFunction::CumeDist => ScalarValue::Float64((last_peer + 1) as f64 / count as f64),
            WindowFunction::Ntile { buckets } => {
                // Rows before the first number are counted, but have no bucket.
                let known = (0..=row).find_map(|at| Some((at, self.number(*buckets, at)?)));
                let Some((start, buckets)) = known else {
                    return vec![ScalarValue::Null(ValueClass::Int)];
                };
                let row = row - start;
                let (each, larger) = (count / buckets as usize, count % buckets as usize);
                let first = row.checked_sub((each + 1) * larger);
                let bucket = match first {
                    Some(behind) if each > 0 => larger + behind / each,
                    _ => row / (each + 1),
                };
                int(bucket as i128 + 1)
            }
            WindowFunction::Shift { argument, distance, is_lead, default } => {
                let Some(distance) = self.number(*distance, row) else {
                    return vec![ScalarValue::Null(ValueClass::Int)];
                };
                let sign = if *is_lead { 1 } else { -1 };
                let other = usize::try_from(row as i64 + sign * distance).ok();
                match other.and_then(|other| self.rows.get(other)) {
                    Some(other) => other[*argument].clone(),
                    None => default.map_or(ScalarValue::Null(ValueClass::Int), |default| {
                        self.rows[row][default].clone()
                    }),
                }
            }
            WindowFunction::FirstValue { argument } => column(*argument, frame.first()),
            WindowFunction::LastValue { argument } => column(*argument, frame.last()),
            WindowFunction::NthValue { argument, position } => {
                let position = self.number(*position, row);
                column(*argument, position.and_then(|position| frame.get(position as usize - 1)))
            }
            WindowFunction::Aggregate(aggregate) => {
                return aggregated(aggregate, frame);
            }
            WindowFunction::Fold(call) => {
                let texts = frame.iter().filter_map(|row| match &row[call.argument] {
                    ScalarValue::Bytes(text) => Some(text.as_slice()),
                    _ => None,
                });
                ScalarValue::Bytes(texts.collect::<Vec<_>>().concat())
            }
        }]
    }
}

fn aggregated(call: &AggregateCall, rows: &[&Scalars]) -> Scalars {
    let is_taken = |row: &&&Scalars| {
        call.filter.is_none_or(|filter| row[filter] == ScalarValue::Bool(true))
            && call.argument.is_none_or(|argument| !is_null(&row[argument]))
    };
    let taken: Vec<&&Scalars> = rows.iter().filter(is_taken).collect();
    let count = ScalarValue::Int(taken.len() as i128);
    let null = ScalarValue::Null(ValueClass::Int);
    let Some(argument) = call.argument else { return vec![count] };
    let sum = || {
        let values = taken.iter().map(|row| match &row[argument] {
            ScalarValue::Int(value) => *value,
            other => panic!("{other:?}"),
        });
        if taken.is_empty() { null.clone() } else { ScalarValue::Int(values.sum()) }
    };
    let values = taken.iter().map(|row| &row[argument]);
    let best = |wanted: Ordering| {
        // Of equal ones the last.
        let better = |known: &ScalarValue, new: &ScalarValue| order(known, new) == wanted;
        values.clone().reduce(|known, new| if better(known, new) { known } else { new })
    };
    match call.function {
        AggregateFunction::CountRows | AggregateFunction::Count => vec![count],
        AggregateFunction::Sum => vec![sum()],
        AggregateFunction::AverageState => vec![sum(), count],
        AggregateFunction::Min => vec![best(Ordering::Less).cloned().unwrap_or(null)],
        AggregateFunction::Max => vec![best(Ordering::Greater).cloned().unwrap_or(null)],
        other => panic!("no window has {other:?}"),
    }
}

/// Returns the input's rows with the results of all calls.
fn expected(rows: &[Scalars], node: &WindowNode) -> Vec<String> {
    let mut sorted_rows: Vec<&Scalars> = rows.iter().collect();
    sorted_rows.sort_by(|left, right| keys_order(&node.keys, left, right));
    let mut results: Vec<Scalars> = sorted_rows.iter().map(|row| (*row).clone()).collect();
    for window in &node.windows {
        let (partition, others) = node.keys.split_at(window.partition_keys);
        let order = &others[..window.order_keys];
        let mut start = 0;
        let same = |left: &&Scalars, right: &&Scalars| {
            keys_order(partition, left, right) == Ordering::Equal
        };
        for members in sorted_rows.chunk_by(same) {
            let partition = Partition::new(members, order);
            for (row, result) in results[start..start + members.len()].iter_mut().enumerate() {
                let mut known: Option<(WindowFrame, Vec<&Scalars>)> = None;
                for call in &window.calls {
                    let frame = match known.take() {
                        Some((frame, rows)) if frame == call.frame => rows,
                        _ => partition.frame(&call.frame, row),
                    };
                    result.extend(partition.evaluate(call, row, &frame));
                    known = Some((call.frame, frame));
                }
            }
            start += members.len();
        }
    }
    canonical(results)
}

/// Spells the class of nulls in one way, and sorts.
fn canonical(rows: Vec<Scalars>) -> Vec<String> {
    let one = |value| if is_null(&value) { ScalarValue::Null(ValueClass::Bool) } else { value };
    support::sorted(rows.into_iter().map(|row| row.into_iter().map(one).collect()).collect())
}

fn assert_agrees(pools: &[WorkerPool], input: &[Scalars], node: &WindowNode, what: &str) {
    let wanted = expected(input, node);
    for pool in pools {
        let found = canonical(run(pool, PlanNode::Window(Box::new(node.clone()))).unwrap());
        assert_eq!(found.len(), wanted.len(), "{what}");
        for (found, wanted) in found.iter().zip(&wanted) {
            if found == wanted {
                continue;
            }
            let (own, others) = (found.split('|'), wanted.split('|'));
            let differs = own.zip(others).position(|(own, other)| own != other);
            let column = differs.unwrap_or(0);
            let call =
                column.checked_sub(input[0].len()).map(|at| format!("{:?}", call_at(node, at)));
            let value = |text: &str| text.split('|').nth(column).map(str::to_owned);
            let (own, other) = (value(found), value(wanted));
            panic!("{what}, column {column}: {call:?}: {own:?}, not {other:?}\n{found}\n{wanted}");
        }
    }
}

/// Returns the call of a result column.
fn call_at(node: &WindowNode, column: usize) -> Option<&WindowCall> {
    let calls = node.windows.iter().flat_map(|window| &window.calls);
    let mut columns = calls.flat_map(|call| {
        let is_average = matches!(
            &call.function,
            WindowFunction::Aggregate(own) if own.function == AggregateFunction::AverageState
        );
        std::iter::repeat_n(call, if is_average { 2 } else { 1 })
    });
    columns.nth(column)
}

fn ascending(column: usize) -> SortKey {
    SortKey { column, is_descending: false, is_nulls_first: false }
}

fn whole_call(function: WindowFunction) -> WindowCall {
    WindowCall { function, frame: ANY_FRAME }
}

/// Puts texts one behind the other.
struct TextFold;

struct TextState(Vec<u8>);

impl RowFold for TextFold {
    fn name(&self) -> &str {
        "concatenation"
    }

    fn class(&self) -> ValueClass {
        ValueClass::Bytes
    }

    fn bounds(&self) -> IntBounds {
        IntBounds::I64
    }

    fn start(&self) -> Box<dyn FoldState> {
        Box::new(TextState(Vec::new()))
    }
}

impl FoldState for TextState {
    fn add(&mut self, row: &[u8]) -> ExecResult<()> {
        self.0.extend_from_slice(row);
        Ok(())
    }

    fn append_value(&mut self, out: &mut ColumnVector) -> ExecResult<()> {
        match &mut out.values {
            VectorValues::Bytes(values) => values.push(&self.0),
            other => panic!("{other:?}"),
        }
        Ok(())
    }
}

fn aggregate(function: AggregateFunction, argument: Option<usize>) -> WindowFunction {
    WindowFunction::Aggregate(AggregateCall::new(function, argument, IntLimit::NUMERIC))
}

fn filtered(function: AggregateFunction, argument: Option<usize>) -> WindowFunction {
    let call = AggregateCall::new(function, argument, IntLimit::NUMERIC);
    WindowFunction::Aggregate(AggregateCall { filter: Some(FLAG), ..call })
}

/// Functions that see a frame.
fn frame_functions() -> Vec<WindowFunction> {
    use AggregateFunction as F;
    vec![
        aggregate(F::CountRows, None),
        aggregate(F::Count, Some(MODE)),
        filtered(F::CountRows, None),
        aggregate(F::Sum, Some(MONEY)),
        filtered(F::AverageState, Some(WIDE)),
        aggregate(F::Min, Some(MONEY)),
        aggregate(F::Max, Some(TEXT)),
        filtered(F::Min, Some(MODE)),
        aggregate(F::Max, Some(FLOAT)),
        aggregate(F::Min, Some(FLOAT)),
        aggregate(F::Max, Some(FLAG)),
        WindowFunction::FirstValue { argument: TEXT },
        WindowFunction::LastValue { argument: MODE },
        WindowFunction::NthValue { argument: ID, position: WindowNumber::Constant(Some(3)) },
    ]
}

/// All frames with these offsets.
fn frames(
    unit: FrameUnit,
    offsets: [FrameOffset; 2],
    range: Option<FrameRange>,
) -> Vec<WindowFrame> {
    let [near, far] = offsets;
    let starts = [
        FrameEdge::UnboundedPreceding,
        FrameEdge::Preceding(far),
        FrameEdge::Preceding(near),
        FrameEdge::CurrentRow,
        FrameEdge::Following(near),
    ];
    let ends = [
        FrameEdge::Preceding(near),
        FrameEdge::CurrentRow,
        FrameEdge::Following(near),
        FrameEdge::Following(far),
        FrameEdge::UnboundedFollowing,
    ];
    let exclusions = [
        FrameExclusion::Nothing,
        FrameExclusion::CurrentRow,
        FrameExclusion::Group,
        FrameExclusion::Ties,
    ];
    let mut frames = Vec::new();
    for start in starts {
        for end in ends {
            for exclusion in exclusions {
                frames.push(WindowFrame { unit, start, end, exclusion, range });
            }
        }
    }
    frames
}

fn frame_calls(frames: &[WindowFrame], functions: &[WindowFunction]) -> Vec<WindowCall> {
    let of_frame = |frame: &WindowFrame| {
        let frame = *frame;
        functions.iter().map(move |function| WindowCall { function: function.clone(), frame })
    };
    frames.iter().flat_map(of_frame).collect()
}

#[test]
fn every_frame_has_the_rows_of_its_definition() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..40, 40..64], 5);
    let all = rows(0..64);
    let ints = |near, far| [FrameOffset::Int(near), FrameOffset::Int(far)];
    let floats = [FrameOffset::Float(0.0), FrameOffset::Float(4.75)];
    use AggregateFunction as F;
    let some = [
        aggregate(F::CountRows, None),
        filtered(F::AverageState, Some(WIDE)),
        aggregate(F::Min, Some(MONEY)),
        filtered(F::Max, Some(FLOAT)),
        WindowFunction::FirstValue { argument: ID },
        WindowFunction::LastValue { argument: ID },
        WindowFunction::NthValue { argument: ID, position: WindowNumber::Constant(Some(3)) },
        WindowFunction::Fold(FoldCall { fold: FoldFunction::new(TextFold), argument: TEXT }),
    ];
    for (is_descending, is_nulls_first) in
        [(false, false), (false, true), (true, false), (true, true)]
    {
        for (column, offsets) in [
            (SMALL, ints(0, 4)),
            (WIDE, ints(1 << 40, 1 << 69)),
            (MONEY, ints(10_000, u128::MAX)),
            (FLOAT, floats),
        ] {
            let key = SortKey { column, is_descending, is_nulls_first };
            let range = Some(FrameRange { key, bounds: None });
            let mut all_frames = frames(FrameUnit::Range, offsets, range);
            if column == SMALL {
                all_frames.extend(frames(FrameUnit::Rows, ints(1, 3), None));
                all_frames.extend(frames(FrameUnit::Groups, ints(1, 2), None));
            } else if column == WIDE {
                all_frames.extend(frames(FrameUnit::Rows, ints(0, u128::MAX), None));
                all_frames.extend(frames(FrameUnit::Groups, ints(0, u128::MAX), None));
            }
            // Rows of a group come in the order of their ids.
            let keys = vec![ascending(FLAG), key, ascending(ID)];
            let calls = frame_calls(&all_frames, &some);
            let windows = vec![WindowSpecification { partition_keys: 1, order_keys: 1, calls }];
            let input = scan(&table.snapshot(), &ALL, Vec::new());
            let node = WindowNode { input, keys, windows };
            assert_agrees(
                &[pool(1 + usize::from(is_descending))],
                &all,
                &node,
                &format!("{key:?}"),
            );
        }
    }
}

/// Returns the rows of a node with so much memory, and whether files were written.
fn run_within(pool: &WorkerPool, node: &WindowNode, bytes_max: u64) -> (Vec<String>, bool) {
    let root = PlanNode::Window(Box::new(node.clone()));
    let options = QueryOptions { memory_bytes_max: bytes_max, ..QueryOptions::default() };
    let mut stream = pool.execute(PhysicalPlan { root }, options).unwrap();
    let rows = canonical(rows_of(&stream.collect_batches().unwrap()));
    let report = stream.report();
    let has_files = report.pipelines.iter().flatten().any(|one| one.spilled_files > 0);
    (rows, has_files)
}

/// Checks that partitions in files have the results of those in memory. The sort takes less than
/// half of `limits`, or more, and the evaluation more than each of them.
fn assert_same_in_files(node: &WindowNode, limits: &[u64], what: &str) {
    let directory = tempfile::tempdir().unwrap();
    let space = SpillSpace::open(directory.path(), "the limit of files", u64::MAX);
    let (wanted, has_files) = run_within(&pool(1), node, 1 << 30);
    assert!(!has_files && !wanted.is_empty());
    let own = spilling_pool(2, &space);
    for limit in limits {
        let (found, has_files) = run_within(&own, node, *limit);
        assert!(has_files, "{what}, {limit} bytes: no files");
        let differs = found.iter().zip(&wanted).find(|(found, wanted)| found != wanted);
        assert!(found.len() == wanted.len() && differs.is_none(), "{what}, {limit}: {differs:?}");
    }
    assert_eq!((space.bytes_used(), space.files()), (0, 0));
}

#[test]
fn frames_over_files_are_those_in_memory() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..400, 400..600], 5);
    let ints = |near, far| [FrameOffset::Int(near), FrameOffset::Int(far)];
    let floats = [FrameOffset::Float(0.0), FrameOffset::Float(4.75)];
    let fold = FoldCall { fold: FoldFunction::new(TextFold), argument: MODE };
    let folds = [WindowFunction::Fold(fold)];
    for (column, unit, offsets, is_descending) in [
        (SMALL, FrameUnit::Rows, ints(1, 30), false),
        (SMALL, FrameUnit::Groups, ints(1, 3), true),
        (MONEY, FrameUnit::Range, ints(10_000, u128::MAX), false),
        (FLOAT, FrameUnit::Range, floats, true),
    ] {
        let key = SortKey { column, is_descending, is_nulls_first: is_descending };
        let has_distances = unit == FrameUnit::Range;
        let range = has_distances.then_some(FrameRange { key, bounds: None });
        for (at, some) in frames(unit, offsets, range).chunks(20).enumerate() {
            let mut calls = frame_calls(some, &frame_functions());
            calls.extend(frame_calls(&some[at % 20..][..1], &folds));
            let partition_keys = at % 2;
            let keys = [ascending(FLAG)].into_iter().take(partition_keys);
            let keys = keys.chain([key, ascending(ID)]).collect();
            let windows = vec![WindowSpecification { partition_keys, order_keys: 1, calls }];
            let input = scan(&table.snapshot(), &ALL, Vec::new());
            let node = WindowNode { input, keys, windows };
            assert_same_in_files(&node, &[2_000_000], &format!("{key:?} {unit:?} {at}"));
        }
    }
}

#[test]
fn windows_over_files_are_those_in_memory() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..9_000, 9_000..12_000], 5);
    let mut random = SeededRandom(7);
    for partition_keys in [0, 1, 2] {
        let input = with_positive(scan(&table.snapshot(), &ALL, Vec::new()), &mut []);
        let mut calls: Vec<WindowCall> =
            partition_functions(&mut random).into_iter().map(whole_call).collect();
        let frame = WindowFrame { end: FrameEdge::UnboundedFollowing, ..WindowFrame::DEFAULT };
        calls.extend(frame_calls(&[WindowFrame::DEFAULT, frame], &frame_functions()));
        let own = WindowSpecification { partition_keys, order_keys: 3 - partition_keys, calls };
        let other = WindowSpecification {
            partition_keys: 2 - partition_keys,
            order_keys: 1 + partition_keys,
            calls: own.calls.clone(),
        };
        let keys = vec![ascending(FLAG), ascending(MODE), ascending(ID)];
        let node = WindowNode { input, keys, windows: vec![own, other] };
        let limits = [2_000_000, 6_000_000];
        assert_same_in_files(&node, &limits, &format!("{partition_keys} keys"));
    }
}

/// Functions of the whole partition.
fn partition_functions(random: &mut SeededRandom) -> Vec<WindowFunction> {
    let distance = match random.below(3) {
        0 => WindowNumber::Column(SMALL),
        1 => WindowNumber::Constant(None),
        _ => WindowNumber::Constant(Some(random.below(7) as i64 - 3)),
    };
    let shift =
        |argument, default, is_lead| WindowFunction::Shift { argument, distance, is_lead, default };
    vec![
        WindowFunction::RowNumber,
        WindowFunction::Rank,
        WindowFunction::DenseRank,
        WindowFunction::PercentRank,
        WindowFunction::CumeDist,
        WindowFunction::Ntile { buckets: WindowNumber::Constant(Some(4)) },
        WindowFunction::Ntile { buckets: WindowNumber::Constant(None) },
        // Its first value that is not null decides.
        WindowFunction::Ntile { buckets: WindowNumber::Column(ALL.len()) },
        shift(MODE, Some(TEXT), false),
        shift(SMALL, Some(WIDE), true),
        shift(FLOAT, None, false),
        shift(FLAG, Some(FLAG), true),
        WindowFunction::NthValue { argument: MODE, position: WindowNumber::Column(ALL.len()) },
    ]
}

/// Adds a column of positive numbers and nulls to a scan, and to rows.
fn with_positive(input: PlanNode, rows: &mut [Scalars]) -> PlanNode {
    use nacre_column::CompareOp;
    use nacre_exec::expression::{ExpressionGraph, ExpressionNode};
    use nacre_exec::plan::MapNode;
    let mut graph = ExpressionGraph::default();
    let columns = [
        ValueClass::Int,
        ValueClass::Int,
        ValueClass::Int,
        ValueClass::Int,
        ValueClass::Float64,
        ValueClass::Bool,
        ValueClass::Bytes,
        ValueClass::Bytes,
    ];
    let mut outputs: Vec<_> = columns
        .into_iter()
        .enumerate()
        .map(|(index, class)| graph.column(index, class).unwrap())
        .collect();
    let zero = graph.add(ExpressionNode::Constant(ScalarValue::Int(0))).unwrap();
    let null = graph.add(ExpressionNode::Constant(ScalarValue::Null(ValueClass::Int))).unwrap();
    let (op, left, right) = (CompareOp::Gt, outputs[SMALL], zero);
    let condition = graph.add(ExpressionNode::Compare { op, left, right }).unwrap();
    let case = ExpressionNode::Case { condition, then: outputs[SMALL], otherwise: null };
    outputs.push(graph.add(case).unwrap());
    for row in rows {
        let positive = match row[SMALL] {
            ScalarValue::Int(value @ 1..) => ScalarValue::Int(value),
            _ => ScalarValue::Null(ValueClass::Int),
        };
        row.push(positive);
    }
    PlanNode::Map(Box::new(MapNode { input, graph, outputs }))
}

#[test]
fn windows_of_one_sort_agree_with_rows_one_by_one() {
    let seed = std::env::var("NACRE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or(20_231);
    println!("NACRE_TEST_SEED={seed}");
    let mut random = SeededRandom(seed);
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..150, 150..260], 5);
    let pools = [pool(1), pool(4)];
    for case in 0..20 {
        let mut all = rows(0..260);
        let input = with_positive(scan(&table.snapshot(), &ALL, Vec::new()), &mut all);
        let choices = [SMALL, MONEY, WIDE, FLOAT, FLAG, MODE, TEXT];
        let count = random.below(4) as usize;
        let mut keys: Vec<SortKey> = (0..count)
            .map(|_| SortKey {
                column: choices[random.below(7) as usize],
                is_descending: random.below(2) == 1,
                is_nulls_first: random.below(2) == 1,
            })
            .collect();
        keys.push(ascending(ID));
        let windows = (0..1 + random.below(3)).map(|_| {
            let partition_keys = random.below(count as u64 + 1) as usize;
            let order_keys = random.below((count - partition_keys) as u64 + 2) as usize;
            let mut calls: Vec<WindowCall> =
                partition_functions(&mut random).into_iter().map(whole_call).collect();
            calls.extend(frame_calls(&[WindowFrame::DEFAULT], &frame_functions()));
            WindowSpecification { partition_keys, order_keys, calls }
        });
        let windows = windows.collect();
        let node = WindowNode { input, keys, windows };
        assert_agrees(&pools, &all, &node, &format!("case {case} of seed {seed}"));
    }
}

#[test]
fn no_rows_have_no_results() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[], 5);
    let input = scan(&table.snapshot(), &ALL, Vec::new());
    let calls = frame_calls(&[WindowFrame::DEFAULT], &frame_functions());
    let windows = vec![WindowSpecification { partition_keys: 0, order_keys: 0, calls }];
    let node = WindowNode { input, keys: Vec::new(), windows };
    assert_eq!(run(&pool(2), PlanNode::Window(Box::new(node))).unwrap(), Vec::<Scalars>::new());
}

/// One partition by id, or many.
fn long_node(input: PlanNode, keys: Vec<SortKey>, calls: Vec<WindowCall>) -> WindowNode {
    let partition_keys = keys.len() - 1;
    let windows = vec![WindowSpecification { partition_keys, order_keys: 1, calls }];
    WindowNode { input, keys, windows }
}

/// With frames of half of the rows, what is quadratic takes minutes.
#[test]
fn long_partitions_take_linear_time() {
    const ROWS: i64 = 120_000;
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..60_000, 60_000..ROWS], 5);
    let half = FrameOffset::Int(60_000);
    let sliding = |exclusion| WindowFrame {
        unit: FrameUnit::Rows,
        start: FrameEdge::Preceding(half),
        end: FrameEdge::CurrentRow,
        exclusion,
        range: None,
    };
    let sum = aggregate(AggregateFunction::Sum, Some(ID));
    let greatest = aggregate(AggregateFunction::Max, Some(ID));
    let least = aggregate(AggregateFunction::Min, Some(ID));
    let plain = sliding(FrameExclusion::Nothing);
    let without = sliding(FrameExclusion::CurrentRow);
    let calls = [
        WindowCall { function: sum.clone(), frame: plain },
        WindowCall { function: least.clone(), frame: plain },
        WindowCall { function: greatest, frame: without },
        WindowCall { function: least.clone(), frame: without },
        WindowCall { function: sum, frame: WindowFrame::DEFAULT },
        WindowCall { function: least, frame: WindowFrame::DEFAULT },
    ];
    let input = scan(&table.snapshot(), &[ID], Vec::new());
    let node = long_node(input, vec![ascending(ID)], calls.to_vec());
    let found = run(&pool(2), PlanNode::Window(Box::new(node))).unwrap();
    assert_eq!(found.len(), ROWS as usize);
    for values in &found {
        let ScalarValue::Int(id) = values[0] else { panic!("{values:?}") };
        let start = (id - 60_000).max(0);
        let sum_from = |start: i128| ScalarValue::Int((start + id) * (id - start + 1) / 2);
        let other = |value: i128| {
            if id == 0 { ScalarValue::Null(ValueClass::Int) } else { ScalarValue::Int(value) }
        };
        let wanted = [
            sum_from(start),
            ScalarValue::Int(start),
            other(id - 1),
            other(start),
            sum_from(0),
            ScalarValue::Int(0),
        ];
        assert_eq!(values[1..], wanted, "row {id}");
    }
}

#[test]
fn many_partitions_are_shared_by_workers() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..20_000, 20_000..30_000], 5);
    let all = rows(0..30_000);
    let input = scan(&table.snapshot(), &ALL, Vec::new());
    let calls = [
        whole_call(WindowFunction::RowNumber),
        whole_call(aggregate(AggregateFunction::Sum, Some(MONEY))),
    ];
    let keys = vec![ascending(SMALL), ascending(MODE), ascending(ID)];
    let node = long_node(input, keys, calls.to_vec());
    let mut rows: Vec<&Scalars> = all.iter().collect();
    rows.sort_by(|left, right| keys_order(&node.keys, left, right));
    let same = |left: &&Scalars, right: &&Scalars| {
        keys_order(&node.keys[..2], left, right) == Ordering::Equal
    };
    let mut wanted = Vec::new();
    for members in rows.chunk_by(same) {
        let (mut number, mut sum) = (0, None);
        for row in members {
            number += 1;
            if let ScalarValue::Int(money) = row[MONEY] {
                sum = Some(sum.unwrap_or(0) + money);
            }
            let sum = sum.map_or(ScalarValue::Null(ValueClass::Int), ScalarValue::Int);
            let results = [ScalarValue::Int(number), sum];
            wanted.push(row.iter().cloned().chain(results).collect());
        }
    }
    let wanted = canonical(wanted);
    for pool in [pool(1), pool(4)] {
        let found = canonical(run(&pool, PlanNode::Window(Box::new(node.clone()))).unwrap());
        assert!(found == wanted, "{:?}", found.iter().zip(&wanted).find(|(one, two)| one != two));
    }
}

#[test]
fn sums_are_refused_beyond_their_limit_only() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..100], 5);
    let limit = |bounds| IntLimit { bounds, type_name: "bigint" };
    let run_with = |greatest: i128, start: FrameEdge| -> ExecResult<usize> {
        let bounds = nacre_exec::value::IntBounds::new(0, greatest);
        let call = AggregateCall::new(AggregateFunction::Sum, Some(ID), limit(bounds));
        let frame = WindowFrame { unit: FrameUnit::Rows, start, ..WindowFrame::DEFAULT };
        let calls = vec![WindowCall { function: WindowFunction::Aggregate(call), frame }];
        let input = scan(&table.snapshot(), &[ID], Vec::new());
        let node = long_node(input, vec![ascending(ID)], calls);
        run(&pool(1), PlanNode::Window(Box::new(node))).map(|rows| rows.len())
    };
    // The greatest sums are 98 + 99 and that of all ids.
    let two = FrameEdge::Preceding(FrameOffset::Int(1));
    assert_eq!(run_with(197, two).unwrap(), 100);
    for (greatest, start) in [(196, two), (4_949, FrameEdge::UnboundedPreceding)] {
        let error = run_with(greatest, start).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::NumericOutOfRange);
        assert_eq!(error.to_string(), "bigint out of range");
    }
    assert_eq!(run_with(4_950, FrameEdge::UnboundedPreceding).unwrap(), 100);
}

#[test]
fn arguments_that_are_not_positive_are_errors() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..100], 5);
    let error = |function| {
        let input = scan(&table.snapshot(), &ALL, Vec::new());
        let node = long_node(input, vec![ascending(ID)], vec![whole_call(function)]);
        run(&pool(1), PlanNode::Window(Box::new(node))).unwrap_err().to_string()
    };
    for number in [WindowNumber::Constant(Some(0)), WindowNumber::Column(SMALL)] {
        assert_eq!(
            error(WindowFunction::NthValue { argument: ID, position: number }),
            "argument of nth_value must be greater than zero"
        );
    }
    assert_eq!(
        error(WindowFunction::Ntile { buckets: WindowNumber::Constant(Some(-1)) }),
        "argument of ntile must be greater than zero"
    );
}

#[test]
fn distances_end_within_their_bounds() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..100], 5);
    let found = |bounds, offset| {
        let range = FrameRange { key: ascending(ID), bounds: Some(bounds) };
        let start = FrameEdge::Preceding(FrameOffset::Int(offset));
        let frame = WindowFrame { start, range: Some(range), ..WindowFrame::DEFAULT };
        let function = aggregate(AggregateFunction::CountRows, None);
        let input = scan(&table.snapshot(), &ALL, Vec::new());
        let calls = vec![WindowCall { function, frame }];
        let node = long_node(input, vec![ascending(ID)], calls);
        run(&pool(1), PlanNode::Window(Box::new(node))).map_err(|error| error.to_string())
    };
    let bounds = nacre_exec::value::IntBounds::new(-10, 99);
    assert_eq!(found(bounds, 10).unwrap().len(), 100);
    assert_eq!(found(bounds, 11).unwrap_err(), "timestamp out of range");
    assert_eq!(found(bounds, u128::MAX).unwrap_err(), "timestamp out of range");
}

#[test]
fn memory_and_deadlines_end_windows() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..60_000], 5);
    let input = scan(&table.snapshot(), &[ID], Vec::new());
    let calls = vec![whole_call(aggregate(AggregateFunction::Sum, Some(0)))];
    let node = long_node(input, vec![ascending(0)], calls);
    let root = PlanNode::Window(Box::new(node));
    let pool = pool(2);
    let execute = |options| {
        let mut stream = pool.execute(PhysicalPlan { root: root.clone() }, options)?;
        stream.collect_batches().map(|batches| rows_of(&batches).len())
    };
    // The sort takes less than 4 MiB, its order and prefix sums some more.
    let error = execute(QueryOptions { memory_bytes_max: 4 << 20, ..QueryOptions::default() });
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::OutOfMemory, "{error}");
    assert!(error.to_string().starts_with("window needs"), "{error}");
    let deadline = Some(std::time::Instant::now());
    let error = execute(QueryOptions { deadline, ..QueryOptions::default() }).unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::DeadlineExceeded, "{error}");
    assert_eq!(execute(QueryOptions::default()).unwrap(), 60_000);
}

#[test]
fn columns_that_nobody_reads_are_not_handed_on() {
    use nacre_exec::expression::ExpressionGraph;
    use nacre_exec::plan::MapNode;
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..20_000], 5);
    let input = scan(&table.snapshot(), &ALL, Vec::new());
    let calls = vec![whole_call(WindowFunction::RowNumber)];
    let node = long_node(input, vec![ascending(ID)], calls);
    let input = PlanNode::Window(Box::new(node));
    let mut graph = ExpressionGraph::default();
    let outputs = vec![
        graph.column(TEXT, ValueClass::Bytes).unwrap(),
        graph.column(ALL.len(), ValueClass::Int).unwrap(),
    ];
    let root = PlanNode::Map(Box::new(MapNode { input, graph, outputs }));
    let found = run(&pool(2), root).unwrap();
    let mut found: Vec<String> = found.iter().map(|row| key(row)).collect();
    found.sort_unstable();
    let wanted = rows(0..20_000).into_iter().enumerate();
    let wanted = wanted.map(|(at, row)| vec![row[TEXT].clone(), ScalarValue::Int(at as i128 + 1)]);
    assert_eq!(found, support::sorted(wanted.collect()));
}
