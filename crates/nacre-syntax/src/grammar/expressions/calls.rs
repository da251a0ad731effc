//! Calls of functions and aggregates.

use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::grammar::names::NamePlace;
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    CallArgument, CallArguments, ExpressionKind, ExpressionNode, FunctionCall, IndirectionStep,
    ObjectName, SetQuantifier, SortItem, SqlName, TypeKind,
};

impl StatementParser<'_> {
    /// Parses a call from its parenthesis on; a string behind it makes a literal of it.
    pub(super) fn parse_call(
        &mut self,
        start: SourceRange,
        name: SqlName,
        steps: Vec<IndirectionStep>,
    ) -> Parsed<ExpressionNode> {
        let name = self.qualified_name(start, name, steps);
        let mut call = self.parse_plain_call(name)?;
        if self.at_string() && is_modifier_list(&call) {
            return self.parse_modified_literal(start, call);
        }
        call.within_group = self.parse_within_group(&call)?;
        if self.take(SqlKeyword::Filter) {
            self.expect(TokenKind::LeftParen)?;
            self.expect(SqlKeyword::Where)?;
            call.filter = Some(self.parse_expression()?);
            self.expect(TokenKind::RightParen)?;
        }
        if self.take(SqlKeyword::Over) {
            call.window = Some(self.parse_window_reference()?);
        }
        Ok(self.node(start, ExpressionKind::Function(Box::new(call))))
    }

    /// Parses a call without what may follow its parentheses.
    pub(in crate::grammar) fn parse_plain_call(
        &mut self,
        name: ObjectName,
    ) -> Parsed<FunctionCall> {
        self.expect(TokenKind::LeftParen)?;
        let (arguments, order_by) = self.parse_arguments()?;
        self.expect(TokenKind::RightParen)?;
        Ok(FunctionCall {
            name,
            arguments,
            order_by,
            within_group: Vec::new(),
            filter: None,
            window: None,
        })
    }

    fn parse_arguments(&mut self) -> Parsed<(CallArguments, Vec<SortItem>)> {
        if self.take(TokenKind::Star) {
            return Ok((CallArguments::Star, Vec::new()));
        }
        let quantifier = self.parse_set_quantifier();
        let mut items = Vec::new();
        let mut is_variadic = false;
        if quantifier == SetQuantifier::Unspecified && self.at(TokenKind::RightParen) {
            return Ok((CallArguments::List { quantifier, items, is_variadic }, Vec::new()));
        }
        loop {
            // VARIADIC is the last one, and not with ALL or DISTINCT before it.
            is_variadic =
                quantifier == SetQuantifier::Unspecified && self.take(SqlKeyword::Variadic);
            items.push(self.parse_argument()?);
            if is_variadic || !self.take(TokenKind::Comma) {
                break;
            }
        }
        let order_by = self.parse_order_by()?;
        Ok((CallArguments::List { quantifier, items, is_variadic }, order_by))
    }

    /// Parses ALL or DISTINCT, if one is there.
    pub(in crate::grammar) fn parse_set_quantifier(&mut self) -> SetQuantifier {
        if self.take(SqlKeyword::All) {
            SetQuantifier::All
        } else if self.take(SqlKeyword::Distinct) {
            SetQuantifier::Distinct
        } else {
            SetQuantifier::Unspecified
        }
    }

    /// Parses `value`, `name => value` or `name := value`.
    pub(super) fn parse_argument(&mut self) -> Parsed<CallArgument> {
        let is_named = self.is_name(NamePlace::TypeOrFunction)
            && matches!(self.peek_at(1), TokenKind::EqualsGreater | TokenKind::ColonEquals);
        let name = if is_named {
            let name = self.take_name();
            self.advance();
            Some(name)
        } else {
            None
        };
        Ok(CallArgument { name, value: self.parse_expression()? })
    }

    fn parse_modified_literal(
        &mut self,
        start: SourceRange,
        call: FunctionCall,
    ) -> Parsed<ExpressionNode> {
        let CallArguments::List { items, .. } = call.arguments else {
            return Err(self.unexpected());
        };
        let fail =
            |message: &str, range| Err(SyntaxError::new(SyntaxErrorKind::Grammar, message, range));
        if let Some(name) = items.iter().find_map(|item| item.name.as_ref()) {
            return fail("type modifier cannot have parameter name", name.range);
        }
        if let Some(item) = call.order_by.first() {
            return fail("type modifier cannot have ORDER BY", item.value.range);
        }
        let text = self.expect_string()?;
        let modifiers = items.into_iter().map(|item| item.value).collect();
        let kind = TypeKind::Named { name: call.name, modifiers };
        Ok(self.typed_literal(start, kind, text))
    }

    fn parse_within_group(&mut self, call: &FunctionCall) -> Parsed<Vec<SortItem>> {
        let range = self.range();
        if !self.take(SqlKeyword::Within) {
            return Ok(Vec::new());
        }
        self.expect(SqlKeyword::Group)?;
        self.expect(TokenKind::LeftParen)?;
        if !self.at(SqlKeyword::Order) {
            return Err(self.unexpected());
        }
        let items = self.parse_order_by()?;
        self.expect(TokenKind::RightParen)?;
        let fail = |what: &str| {
            let message = format!("cannot use {what} with WITHIN GROUP");
            Err(SyntaxError::new(SyntaxErrorKind::Grammar, message, range))
        };
        if !call.order_by.is_empty() {
            let message = "cannot use multiple ORDER BY clauses with WITHIN GROUP";
            return Err(SyntaxError::new(SyntaxErrorKind::Grammar, message, range));
        }
        match &call.arguments {
            CallArguments::List { quantifier: SetQuantifier::Distinct, .. } => fail("DISTINCT"),
            CallArguments::List { is_variadic: true, .. } => fail("VARIADIC"),
            _ => Ok(items),
        }
    }
}

/// Whether the arguments of a call may be modifiers of a type.
fn is_modifier_list(call: &FunctionCall) -> bool {
    match &call.arguments {
        CallArguments::Star => false,
        CallArguments::List { quantifier, items, is_variadic } => {
            *quantifier == SetQuantifier::Unspecified && !is_variadic && !items.is_empty()
        }
    }
}
