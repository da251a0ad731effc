//! Expressions.

use super::SqlPrinter;
use crate::tree::{
    CaseExpression, ColumnPath, ExpressionKind, ExpressionNode, InSource, IndirectionStep,
    LikeForm, LikeTest, LiteralValue, NormalForm, QuantifiedOperator, QuantifiedTest, TypeKind,
    TypedLiteral, ValueQuantifier, ValueTest,
};

impl SqlPrinter {
    pub(super) fn expression(&mut self, expression: &ExpressionNode) {
        match &expression.kind {
            ExpressionKind::Literal(value) => self.literal(value),
            ExpressionKind::TypedLiteral(literal) => self.typed_literal(literal),
            ExpressionKind::Parameter(number) => self.put(&format!("${number}")),
            ExpressionKind::Column(path) => self.column_path(path),
            ExpressionKind::Indirection { operand, steps } => {
                self.put("(");
                self.expression(operand);
                self.glue(")");
                self.steps(steps);
            }
            ExpressionKind::Operation { first, links } => {
                self.operand(first);
                for link in links {
                    self.operator(&link.operator);
                    self.operand(&link.operand);
                }
            }
            ExpressionKind::Prefix { operator, operand } => {
                self.operator(operator);
                self.operand(operand);
            }
            ExpressionKind::And(operands) => self.logic(operands, "AND"),
            ExpressionKind::Or(operands) => self.logic(operands, "OR"),
            ExpressionKind::Not(operand) => {
                self.put("NOT");
                self.operand(operand);
            }
            ExpressionKind::Cast { operand, type_name } => {
                self.put("CAST(");
                self.expression(operand);
                self.put("AS");
                self.type_name(type_name);
                self.glue(")");
            }
            ExpressionKind::Case(case) => self.case(case),
            ExpressionKind::Row { items, is_explicit } => {
                self.put_if(*is_explicit, "ROW");
                self.parens(items, Self::expression);
            }
            ExpressionKind::Array(items) => {
                self.put("ARRAY");
                self.array_items(items);
            }
            ExpressionKind::ArrayQuery(query) => {
                self.put("ARRAY");
                self.paren_query(query);
            }
            ExpressionKind::Subquery(query) => self.paren_query(query),
            ExpressionKind::Exists(query) => {
                self.put("EXISTS");
                self.paren_query(query);
            }
            ExpressionKind::Function(call) => self.function(call),
            ExpressionKind::Special(call) => self.special(call),
            ExpressionKind::Grouping(items) => {
                self.put("GROUPING");
                self.parens(items, Self::expression);
            }
            ExpressionKind::Default => self.put("DEFAULT"),
            test => self.condition(test),
        }
    }

    pub(super) fn expressions(&mut self, expressions: &[ExpressionNode]) {
        self.list(expressions, Self::expression);
    }

    /// Prints an operand: in parentheses unless it is an atom.
    pub(super) fn operand(&mut self, operand: &ExpressionNode) {
        let is_atom = matches!(
            operand.kind,
            ExpressionKind::Literal(_)
                | ExpressionKind::TypedLiteral(_)
                | ExpressionKind::Parameter(_)
                | ExpressionKind::Column(_)
                | ExpressionKind::Indirection { .. }
                | ExpressionKind::Cast { .. }
                | ExpressionKind::Case(_)
                | ExpressionKind::Row { .. }
                | ExpressionKind::Array(_)
                | ExpressionKind::ArrayQuery(_)
                | ExpressionKind::Subquery(_)
                | ExpressionKind::Exists(_)
                | ExpressionKind::Function(_)
                | ExpressionKind::Special(_)
                | ExpressionKind::Grouping(_)
        );
        if is_atom {
            return self.expression(operand);
        }
        self.put("(");
        self.expression(operand);
        self.glue(")");
    }

    fn logic(&mut self, operands: &[ExpressionNode], word: &str) {
        for (index, operand) in operands.iter().enumerate() {
            self.put_if(index > 0, word);
            self.operand(operand);
        }
    }

    fn condition(&mut self, test: &ExpressionKind) {
        match test {
            ExpressionKind::Is { operand, test, is_negated } => {
                self.operand(operand);
                self.put(if *is_negated { "IS NOT" } else { "IS" });
                self.value_test(*test);
            }
            ExpressionKind::Distinct { left, right, is_negated } => {
                self.operand(left);
                self.put(if *is_negated { "IS NOT DISTINCT FROM" } else { "IS DISTINCT FROM" });
                self.operand(right);
            }
            ExpressionKind::Between(test) => {
                self.operand(&test.operand);
                self.put_if(test.is_negated, "NOT");
                self.put("BETWEEN");
                self.put_if(test.is_symmetric, "SYMMETRIC");
                self.operand(&test.low);
                self.put("AND");
                self.operand(&test.high);
            }
            ExpressionKind::In { operand, source, is_negated } => {
                self.operand(operand);
                self.put_if(*is_negated, "NOT");
                self.put("IN");
                match source {
                    InSource::List(items) => self.parens(items, Self::expression),
                    InSource::Query(query) => self.paren_query(query),
                }
            }
            ExpressionKind::Like(test) => self.like(test),
            ExpressionKind::Quantified(test) => self.quantified(test),
            ExpressionKind::Overlaps { left, right } => {
                self.operand(left);
                self.put("OVERLAPS");
                self.operand(right);
            }
            ExpressionKind::AtTimeZone { operand, zone } => {
                self.operand(operand);
                self.put("AT TIME ZONE");
                self.operand(zone);
            }
            ExpressionKind::Collate { operand, collation } => {
                self.operand(operand);
                self.put("COLLATE");
                self.object(collation);
            }
            // The others are printed by `expression`.
            _ => {}
        }
    }

