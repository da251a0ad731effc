//! Every sub-operator against an evaluation row by row, written plainly.

mod reference;

use std::sync::Arc;

use nacre_column::CompareOp;
use nacre_simd::Flavour;
use proptest::prelude::*;

use reference::{Evaluated, evaluate};

use super::StepInterpreter;
use crate::error::{ExecError, ExecErrorKind};
use crate::expression::{
    ArithmeticOp, ExpressionGraph, ExpressionId, ExpressionNode, ForeignCall, ForeignFunction,
};
use crate::pipeline::{ProgramBuilder, SlotInfo};
use crate::value::{IntBounds, IntLimit, IntWidth, ScalarValue, ValueClass, VectorType};
use crate::vector::{
    BitVector, ColumnVector, QueryDictionary, SelectionVector, VectorBatch, VectorValues,
};

/// Numbers that look random and follow from a seed.
struct SeededRandom(u64);

impl SeededRandom {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 ^ self.0 >> 29
    }

    fn below(&mut self, end: usize) -> usize {
        ((self.next() >> 16) % end as u64) as usize
    }

    fn is_one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// The input: columns and what is known of them.
struct TestInput {
    infos: Vec<SlotInfo>,
    columns: Vec<ColumnVector>,
    rows: usize,
    selected: Option<BitVector>,
}

fn int_column(random: &mut SeededRandom, rows: usize) -> (SlotInfo, ColumnVector) {
    let bounds = random.pick(&[
        IntBounds::new(-3, 5),
        IntBounds::new(0, 20_000),
        IntBounds::new(-40_000, 40_000),
        IntBounds::new(i128::from(i32::MIN), i128::from(i32::MAX)),
        IntBounds::new(-(1 << 40), 1 << 40),
        IntBounds::I64,
        IntBounds::new(-(10_i128.pow(37)), 10_i128.pow(37)),
    ]);
    let vector_type = VectorType::Int(bounds.width());
    let mut column = ColumnVector::new(vector_type);
    for _ in 0..rows {
        let span = (bounds.max() - bounds.min()) as u128 + 1;
        let value = match random.below(8) {
            0 => bounds.min(),
            1 => bounds.max(),
            2 => 0.clamp(bounds.min(), bounds.max()),
            _ => {
                let wide = u128::from(random.next()) << 64 | u128::from(random.next());
                bounds.min() + (wide % span) as i128
            }
        };
        column.values.push_int(value);
    }
    (SlotInfo { vector_type, bounds: Some(bounds), is_nullable: false, dictionary: None }, column)
}

fn other_column(random: &mut SeededRandom, rows: usize) -> (SlotInfo, ColumnVector) {
    let vector_type = random.pick(&[
        VectorType::Bool,
        VectorType::Float32,
        VectorType::Float64,
        VectorType::Bytes,
        VectorType::Code,
    ]);
    let floats = [0.0, -0.0, 1.5, -2.25, f64::NAN, f64::INFINITY, 1e38, 1e300, -7.0];
    let texts: [&[u8]; 5] = [b"", b"a", b"abc", b"a longer text than 12", b"a longer text than 13"];
    let mut column = ColumnVector::new(vector_type);
    let dictionary: Arc<QueryDictionary> = Arc::default();
    let codes = dictionary.intern(texts.into_iter());
    for _ in 0..rows {
        match &mut column.values {
            VectorValues::Bool(bits) => bits.push(random.is_one_in(2)),
            VectorValues::Float32(values) => values.push(random.pick(&floats) as f32),
            VectorValues::Float64(values) => values.push(random.pick(&floats)),
            VectorValues::Bytes(values) => values.push(random.pick(&texts)),
            VectorValues::Code(values) => values.push(random.pick(&codes)),
            _ => unreachable!("no such type above"),
        }
    }
    let dictionary = (vector_type == VectorType::Code).then_some(dictionary);
    column.dictionary.clone_from(&dictionary);
    (SlotInfo { vector_type, bounds: None, is_nullable: false, dictionary }, column)
}

