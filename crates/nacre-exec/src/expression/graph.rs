//! The nodes of expressions.

use std::collections::HashMap;

use nacre_column::CompareOp;

use super::ForeignFunction;
use crate::error::{ExecError, ExecResult};
use crate::scan::StringPredicate;
use crate::value::{IntLimit, ScalarValue, ValueClass};

/// A node of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExpressionId(usize);

/// Arithmetic on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArithmeticOp {
    Add,
    Subtract,
    Multiply,
    /// Of whole numbers: towards zero.
    Divide,
    /// Of whole numbers: with the sign of the dividend.
    Remainder,
}

/// What is computed. Null inputs make null results unless said otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExpressionNode {
    /// A column of the operator's input.
    Column {
        index: usize,
        class: ValueClass,
    },
    Constant(ScalarValue),
    /// Exact; a result outside of the limit is an error.
    IntArithmetic {
        op: ArithmeticOp,
        left: ExpressionId,
        right: ExpressionId,
        limit: IntLimit,
    },
    /// Of two floats of one width.
    FloatArithmetic {
        op: ArithmeticOp,
        left: ExpressionId,
        right: ExpressionId,
    },
    /// Of two values of one class; floats and bytes in PostgreSQL's order.
    Compare {
        op: CompareOp,
        left: ExpressionId,
        right: ExpressionId,
    },
    /// Three-valued; the right side raises errors only for rows where the left one is not false.
    And {
        left: ExpressionId,
        right: ExpressionId,
    },
    /// Three-valued; the right side raises errors only for rows where the left one is not true.
    Or {
        left: ExpressionId,
        right: ExpressionId,
    },
    Not {
        input: ExpressionId,
    },
    /// Whether a string satisfies a predicate.
    StringTest {
        input: ExpressionId,
        predicate: StringPredicate,
    },
    /// Never null.
    IsNull {
        input: ExpressionId,
    },
    /// Null counts as false; a branch raises errors only for rows that take it. More branches are
    /// cases in `otherwise`.
    Case {
        condition: ExpressionId,
        then: ExpressionId,
        otherwise: ExpressionId,
    },
    /// A whole number of another SQL type.
    CastInt {
        input: ExpressionId,
        limit: IntLimit,
    },
    /// A decimal with so many more digits behind the point, or fewer, rounded half away from zero.
    Rescale {
        input: ExpressionId,
        digits: i8,
        limit: IntLimit,
    },
    /// A whole number or decimal of that scale as a float.
    IntToFloat {
        input: ExpressionId,
        scale: u8,
        target: ValueClass,
    },
    /// A float of another width.
    CastFloat {
        input: ExpressionId,
        target: ValueClass,
    },
    /// The year of a day counted from 1970-01-01.
    ExtractYear {
        input: ExpressionId,
    },
    Foreign {
        function: ForeignFunction,
        arguments: Vec<ExpressionId>,
    },
}

/// Expressions of an operator.
#[derive(Clone, Debug, Default)]
pub struct ExpressionGraph {
    nodes: Vec<ExpressionNode>,
    classes: Vec<ValueClass>,
    known: HashMap<ExpressionNode, ExpressionId>,
}

impl ExpressionNode {
    /// Returns the nodes that it is computed of.
    pub(crate) fn inputs(&self) -> Vec<ExpressionId> {
        match self {
            Self::Column { .. } | Self::Constant(_) => Vec::new(),
            Self::IntArithmetic { left, right, .. }
            | Self::FloatArithmetic { left, right, .. }
            | Self::Compare { left, right, .. }
            | Self::And { left, right }
            | Self::Or { left, right } => vec![*left, *right],
            Self::Not { input }
            | Self::StringTest { input, .. }
            | Self::IsNull { input }
            | Self::CastInt { input, .. }
            | Self::Rescale { input, .. }
            | Self::IntToFloat { input, .. }
            | Self::CastFloat { input, .. }
            | Self::ExtractYear { input } => vec![*input],
            Self::Case { condition, then, otherwise } => vec![*condition, *then, *otherwise],
            Self::Foreign { arguments, .. } => arguments.clone(),
        }
    }
}

impl ExpressionNode {
    /// Returns the node that is computed before all others that it is computed of.
    pub(crate) fn first_input(&self) -> Option<ExpressionId> {
        match self {
            Self::Column { .. } | Self::Constant(_) => None,
            Self::IntArithmetic { left: first, .. }
            | Self::FloatArithmetic { left: first, .. }
            | Self::Compare { left: first, .. }
            | Self::And { left: first, .. }
            | Self::Or { left: first, .. }
            | Self::Not { input: first }
            | Self::StringTest { input: first, .. }
            | Self::IsNull { input: first }
            | Self::CastInt { input: first, .. }
            | Self::Rescale { input: first, .. }
            | Self::IntToFloat { input: first, .. }
            | Self::CastFloat { input: first, .. }
            | Self::ExtractYear { input: first }
            | Self::Case { condition: first, .. } => Some(*first),
            Self::Foreign { arguments, .. } => arguments.first().copied(),
        }
    }
}

