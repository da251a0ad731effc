//! Calls with a syntax of their own become calls of the functions that they stand for.

use nacre_syntax::SourceRange;
use nacre_syntax::{CallArgument, ExpressionNode, SpecialCall, TrimSide};
use nacre_types::SqlType;

use super::Binder;
use super::expressions::ExpressionPlace;
use crate::algebra::{ScalarExpression, ScalarKind};
use crate::error::BindError;

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
            _ => Err(BindError::not_supported("this kind of expression", range)),
        }
    }

    fn call_nodes(
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