fn input(random: &mut SeededRandom) -> TestInput {
    let rows = random.pick(&[1, 2, 63, 64, 65, 200]);
    let mut made: Vec<_> = (0..4).map(|_| int_column(random, rows)).collect();
    made.extend((0..5).map(|_| other_column(random, rows)));
    for (info, column) in &mut made {
        if random.is_one_in(2) {
            let mut validity = BitVector::default();
            (0..rows).for_each(|_| validity.push(!random.is_one_in(4)));
            column.validity = Some(validity);
            info.is_nullable = true;
        }
    }
    let selected = random.is_one_in(2).then(|| {
        let mut bits = BitVector::default();
        (0..rows).for_each(|_| bits.push(!random.is_one_in(3)));
        bits
    });
    let (infos, columns) = made.into_iter().unzip();
    TestInput { infos, columns, rows, selected }
}

/// Twice the argument, or an error for 13.
fn twice_but_13(call: &ForeignCall<'_>, out: &mut ColumnVector) -> Result<(), ExecError> {
    let argument = call.arguments[0];
    for row in 0..call.rows {
        let value = argument.values.int(row).unwrap_or(0);
        let is_active = call.active.is_none_or(|bits| bits.get(row));
        if is_active && !argument.is_null(row) && value == 13 {
            let message = "13 is refused".to_owned();
            return Err(ExecError::Function { sqlstate: "22023", message });
        }
        out.values.push_int(value.wrapping_mul(2));
    }
    out.validity.clone_from(&argument.validity);
    Ok(())
}

struct ExpressionGenerator<'r> {
    random: &'r mut SeededRandom,
    graph: ExpressionGraph,
    classes: Vec<ValueClass>,
    function: ForeignFunction,
}