    fn value_test(&mut self, test: ValueTest) {
        let word = match test {
            ValueTest::Null => "NULL",
            ValueTest::True => "TRUE",
            ValueTest::False => "FALSE",
            ValueTest::Unknown => "UNKNOWN",
            ValueTest::Document => "DOCUMENT",
            ValueTest::Normalized(form) => {
                if let Some(form) = form {
                    self.put(form_word(form));
                }
                "NORMALIZED"
            }
        };
        self.put(word);
    }

    fn like(&mut self, test: &LikeTest) {
        self.operand(&test.operand);
        self.put_if(test.is_negated, "NOT");
        self.put(like_word(test.form));
        self.operand(&test.pattern);
        if let Some(escape) = &test.escape {
            self.put("ESCAPE");
            self.operand(escape);
        }
    }

    fn quantified(&mut self, test: &QuantifiedTest) {
        self.operand(&test.operand);
        match &test.operator {
            QuantifiedOperator::Operator(operator) => self.operator(operator),
            QuantifiedOperator::Like { form, is_negated } => {
                self.put_if(*is_negated, "NOT");
                self.put(like_word(*form));
            }
        }
        let is_any = test.quantifier == ValueQuantifier::Any;
        self.put(if is_any { "ANY" } else { "ALL" });
        match &test.source.kind {
            ExpressionKind::Subquery(query) => self.paren_query(query),
            _ => self.parens(std::slice::from_ref(&test.source), Self::expression),
        }
    }

    pub(super) fn literal(&mut self, value: &LiteralValue) {
        match value {
            LiteralValue::Null => self.put("NULL"),
            LiteralValue::Boolean(true) => self.put("TRUE"),
            LiteralValue::Boolean(false) => self.put("FALSE"),
            LiteralValue::Integer(value) => self.put(&value.to_string()),
            LiteralValue::Decimal(digits) => self.put(digits),
            LiteralValue::Text(text) => self.string(text),
            LiteralValue::BitString(digits) => {
                self.put("B'");
                self.glue(&digits.replace('\'', "''"));
                self.glue("'");
            }
            LiteralValue::HexString(digits) => {
                self.put("X'");
                self.glue(&digits.replace('\'', "''"));
                self.glue("'");
            }
        }
    }

    fn typed_literal(&mut self, literal: &TypedLiteral) {
        let TypeKind::Interval(fields) = literal.type_name.kind else {
            self.type_kind(&literal.type_name.kind);
            return self.string(&literal.text);
        };
        self.put("interval");
        if fields.span.is_none() {
            self.interval_fields(fields);
        }
        self.string(&literal.text);
        if fields.span.is_some() {
            self.interval_fields(fields);
        }
    }

    fn column_path(&mut self, path: &ColumnPath) {
        self.name(&path.name);
        self.steps(&path.steps);
    }

    pub(super) fn steps(&mut self, steps: &[IndirectionStep]) {
        for step in steps {
            match step {
                IndirectionStep::Field(name) => {
                    self.glue(".");
                    self.name(name);
                }
                IndirectionStep::AllFields(_) => self.glue(".*"),
                IndirectionStep::Element(index) => {
                    self.glue("[");
                    self.expression(index);
                    self.glue("]");
                }
                IndirectionStep::Slice(first, last) => {
                    self.glue("[");
                    first.iter().for_each(|first| self.operand(first));
                    self.put(":");
                    last.iter().for_each(|last| self.operand(last));
                    self.glue("]");
                }
            }
        }
    }

    fn array_items(&mut self, items: &[ExpressionNode]) {
        // Arrays within an array have no word of their own if the first one has none.
        let is_nested =
            matches!(items.first().map(|item| &item.kind), Some(ExpressionKind::Array(_)));
        self.glue("[");
        self.list(items, |printer, item| match &item.kind {
            ExpressionKind::Array(inner) if is_nested => printer.array_items(inner),
            _ => printer.expression(item),
        });
        self.glue("]");
    }

    fn case(&mut self, case: &CaseExpression) {
        self.put("CASE");
        if let Some(operand) = &case.operand {
            self.operand(operand);
        }
        for branch in &case.branches {
            self.put("WHEN");
            self.expression(&branch.condition);
            self.put("THEN");
            self.expression(&branch.result);
        }
        if let Some(otherwise) = &case.otherwise {
            self.put("ELSE");
            self.expression(otherwise);
        }
        self.put("END");
    }
}

pub(super) fn form_word(form: NormalForm) -> &'static str {
    match form {
        NormalForm::Nfc => "NFC",
        NormalForm::Nfd => "NFD",
        NormalForm::Nfkc => "NFKC",
        NormalForm::Nfkd => "NFKD",
    }
}

fn like_word(form: LikeForm) -> &'static str {
    match form {
        LikeForm::Like => "LIKE",
        LikeForm::Ilike => "ILIKE",
        LikeForm::Similar => "SIMILAR TO",
    }
}
