//! Frames of windows: what their edges count, and offsets of the right type.

use nacre_functions::catalog::functions_named;
use nacre_functions::coercion::find_pathway;
use nacre_syntax::SourceRange;
use nacre_syntax::{ExpressionNode, FrameBound, FrameExclusion, FrameUnit, WindowFrame};
use nacre_types::SqlType;
use nacre_types::catalog::{CastContext, TypeOid};

use super::Binder;
use super::expressions::ExpressionPlace;
use super::scope::Scope;
use crate::algebra::{
    BoundSortKey, BoundWindowFrame, ScalarExpression, ScalarKind, WindowFrameEdge,
    WindowFrameExclusion, WindowFrameUnit,
};
use crate::error::BindError;

/// What an offset has to be.
#[derive(Clone, Copy)]
struct OffsetForm {
    /// The unit, as error messages name it.
    word: &'static str,
    /// The clause, as error messages name it.
    clause: &'static str,
    /// The type that is ordered by, of ranges.
    ordered: Option<SqlType>,
}

impl Binder<'_> {
    /// Binds the frame of a window with that order; `range` is the window's.
    pub(super) fn bind_frame(
        &mut self,
        frame: &WindowFrame,
        order: &[BoundSortKey],
        range: SourceRange,
        scope: &Scope,
    ) -> Result<BoundWindowFrame, BindError> {
        let is_offset = |bound: &FrameBound| {
            matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_))
        };
        let has_offset = is_offset(&frame.start) || frame.end.as_ref().is_some_and(is_offset);
        let fail = |message: &str| Err(BindError::new("42P20", message, range));
        let (unit, form) = match frame.unit {
            FrameUnit::Rows => {
                let form = OffsetForm { word: "ROWS", clause: "window ROWS", ordered: None };
                (WindowFrameUnit::Rows, form)
            }
            FrameUnit::Range => {
                let ordered = match order {
                    [key] => Some(key.value.sql_type),
                    _ if has_offset => {
                        return fail(
                            "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY \
                             column",
                        );
                    }
                    _ => None,
                };
                let form = OffsetForm { word: "RANGE", clause: "window RANGE", ordered };
                (WindowFrameUnit::Range, form)
            }
            FrameUnit::Groups if order.is_empty() => {
                return fail("GROUPS mode requires an ORDER BY clause");
            }
            FrameUnit::Groups => {
                let form = OffsetForm { word: "GROUPS", clause: "window GROUPS", ordered: None };
                (WindowFrameUnit::Groups, form)
            }
        };
        let place = ExpressionPlace::new(scope, form.clause);
        let start = self.bind_edge(&frame.start, form, place)?;
        let end = match &frame.end {
            Some(end) => self.bind_edge(end, form, place)?,
            None => WindowFrameEdge::CurrentRow,
        };
        let exclusion = match frame.exclusion {
            FrameExclusion::Unspecified | FrameExclusion::NoOthers => WindowFrameExclusion::Nothing,
            FrameExclusion::CurrentRow => WindowFrameExclusion::CurrentRow,
            FrameExclusion::Group => WindowFrameExclusion::Group,
            FrameExclusion::Ties => WindowFrameExclusion::Ties,
        };
        Ok(BoundWindowFrame { unit, start, end, exclusion })
    }

    fn bind_edge(
        &mut self,
        bound: &FrameBound,
        form: OffsetForm,
        place: ExpressionPlace<'_>,
    ) -> Result<WindowFrameEdge, BindError> {
        Ok(match bound {
            FrameBound::UnboundedPreceding => WindowFrameEdge::UnboundedPreceding,
            FrameBound::CurrentRow => WindowFrameEdge::CurrentRow,
            FrameBound::UnboundedFollowing => WindowFrameEdge::UnboundedFollowing,
            FrameBound::Preceding(node) => {
                WindowFrameEdge::Preceding(self.bind_offset(node, form, place)?)
            }
            FrameBound::Following(node) => {
                WindowFrameEdge::Following(self.bind_offset(node, form, place)?)
            }
        })
    }

    fn bind_offset(
        &mut self,
        node: &ExpressionNode,
        form: OffsetForm,
        place: ExpressionPlace<'_>,
    ) -> Result<ScalarExpression, BindError> {
        let value = self.bind(node, place)?;
        let (source, range) = (value.sql_type, value.range);
        let has_column = value.any(&|one| matches!(one.kind, ScalarKind::Column(_)));
        let target = match form.ordered {
            Some(ordered) => distance_type(ordered, source, range)?,
            None => SqlType::BIGINT,
        };
        let coerced = self.coerce(value, target, CastContext::Assignment, range);
        let coerced = coerced.map_err(|error| match error.sql_state {
            "42846" => {
                let word = form.word;
                let message =
                    format!("argument of {word} must be type {target}, not type {source}");
                BindError::new("42804", message, range)
            }
            _ => error,
        })?;
        if has_column {
            let message = format!("argument of {} must not contain variables", form.word);
            return Err(BindError::new("42P10", message, range));
        }
        Ok(coerced)
    }
}

/// Returns the type of the distances of a type that is ordered by.
fn distance_type(
    ordered: SqlType,
    offset: SqlType,
    range: SourceRange,
) -> Result<SqlType, BindError> {
    // `varchar` is ordered as `text` and has no distances either.
    let prefix = "RANGE with offset PRECEDING/FOLLOWING is not supported for column type";
    let name = ordered.plain_name();
    let distances: Vec<TypeOid> = functions_named("in_range")
        .filter(|entry| entry.arguments.first() == Some(&ordered.oid()))
        .filter_map(|entry| entry.arguments.get(2).copied())
        .collect();
    if distances.is_empty() {
        return Err(BindError::new("0A000", format!("{prefix} {name}"), range));
    }
    let is_unknown = offset.oid() == TypeOid::UNKNOWN;
    let preferred = if is_unknown { ordered.oid() } else { offset.oid() };
    let fitting: Vec<TypeOid> = distances
        .into_iter()
        .filter(|oid| {
            is_unknown
                || *oid == offset.oid()
                || find_pathway(*oid, offset.oid(), CastContext::Implicit).is_some()
        })
        .collect();
    let others = offset.plain_name();
    let hint = "Cast the offset value to an appropriate type.";
    match &fitting[..] {
        [] => {
            let message = format!("{prefix} {name} and offset type {others}");
            Err(BindError::new("0A000", message, range).with_hint(hint))
        }
        _ if fitting.contains(&preferred) => Ok(SqlType::new(preferred)),
        [only] => Ok(SqlType::new(*only)),
        _ => {
            let message = format!(
                "RANGE with offset PRECEDING/FOLLOWING has multiple interpretations for column \
                 type {name} and offset type {others}"
            );
            let hint = "Cast the offset value to the exact intended type.";
            Err(BindError::new("0A000", message, range).with_hint(hint))
        }
    }
}
