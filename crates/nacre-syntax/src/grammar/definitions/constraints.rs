//! Constraints of tables, and what foreign keys refer to.

use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::grammar::cursor::{Parsed, StatementParser};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::range::SourceRange;
use crate::tree::{
    ConstraintAttribute, ExclusionConstraint, ForeignKeyTarget, KeyAction, KeyStorage, MatchKind,
    SqlName, TableConstraint, TableConstraintKind,
};

/// Attributes of constraints that may be checked later.
const DEFERRING: [ConstraintAttribute; 2] =
    [ConstraintAttribute::Deferrable, ConstraintAttribute::InitiallyDeferred];

const FOREIGN_KEY: [ConstraintAttribute; 3] = [
    ConstraintAttribute::Deferrable,
    ConstraintAttribute::InitiallyDeferred,
    ConstraintAttribute::NotValid,
];

impl StatementParser<'_> {
    /// Whether a constraint comes next where a column may, too.
    pub(super) fn at_table_constraint(&self) -> bool {
        match self.keyword() {
            Some(
                SqlKeyword::Constraint
                | SqlKeyword::Check
                | SqlKeyword::Unique
                | SqlKeyword::Primary
                | SqlKeyword::Foreign,
            ) => true,
            Some(SqlKeyword::Exclude) => {
                matches!(self.peek_at(1), TokenKind::LeftParen)
                    || self.at_ahead(1, SqlKeyword::Using)
            }
            _ => false,
        }
    }

    pub(super) fn parse_table_constraint(&mut self) -> Parsed<TableConstraint> {
        let start = self.range();
        let name = if self.take(SqlKeyword::Constraint) { Some(self.column_name()?) } else { None };
        let kind = match self.keyword() {
            Some(SqlKeyword::Check) => {
                self.advance();
                self.expect(TokenKind::LeftParen)?;
                let condition = self.parse_expression()?;
                self.expect(TokenKind::RightParen)?;
                TableConstraintKind::Check(condition)
            }
            Some(SqlKeyword::Unique) => {
                self.advance();
                self.parse_key(false)?
            }
            Some(SqlKeyword::Primary) => {
                self.advance();
                self.expect(SqlKeyword::Key)?;
                self.parse_key(true)?
            }
            Some(SqlKeyword::Foreign) => {
                self.advance();
                self.expect(SqlKeyword::Key)?;
                let columns = self.paren_list(Self::column_name)?;
                TableConstraintKind::ForeignKey(columns, Box::new(self.parse_references()?))
            }
            Some(SqlKeyword::Exclude) => {
                self.advance();
                TableConstraintKind::Exclude(Box::new(self.parse_exclusion()?))
            }
            _ => return Err(self.unexpected()),
        };
        let attributes = self.parse_constraint_attributes()?;
        let (what, allowed): (_, &[ConstraintAttribute]) = match kind {
            TableConstraintKind::Check(_) => {
                ("CHECK", &[ConstraintAttribute::NotValid, ConstraintAttribute::NoInherit])
            }
            TableConstraintKind::Unique(..) | TableConstraintKind::UniqueIndex(_) => {
                ("UNIQUE", &DEFERRING)
            }
            TableConstraintKind::PrimaryKey(..) | TableConstraintKind::PrimaryKeyIndex(_) => {
                ("PRIMARY KEY", &DEFERRING)
            }
            TableConstraintKind::ForeignKey(..) => ("FOREIGN KEY", &FOREIGN_KEY),
            TableConstraintKind::Exclude(_) => ("EXCLUDE", &DEFERRING),
        };
        check_attributes(&attributes, what, allowed, start)?;
        Ok(TableConstraint { name, kind, attributes, range: self.range_from(start) })
    }

    /// Parses the attributes of ALTER CONSTRAINT, which foreign keys alone have.
    pub(super) fn parse_altered_attributes(
        &mut self,
        start: SourceRange,
    ) -> Parsed<Vec<ConstraintAttribute>> {
        let attributes = self.parse_constraint_attributes()?;
        check_attributes(&attributes, "FOREIGN KEY", &DEFERRING, start)?;
        Ok(attributes)
    }

    fn parse_key(&mut self, is_primary: bool) -> Parsed<TableConstraintKind> {
        if self.take(SqlKeyword::Using) {
            self.expect(SqlKeyword::Index)?;
            let index = self.column_name()?;
            return Ok(if is_primary {
                TableConstraintKind::PrimaryKeyIndex(index)
            } else {
                TableConstraintKind::UniqueIndex(index)
            });
        }
        let nulls_equal = if is_primary { false } else { self.parse_nulls_distinct()? };
        let columns = self.paren_list(Self::column_name)?;
        let included = self.parse_included_columns()?;
        let storage: KeyStorage = self.parse_key_storage(nulls_equal, included)?;
        Ok(if is_primary {
            TableConstraintKind::PrimaryKey(columns, storage)
        } else {
            TableConstraintKind::Unique(columns, storage)
        })
    }

    fn parse_included_columns(&mut self) -> Parsed<Vec<SqlName>> {
        if self.take(SqlKeyword::Include) {
            self.paren_list(Self::column_name)
        } else {
            Ok(Vec::new())
        }
    }

    fn parse_exclusion(&mut self) -> Parsed<ExclusionConstraint> {
        let access_method = self.parse_access_method()?;
        let elements = self.paren_list(|parser| {
            let element = parser.parse_index_element()?;
            parser.expect(SqlKeyword::With)?;
            Ok((element, parser.parse_any_operator()?))
        })?;
        let included = self.parse_included_columns()?;
        let storage = self.parse_key_storage(false, included)?;
        let condition = if self.take(SqlKeyword::Where) {
            self.expect(TokenKind::LeftParen)?;
            let condition = self.parse_expression()?;
            self.expect(TokenKind::RightParen)?;
            Some(condition)
        } else {
            None
        };
        Ok(ExclusionConstraint { access_method, elements, storage, condition })
    }

    /// Parses DEFERRABLE, NOT VALID and the like, as many as there are.
    pub(super) fn parse_constraint_attributes(&mut self) -> Parsed<Vec<ConstraintAttribute>> {
        let mut attributes = Vec::new();
        loop {
            let range = self.range();
            let attribute = match self.keyword() {
                Some(SqlKeyword::Deferrable) => ConstraintAttribute::Deferrable,
                Some(SqlKeyword::Not) => {
                    self.advance();
                    match self.keyword() {
                        Some(SqlKeyword::Deferrable) => ConstraintAttribute::NotDeferrable,
                        Some(SqlKeyword::Valid) => ConstraintAttribute::NotValid,
                        _ => return Err(self.unexpected()),
                    }
                }
                Some(SqlKeyword::Initially) => {
                    self.advance();
                    match self.keyword() {
                        Some(SqlKeyword::Deferred) => ConstraintAttribute::InitiallyDeferred,
                        Some(SqlKeyword::Immediate) => ConstraintAttribute::InitiallyImmediate,
                        _ => return Err(self.unexpected()),
                    }
                }
                Some(SqlKeyword::No) => {
                    self.advance();
                    if !self.at(SqlKeyword::Inherit) {
                        return Err(self.unexpected());
                    }
                    ConstraintAttribute::NoInherit
                }
                _ => return Ok(attributes),
            };
            self.advance();
            attributes.push(attribute);
            check_conflicts(&attributes, range)?;
        }
    }

    /// Parses REFERENCES with its actions.
    pub(super) fn parse_references(&mut self) -> Parsed<ForeignKeyTarget> {
        self.expect(SqlKeyword::References)?;
        let table = self.object_name()?;
        let columns = self.optional_columns()?;
        let matching = self.parse_match_kind()?;
        let mut on_delete = None;
        let mut on_update = None;
        while self.at(SqlKeyword::On) && (on_delete.is_none() || on_update.is_none()) {
            let slot = match self.peek_at(1) {
                TokenKind::Keyword(SqlKeyword::Delete) if on_delete.is_none() => &mut on_delete,
                TokenKind::Keyword(SqlKeyword::Update) if on_update.is_none() => &mut on_update,
                _ => return Err(self.unexpected_at(1)),
            };
            let start = self.advance().range;
            let is_delete = self.at(SqlKeyword::Delete);
            self.advance();
            let action = self.parse_key_action()?;
            check_action(&action, is_delete, start)?;
            *slot = Some(action);
        }
        Ok(ForeignKeyTarget { table, columns, matching, on_delete, on_update })
    }

    fn parse_match_kind(&mut self) -> Parsed<MatchKind> {
        let start = self.range();
        if !self.take(SqlKeyword::Match) {
            return Ok(MatchKind::Simple);
        }
        if self.take(SqlKeyword::Full) {
            return Ok(MatchKind::Full);
        }
        if self.take(SqlKeyword::Partial) {
            return Err(SyntaxError::not_supported("MATCH PARTIAL", start));
        }
        self.expect(SqlKeyword::Simple)?;
        Ok(MatchKind::Simple)
    }

    fn parse_key_action(&mut self) -> Parsed<KeyAction> {
        let action = match self.keyword() {
            Some(SqlKeyword::Cascade) => KeyAction::Cascade,
            Some(SqlKeyword::Restrict) => KeyAction::Restrict,
            Some(SqlKeyword::No) => {
                self.advance();
                if !self.at(SqlKeyword::Action) {
                    return Err(self.unexpected());
                }
                KeyAction::NoAction
            }
            Some(SqlKeyword::Set) => {
                self.advance();
                let is_null = self.at(SqlKeyword::Null);
                if !is_null && !self.at(SqlKeyword::Default) {
                    return Err(self.unexpected());
                }
                self.advance();
                let columns = self.optional_columns()?;
                return Ok(if is_null {
                    KeyAction::SetNull(columns)
                } else {
                    KeyAction::SetDefault(columns)
                });
            }
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(action)
    }
}