impl ExpressionGraph {
    /// Adds a node, or finds the one that is equal.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if its inputs are of classes that it does not take.
    pub fn add(&mut self, node: ExpressionNode) -> ExecResult<ExpressionId> {
        if let Some(id) = self.known.get(&node) {
            return Ok(*id);
        }
        let class = self.class_of_new(&node)?;
        let id = ExpressionId(self.nodes.len());
        self.nodes.push(node.clone());
        self.classes.push(class);
        self.known.insert(node, id);
        Ok(id)
    }

    /// Whether a function of it may give different results for equal arguments.
    pub(crate) fn is_volatile(&self) -> bool {
        self.nodes.iter().any(|node| match node {
            ExpressionNode::Foreign { function, .. } => function.is_volatile(),
            _ => false,
        })
    }

    /// Adds an input column.
    ///
    /// # Errors
    /// None; as [`ExpressionGraph::add`].
    pub fn column(&mut self, index: usize, class: ValueClass) -> ExecResult<ExpressionId> {
        self.add(ExpressionNode::Column { index, class })
    }

    /// Adds a whole number.
    ///
    /// # Errors
    /// None; as [`ExpressionGraph::add`].
    pub fn int(&mut self, value: i128) -> ExecResult<ExpressionId> {
        self.add(ExpressionNode::Constant(ScalarValue::Int(value)))
    }

    /// Adds exact arithmetic.
    ///
    /// # Errors
    /// As [`ExpressionGraph::add`].
    pub fn arithmetic(
        &mut self,
        op: ArithmeticOp,
        left: ExpressionId,
        right: ExpressionId,
        limit: IntLimit,
    ) -> ExecResult<ExpressionId> {
        self.add(ExpressionNode::IntArithmetic { op, left, right, limit })
    }

    /// Adds a comparison.
    ///
    /// # Errors
    /// As [`ExpressionGraph::add`].
    pub fn compare(
        &mut self,
        op: CompareOp,
        left: ExpressionId,
        right: ExpressionId,
    ) -> ExecResult<ExpressionId> {
        self.add(ExpressionNode::Compare { op, left, right })
    }

    /// Returns a node.
    pub fn node(&self, id: ExpressionId) -> &ExpressionNode {
        &self.nodes[id.0]
    }

    /// Returns the input columns that nodes are computed of, some of them more than once.
    pub(crate) fn columns_of(&self, ids: &[ExpressionId]) -> Vec<usize> {
        let mut is_seen = vec![false; self.nodes.len()];
        let (mut open, mut columns) = (ids.to_vec(), Vec::new());
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut is_seen[id.0], true) {
                continue;
            }
            if let ExpressionNode::Column { index, .. } = self.node(id) {
                columns.push(*index);
            }
            open.extend(self.node(id).inputs());
        }
        columns
    }

    /// Returns the class of a node's values.
    pub fn class(&self, id: ExpressionId) -> ValueClass {
        self.classes[id.0]
    }

    fn class_of_new(&self, node: &ExpressionNode) -> ExecResult<ValueClass> {
        use ExpressionNode as Node;
        let is = |id: &ExpressionId, class| self.classes[id.0] == class;
        let is_float =
            |id: &ExpressionId| is(id, ValueClass::Float32) || is(id, ValueClass::Float64);
        let (is_right, class) = match node {
            Node::Column { class, .. } => (true, *class),
            Node::Constant(value) => (true, value.class()),
            Node::IntArithmetic { left, right, .. } => {
                (is(left, ValueClass::Int) && is(right, ValueClass::Int), ValueClass::Int)
            }
            Node::FloatArithmetic { op, left, right } => (
                is_float(left)
                    && self.class(*left) == self.class(*right)
                    && *op != ArithmeticOp::Remainder,
                self.class(*left),
            ),
            Node::Compare { left, right, .. } => {
                (self.class(*left) == self.class(*right), ValueClass::Bool)
            }
            Node::And { left, right } | Node::Or { left, right } => {
                (is(left, ValueClass::Bool) && is(right, ValueClass::Bool), ValueClass::Bool)
            }
            Node::Not { input } => (is(input, ValueClass::Bool), ValueClass::Bool),
            Node::StringTest { input, .. } => (is(input, ValueClass::Bytes), ValueClass::Bool),
            Node::IsNull { .. } => (true, ValueClass::Bool),
            Node::Case { condition, then, otherwise } => (
                is(condition, ValueClass::Bool) && self.class(*then) == self.class(*otherwise),
                self.class(*then),
            ),
            Node::CastInt { input, .. } | Node::Rescale { input, .. } => {
                (is(input, ValueClass::Int), ValueClass::Int)
            }
            Node::IntToFloat { input, target, .. } => (is(input, ValueClass::Int), *target),
            Node::CastFloat { input, target } => (is_float(input), *target),
            Node::ExtractYear { input } => (is(input, ValueClass::Int), ValueClass::Int),
            Node::Foreign { function, .. } => (true, function.result()),
        };
        if is_right {
            return Ok(class);
        }
        Err(ExecError::internal(format!(
            "an expression takes no inputs of these classes: {node:?}"
        )))
    }
}