impl ExpressionGenerator<'_> {
    fn column(&mut self, class: ValueClass) -> Option<ExpressionId> {
        let columns: Vec<usize> =
            (0..self.classes.len()).filter(|at| self.classes[*at] == class).collect();
        if columns.is_empty() {
            return None;
        }
        let index = self.random.pick(&columns);
        Some(self.graph.column(index, class).unwrap())
    }

    fn constant(&mut self, class: ValueClass) -> ExpressionId {
        let value = match class {
            _ if self.random.is_one_in(6) => ScalarValue::Null(class),
            ValueClass::Bool => ScalarValue::Bool(self.random.is_one_in(2)),
            ValueClass::Int => ScalarValue::Int(self.random.pick(&[
                0,
                1,
                -1,
                13,
                100,
                40_000,
                1 << 40,
                -(1 << 90),
            ])),
            ValueClass::Float32 => ScalarValue::Float32(self.random.pick(&[0.0, 2.5, f32::NAN])),
            ValueClass::Float64 => ScalarValue::Float64(self.random.pick(&[0.0, 2.5, 1e308])),
            ValueClass::Bytes => {
                ScalarValue::Bytes(self.random.pick(&[&b"a"[..], b"abd"]).to_vec())
            }
        };
        self.graph.add(ExpressionNode::Constant(value)).unwrap()
    }

    fn limit(&mut self) -> IntLimit {
        let limits = [IntLimit::SMALLINT, IntLimit::INTEGER, IntLimit::BIGINT, IntLimit::NUMERIC];
        self.random.pick(&limits)
    }

    fn expression(&mut self, class: ValueClass, depth: usize) -> ExpressionId {
        if depth == 0 || self.random.is_one_in(4) {
            return match self.column(class) {
                Some(column) if !self.random.is_one_in(3) => column,
                _ => self.constant(class),
            };
        }
        if self.random.is_one_in(5) {
            let condition = self.expression(ValueClass::Bool, depth - 1);
            let then = self.expression(class, depth - 1);
            let otherwise = self.expression(class, depth - 1);
            return self.graph.add(ExpressionNode::Case { condition, then, otherwise }).unwrap();
        }
        let node = match class {
            ValueClass::Int => self.int_node(depth - 1),
            ValueClass::Bool => self.bool_node(depth - 1),
            ValueClass::Float32 | ValueClass::Float64 => self.float_node(class, depth - 1),
            ValueClass::Bytes => return self.constant(class),
        };
        self.graph.add(node).unwrap()
    }

    fn int_node(&mut self, depth: usize) -> ExpressionNode {
        let limit = self.limit();
        let input = self.expression(ValueClass::Int, depth);
        match self.random.below(9) {
            0 => ExpressionNode::CastInt { input, limit },
            1 => {
                let digits = self.random.pick(&[-3, -1, 0, 2, 12]);
                ExpressionNode::Rescale { input, digits, limit }
            }
            2 => {
                let limit = IntLimit::INTEGER;
                let input = self.graph.add(ExpressionNode::CastInt { input, limit }).unwrap();
                ExpressionNode::ExtractYear { input }
            }
            3 => {
                let limit = IntLimit::INTEGER;
                let input = self.graph.add(ExpressionNode::CastInt { input, limit }).unwrap();
                let function = self.function.clone();
                ExpressionNode::Foreign { function, arguments: vec![input] }
            }
            _ => {
                let right = self.expression(ValueClass::Int, depth);
                let op = self.random.pick(&[
                    ArithmeticOp::Add,
                    ArithmeticOp::Subtract,
                    ArithmeticOp::Multiply,
                    ArithmeticOp::Multiply,
                    ArithmeticOp::Divide,
                    ArithmeticOp::Remainder,
                ]);
                ExpressionNode::IntArithmetic { op, left: input, right, limit }
            }
        }
    }

    fn bool_node(&mut self, depth: usize) -> ExpressionNode {
        let left = self.expression(ValueClass::Bool, depth);
        match self.random.below(7) {
            0 => ExpressionNode::And { left, right: self.expression(ValueClass::Bool, depth) },
            1 => ExpressionNode::Or { left, right: self.expression(ValueClass::Bool, depth) },
            2 => ExpressionNode::Not { input: left },
            3 => ExpressionNode::IsNull { input: left },
            _ => {
                let classes = [
                    ValueClass::Int,
                    ValueClass::Int,
                    ValueClass::Bool,
                    ValueClass::Float32,
                    ValueClass::Float64,
                    ValueClass::Bytes,
                ];
                let class = self.random.pick(&classes);
                let (left, right) = (self.expression(class, depth), self.expression(class, depth));
                let ops = [
                    CompareOp::Eq,
                    CompareOp::Ne,
                    CompareOp::Lt,
                    CompareOp::Le,
                    CompareOp::Gt,
                    CompareOp::Ge,
                ];
                ExpressionNode::Compare { op: self.random.pick(&ops), left, right }
            }
        }
    }

    fn float_node(&mut self, class: ValueClass, depth: usize) -> ExpressionNode {
        match self.random.below(4) {
            0 => {
                let input = self.expression(ValueClass::Int, depth);
                let scale = self.random.pick(&[0, 2]);
                ExpressionNode::IntToFloat { input, scale, target: class }
            }
            1 => {
                let other = if class == ValueClass::Float32 {
                    ValueClass::Float64
                } else {
                    ValueClass::Float32
                };
                let input = self.expression(other, depth);
                ExpressionNode::CastFloat { input, target: class }
            }
            _ => {
                let ops = [
                    ArithmeticOp::Add,
                    ArithmeticOp::Subtract,
                    ArithmeticOp::Multiply,
                    ArithmeticOp::Divide,
                ];
                let op = self.random.pick(&ops);
                let (left, right) = (self.expression(class, depth), self.expression(class, depth));
                ExpressionNode::FloatArithmetic { op, left, right }
            }
        }
    }
}

/// Equal, with all NaN alike and classes alone for nulls.
fn is_same(left: &ScalarValue, right: &ScalarValue) -> bool {
    match (left, right) {
        (ScalarValue::Float32(left), ScalarValue::Float32(right)) => {
            left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan()
        }
        (ScalarValue::Float64(left), ScalarValue::Float64(right)) => {
            left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan()
        }
        (left, right) => left == right,
    }
}