/// Refuses columns of SET NULL and SET DEFAULT where a key changes.
fn check_action(action: &KeyAction, is_delete: bool, range: SourceRange) -> Parsed<()> {
    let what = match action {
        KeyAction::SetNull(columns) if !columns.is_empty() => "SET NULL",
        KeyAction::SetDefault(columns) if !columns.is_empty() => "SET DEFAULT",
        _ => return Ok(()),
    };
    if is_delete {
        return Ok(());
    }
    let message = format!("a column list with {what} is only supported for ON DELETE actions");
    Err(SyntaxError::new(SyntaxErrorKind::NotSupported, message, range))
}

/// Refuses attributes that exclude each other.
fn check_conflicts(attributes: &[ConstraintAttribute], range: SourceRange) -> Parsed<()> {
    let has = |attribute| attributes.contains(&attribute);
    let message =
        if has(ConstraintAttribute::NotDeferrable) && has(ConstraintAttribute::InitiallyDeferred) {
            "constraint declared INITIALLY DEFERRED must be DEFERRABLE"
        } else if (has(ConstraintAttribute::NotDeferrable) && has(ConstraintAttribute::Deferrable))
            || (has(ConstraintAttribute::InitiallyDeferred)
                && has(ConstraintAttribute::InitiallyImmediate))
        {
            "conflicting constraint properties"
        } else {
            return Ok(());
        };
    Err(SyntaxError::new(SyntaxErrorKind::Grammar, message, range))
}

/// Refuses attributes that a constraint of the kind cannot have.
fn check_attributes(
    attributes: &[ConstraintAttribute],
    what: &str,
    allowed: &[ConstraintAttribute],
    range: SourceRange,
) -> Parsed<()> {
    for attribute in attributes {
        let refused = match attribute {
            attribute if allowed.contains(attribute) => continue,
            ConstraintAttribute::Deferrable | ConstraintAttribute::InitiallyDeferred => {
                "DEFERRABLE"
            }
            ConstraintAttribute::NotValid => "NOT VALID",
            ConstraintAttribute::NoInherit => "NO INHERIT",
            ConstraintAttribute::NotDeferrable | ConstraintAttribute::InitiallyImmediate => {
                continue;
            }
        };
        let message = format!("{what} constraints cannot be marked {refused}");
        return Err(SyntaxError::new(SyntaxErrorKind::NotSupported, message, range));
    }
    Ok(())
}
