//! Calls and windows.

use super::SqlPrinter;
use super::expressions::form_word;
use crate::tree::{
    CallArgument, CallArguments, CurrentValue, ExpressionNode, FrameBound, FrameExclusion,
    FrameUnit, FunctionCall, SetQuantifier, SortDirection, SortItem, SpecialCall, TrimSide,
    WindowDefinition, WindowFrame, WindowReference,
};

impl SqlPrinter {
    pub(super) fn function(&mut self, call: &FunctionCall) {
        self.object(&call.name);
        self.glue("(");
        match &call.arguments {
            CallArguments::Star => self.glue("*"),
            CallArguments::List { quantifier, items, is_variadic } => {
                self.quantifier(*quantifier);
                let last = items.len().saturating_sub(1);
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.glue(",");
                    }
                    self.put_if(*is_variadic && index == last, "VARIADIC");
                    self.argument(item);
                }
            }
        }
        self.order_by(&call.order_by);
        self.glue(")");
        if !call.within_group.is_empty() {
            self.put("WITHIN GROUP (");
            self.order_by(&call.within_group);
            self.glue(")");
        }
        if let Some(filter) = &call.filter {
            self.put("FILTER (WHERE");
            self.expression(filter);
            self.glue(")");
        }
        if let Some(window) = &call.window {
            self.put("OVER");
            match window {
                WindowReference::Named(name) => self.name(name),
                WindowReference::Inline(definition) => self.window(definition),
            }
        }
    }

    fn argument(&mut self, argument: &CallArgument) {
        if let Some(name) = &argument.name {
            self.name(name);
            self.put("=>");
        }
        self.expression(&argument.value);
    }

    pub(super) fn quantifier(&mut self, quantifier: SetQuantifier) {
        match quantifier {
            SetQuantifier::Unspecified => {}
            SetQuantifier::All => self.put("ALL"),
            SetQuantifier::Distinct => self.put("DISTINCT"),
        }
    }

    pub(super) fn order_by(&mut self, items: &[SortItem]) {
        if items.is_empty() {
            return;
        }
        self.put("ORDER BY");
        self.list(items, |printer, item| {
            printer.operand(&item.value);
            match &item.direction {
                SortDirection::Unspecified => {}
                SortDirection::Ascending => printer.put("ASC"),
                SortDirection::Descending => printer.put("DESC"),
                SortDirection::Using(operator) => {
                    printer.put("USING");
                    printer.operator(operator);
                }
            }
            printer.nulls_order(item.nulls_first);
        });
    }

    pub(super) fn nulls_order(&mut self, nulls_first: Option<bool>) {
        match nulls_first {
            Some(true) => self.put("NULLS FIRST"),
            Some(false) => self.put("NULLS LAST"),
            None => {}
        }
    }

    pub(super) fn window(&mut self, window: &WindowDefinition) {
        self.put("(");
        window.base.iter().for_each(|base| self.name(base));
        if !window.partition_by.is_empty() {
            self.put("PARTITION BY");
            self.expressions(&window.partition_by);
        }
        self.order_by(&window.order_by);
        window.frame.iter().for_each(|frame| self.frame(frame));
        self.glue(")");
    }

    fn frame(&mut self, frame: &WindowFrame) {
        self.put(match frame.unit {
            FrameUnit::Range => "RANGE",
            FrameUnit::Rows => "ROWS",
            FrameUnit::Groups => "GROUPS",
        });
        self.put_if(frame.end.is_some(), "BETWEEN");
        self.frame_bound(&frame.start);
        if let Some(end) = &frame.end {
            self.put("AND");
            self.frame_bound(end);
        }
        match frame.exclusion {
            FrameExclusion::Unspecified => {}
            FrameExclusion::NoOthers => self.put("EXCLUDE NO OTHERS"),
            FrameExclusion::CurrentRow => self.put("EXCLUDE CURRENT ROW"),
            FrameExclusion::Group => self.put("EXCLUDE GROUP"),
            FrameExclusion::Ties => self.put("EXCLUDE TIES"),
        }
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::UnboundedPreceding => self.put("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => self.put("UNBOUNDED FOLLOWING"),
            FrameBound::CurrentRow => self.put("CURRENT ROW"),
            FrameBound::Preceding(offset) => {
                self.operand(offset);
                self.put("PRECEDING");
            }
            FrameBound::Following(offset) => {
                self.operand(offset);
                self.put("FOLLOWING");
            }
        }
    }

    pub(super) fn special(&mut self, call: &SpecialCall) {
        match call {
            SpecialCall::Coalesce(items) => self.word_call("COALESCE", items),
            SpecialCall::Greatest(items) => self.word_call("GREATEST", items),
            SpecialCall::Least(items) => self.word_call("LEAST", items),
            SpecialCall::NullIf(first, second) => {
                self.put("NULLIF(");
                self.expression(first);
                self.glue(",");
                self.expression(second);
                self.glue(")");
            }
            SpecialCall::Extract { field, source } => {
                self.put("EXTRACT(");
                self.string(field);
                self.after("FROM", Some(source));
                self.glue(")");
            }
            SpecialCall::Position { part, whole } => {
                self.put("POSITION(");
                self.operand(part);
                self.after("IN", Some(whole));
                self.glue(")");
            }
            SpecialCall::Plain { name, items } => {
                self.put(&name.text);
                self.parens(items, Self::argument);
            }
            SpecialCall::Normalize(value, form) => {
                self.put("NORMALIZE(");
                self.expression(value);
                if let Some(form) = form {
                    self.glue(",");
                    self.put(form_word(*form));
                }
                self.glue(")");
            }
            SpecialCall::Treat(value, type_name) => {
                self.put("TREAT(");
                self.expression(value);
                self.put("AS");
                self.type_name(type_name);
                self.glue(")");
            }
            SpecialCall::CollationFor(value) => {
                self.word_call("COLLATION FOR", std::slice::from_ref(value));
            }
            SpecialCall::Current(value, precision) => {
                self.put(current_word(*value));
                if let Some(precision) = precision {
                    self.glue(&format!("({precision})"));
                }
            }
            call => self.text_call(call),
        }
    }

    fn text_call(&mut self, call: &SpecialCall) {
        match call {
            SpecialCall::Substring { source, from, length } => {
                self.put("SUBSTRING(");
                self.operand(source);
                self.after("FROM", from.as_ref());
                self.after("FOR", length.as_ref());
            }
            SpecialCall::SubstringSimilar { source, pattern, escape } => {
                self.put("SUBSTRING(");
                self.operand(source);
                self.after("SIMILAR", Some(pattern));
                self.after("ESCAPE", Some(escape));
            }
            SpecialCall::Overlay { source, replacement, from, length } => {
                self.put("OVERLAY(");
                self.operand(source);
                self.after("PLACING", Some(replacement));
                self.after("FROM", Some(from));
                self.after("FOR", length.as_ref());
            }
            SpecialCall::Trim { side, characters, items } => {
                self.put("TRIM(");
                self.put(match side {
                    TrimSide::Both => "BOTH",
                    TrimSide::Leading => "LEADING",
                    TrimSide::Trailing => "TRAILING",
                });
                if let Some(characters) = characters {
                    self.operand(characters);
                    self.put("FROM");
                }
                self.expressions(items);
            }
            // The others are printed by `special`.
            _ => return,
        }
        self.glue(")");
    }

    fn word_call(&mut self, word: &str, items: &[ExpressionNode]) {
        self.put(word);
        self.parens(items, Self::expression);
    }

    /// Prints a word and its operand, if there is one.
    fn after(&mut self, word: &str, operand: Option<&ExpressionNode>) {
        if let Some(operand) = operand {
            self.put(word);
            self.operand(operand);
        }
    }
}

fn current_word(value: CurrentValue) -> &'static str {
    match value {
        CurrentValue::Date => "CURRENT_DATE",
        CurrentValue::Time => "CURRENT_TIME",
        CurrentValue::Timestamp => "CURRENT_TIMESTAMP",
        CurrentValue::LocalTime => "LOCALTIME",
        CurrentValue::LocalTimestamp => "LOCALTIMESTAMP",
        CurrentValue::Role => "CURRENT_ROLE",
        CurrentValue::User => "CURRENT_USER",
        CurrentValue::SessionUser => "SESSION_USER",
        CurrentValue::PlainUser => "USER",
        CurrentValue::Catalog => "CURRENT_CATALOG",
        CurrentValue::Schema => "CURRENT_SCHEMA",
    }
}