fn check(seed: u64) {
    let mut random = SeededRandom(seed);
    let input = input(&mut random);
    let classes = input.infos.iter().map(|info| info.vector_type.class()).collect();
    let bounds = IntBounds::new(-(1 << 33), 1 << 33);
    let function = ForeignFunction::new("twice", twice_but_13, ValueClass::Int, bounds, true);
    let mut generator = ExpressionGenerator {
        random: &mut random,
        graph: ExpressionGraph::default(),
        classes,
        function,
    };
    let class = generator.random.pick(&[
        ValueClass::Int,
        ValueClass::Int,
        ValueClass::Bool,
        ValueClass::Float32,
        ValueClass::Float64,
        ValueClass::Bytes,
    ]);
    let roots = [generator.expression(class, 4), generator.expression(ValueClass::Int, 3)];
    let graph = generator.graph;
    let mut builder = ProgramBuilder::default();
    let slots: Vec<usize> = input.infos.iter().map(|info| builder.slot(info.clone())).collect();
    let outputs = builder.resolve_all(&graph, &slots, &roots).unwrap();
    let mut program = builder.program;
    program.note_live(&outputs);
    let is_selected = |row: usize| input.selected.as_ref().is_none_or(|bits| bits.get(row));
    let rows: Vec<usize> = (0..input.rows).filter(|row| is_selected(*row)).collect();
    let expected: Vec<Vec<Evaluated>> = roots
        .iter()
        .map(|root| rows.iter().map(|row| evaluate(&graph, *root, &input, *row)).collect())
        .collect();
    let errors: Vec<ExecErrorKind> =
        expected.iter().flatten().filter_map(|one| one.as_ref().err().copied()).collect();
    for flavour in Flavour::available() {
        let mut batch: VectorBatch = StepInterpreter::batch(&program);
        batch.columns[..slots.len()].clone_from_slice(&input.columns);
        batch.rows = input.rows;
        batch.selection = input.selected.clone().map(SelectionVector::new);
        let counters: Vec<_> = program.steps.iter().map(|_| Default::default()).collect();
        let budget = crate::memory::MemoryBudget::new("memory", 1 << 30);
        let mut interpreter = StepInterpreter::new(flavour, &budget, &Default::default());
        match interpreter.run(&program, &counters, &mut batch) {
            Err(error) => {
                assert!(errors.contains(&error.kind()), "{seed}: {error} of {errors:?}, {graph:?}");
            }
            Ok(()) => {
                assert!(
                    errors.is_empty() || rows.is_empty(),
                    "{seed}: no error of {errors:?} {graph:?}"
                );
                for (output, expected) in outputs.iter().zip(&expected) {
                    for (row, expected) in rows.iter().zip(expected) {
                        let found = batch.columns[*output].scalar(*row);
                        let expected = expected.as_ref().unwrap();
                        assert!(
                            is_same(&found, expected),
                            "{seed} {flavour} row {row}: {found:?}, not {expected:?} {graph:?}"
                        );
                        check_bounds(&program.slots[*output], &found, seed);
                    }
                }
            }
        }
    }
}

fn check_bounds(info: &SlotInfo, found: &ScalarValue, seed: u64) {
    match (info.bounds, found) {
        (Some(bounds), ScalarValue::Int(value)) => {
            assert!(
                bounds.contains(IntBounds::of(*value)),
                "{seed}: {value} outside of {bounds:?}"
            );
        }
        (_, ScalarValue::Null(_)) => assert!(info.is_nullable, "{seed}: a null that was ruled out"),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn sub_operators_agree_with_evaluation_row_by_row(seed in any::<u64>()) {
        check(seed);
    }
}

#[test]
fn products_that_bounds_prove_run_narrow_and_unchecked() {
    let mut graph = ExpressionGraph::default();
    let price = graph.column(0, ValueClass::Int).unwrap();
    let discount = graph.column(1, ValueClass::Int).unwrap();
    let hundred = graph.int(100).unwrap();
    let limit = IntLimit::NUMERIC;
    let kept = graph.arithmetic(ArithmeticOp::Subtract, hundred, discount, limit).unwrap();
    let product = graph.arithmetic(ArithmeticOp::Multiply, price, kept, limit).unwrap();
    let mut builder = ProgramBuilder::default();
    let mut slot = |bounds: IntBounds| {
        let vector_type = VectorType::Int(bounds.width());
        let bounds = Some(bounds);
        builder.slot(SlotInfo { vector_type, bounds, is_nullable: false, dictionary: None })
    };
    let slots = [slot(IntBounds::new(90_100, 10_494_950)), slot(IntBounds::new(0, 10))];
    let outputs = builder.resolve_all(&graph, &slots, &[product]).unwrap();
    let program = builder.program;
    assert_eq!(program.slots[outputs[0]].vector_type, VectorType::Int(IntWidth::I32));
    let names: Vec<&str> = program.steps.iter().map(|step| step.name()).collect();
    assert_eq!(names, ["int_arithmetic", "cast_int", "int_arithmetic"]);
}
