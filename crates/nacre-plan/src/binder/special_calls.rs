//! Calls with a syntax of their own become calls of the functions that they stand for.

use nacre_syntax::SourceRange;
use nacre_syntax::{
    CallArgument, CurrentValue, ExpressionKind, ExpressionNode, ObjectName, SpecialCall, TrimSide,
};
use nacre_types::catalog::{CastContext, TypeOid};
use nacre_types::{SqlType, TypeKind, TypeModifier};

use super::Binder;
use super::expressions::ExpressionPlace;
use super::row_comparisons::row_items;
use crate::algebra::{ScalarExpression, ScalarKind};
use crate::error::BindError;

/// Collations by which texts are compared byte by byte, as all are here.
const BYTE_COLLATIONS: [&str; 4] = ["default", "C", "POSIX", "ucs_basic"];

impl Binder<'_> {
    pub(super) fn bind_special(
        &mut self,
        call: &SpecialCall,
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        match call {
            SpecialCall::Coalesce(nodes) => self.bind_coalesce(nodes, place, range),
            SpecialCall::Greatest(nodes) => self.bind_extreme(nodes, true, place, range),
            SpecialCall::Least(nodes) => self.bind_extreme(nodes, false, place, range),
            SpecialCall::NullIf(left, right) => self.bind_null_if([left, right], place, range),
            SpecialCall::Extract { field, source } => {
                let kind = ScalarKind::UnknownLiteral(field.clone());
                let field = ScalarExpression::new(kind, SqlType::UNKNOWN, range);
                let source = self.bind(source, place)?;
                self.call_function("extract", vec![field, source], true, range)
            }
            SpecialCall::Position { part, whole } => {
                self.call_nodes("position", &[whole, part], place, range)
            }
            SpecialCall::Substring { source, from: Some(from), length } => {
                let nodes: Vec<_> = [source, from].into_iter().chain(length).collect();
                self.call_nodes("substring", &nodes, place, range)
            }
            SpecialCall::SubstringSimilar { source, pattern, escape } => {
                self.call_nodes("substring", &[source, pattern, escape], place, range)
            }
            SpecialCall::Overlay { source, replacement, from, length } => {
                let nodes = [source, replacement, from].into_iter().chain(length);
                self.call_nodes("overlay", &nodes.collect::<Vec<_>>(), place, range)
            }
            SpecialCall::Plain { name, items } => {
                let nodes: Vec<_> = items.iter().map(|CallArgument { value, .. }| value).collect();
                self.call_nodes(&name.text, &nodes, place, range)
            }
            SpecialCall::Trim { side, characters, items } => {
                let name = match side {
                    TrimSide::Both => "btrim",
                    TrimSide::Leading => "ltrim",
                    TrimSide::Trailing => "rtrim",
                };
                let nodes: Vec<_> = items.iter().chain(characters).collect();
                self.call_nodes(name, &nodes, place, range)
            }
            SpecialCall::Current(value, digits) => self.bind_current(*value, *digits, range),
            _ => Err(BindError::not_supported("this kind of expression", range)),
        }
    }

    /// Binds CURRENT_DATE and the like, casts of the time at which the transaction began, and
    /// CURRENT_USER and the like.
    fn bind_current(
        &mut self,
        value: CurrentValue,
        digits: Option<i32>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let (plain, name, zone) = match value {
            CurrentValue::Date => (SqlType::DATE, "DATE", ""),
            CurrentValue::Time => (SqlType::TIMETZ, "TIME", " WITH TIME ZONE"),
            CurrentValue::Timestamp => (SqlType::TIMESTAMPTZ, "TIMESTAMP", " WITH TIME ZONE"),
            CurrentValue::LocalTime => (SqlType::TIME, "TIME", ""),
            CurrentValue::LocalTimestamp => (SqlType::TIMESTAMP, "TIMESTAMP", ""),
            CurrentValue::User | CurrentValue::Role | CurrentValue::PlainUser => {
                return self.call_function("current_user", Vec::new(), true, range);
            }
            CurrentValue::SessionUser => {
                return self.call_function("session_user", Vec::new(), true, range);
            }
            CurrentValue::Catalog => {
                return self.call_function("current_database", Vec::new(), true, range);
            }
            CurrentValue::Schema => {
                return self.call_function("current_schema", Vec::new(), true, range);
            }
        };
        let modifier = digits.map(|digits| TypeModifier::of_seconds(name, zone, digits));
        let modifier = modifier.transpose().map_err(|error| BindError::of_value(&error, range))?;
        let target = modifier.map_or(plain, |modifier| plain.with_modifier(modifier));
        let now = self.call_function("now", Vec::new(), true, range)?;
        self.coerce(now, target, CastContext::Explicit, range)
    }

    /// Binds AT TIME ZONE and OVERLAPS.
    pub(super) fn bind_moment_form(
        &mut self,
        node: &ExpressionNode,
        place: ExpressionPlace<'_>,
    ) -> Result<ScalarExpression, BindError> {
        match &node.kind {
            ExpressionKind::AtTimeZone { operand, zone } => {
                self.call_nodes("timezone", &[zone, operand], place, node.range)
            }
            ExpressionKind::Overlaps { left, right } => {
                self.bind_overlaps([left, right], place, node.range)
            }
            _ => Err(BindError::not_supported("this kind of expression", node.range)),
        }
    }

    /// Binds COLLATE with a collation of bytes, which all texts have.
    pub(super) fn bind_collation(
        &mut self,
        operand: &ExpressionNode,
        collation: &ObjectName,
        place: ExpressionPlace<'_>,
    ) -> Result<ScalarExpression, BindError> {
        let bound = self.bind(operand, place)?;
        let bound = self.settle(bound)?;
        let is_text = |sql_type: SqlType| {
            matches!(sql_type.kind(), TypeKind::Text | TypeKind::Varchar(_) | TypeKind::Bpchar(_))
        };
        let element = bound.sql_type.element();
        if !is_text(element.unwrap_or(bound.sql_type)) && bound.sql_type.oid() != TypeOid::NAME {
            let message = format!("collations are not supported by type {}", bound.sql_type);
            return Err(BindError::new("42804", message, collation.range));
        }
        match &collation.parts[..] {
            [.., name] if BYTE_COLLATIONS.contains(&name.text.as_str()) => Ok(bound),
            _ => Err(BindError::not_supported("this collation", collation.range)),
        }
    }

    /// Binds `(a, b) OVERLAPS (c, d)`.
    fn bind_overlaps(
        &mut self,
        sides: [&ExpressionNode; 2],
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let mut nodes = Vec::with_capacity(4);
        for (side, name) in sides.into_iter().zip(["left", "right"]) {
            match row_items(side) {
                Some([from, to]) => nodes.extend([from, to]),
                _ => {
                    let message =
                        format!("wrong number of parameters on {name} side of OVERLAPS expression");
                    return Err(BindError::new("42601", message, side.range));
                }
            }
        }
        self.call_nodes("overlaps", &nodes, place, range)
    }

    /// Calls a function of the grammar's own with expressions as arguments.
    pub(super) fn call_nodes(
        &mut self,
        name: &str,
        nodes: &[&ExpressionNode],
        place: ExpressionPlace<'_>,
        range: SourceRange,
    ) -> Result<ScalarExpression, BindError> {
        let bound = nodes.iter().map(|node| self.bind(node, place)).collect::<Result<_, _>>()?;
        self.call_function(name, bound, true, range)
    }
}
