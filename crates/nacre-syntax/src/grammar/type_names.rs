//! Names of types.

use super::cursor::{Parsed, StatementParser};
use super::names::NamePlace;
use crate::error::{SyntaxError, SyntaxErrorKind};
use crate::keywords::SqlKeyword;
use crate::lexer::TokenKind;
use crate::tree::{BuiltinType, ExpressionNode, IntervalField, IntervalFields, TypeKind, TypeName};

/// Digits of the mantissa that a REAL has, and a DOUBLE PRECISION.
const FLOAT_BITS_MAX: (i32, i32) = (24, 53);

impl StatementParser<'_> {
    /// Parses a type with SETOF and the dimensions of an array.
    pub(super) fn parse_type_name(&mut self) -> Parsed<TypeName> {
        let start = self.range();
        let is_setof = self.take(SqlKeyword::Setof);
        let kind = self.parse_simple_type()?;
        let dimensions = self.parse_dimensions()?;
        Ok(TypeName { kind, is_setof, dimensions, range: self.range_from(start) })
    }

    fn parse_dimensions(&mut self) -> Parsed<Vec<Option<i32>>> {
        let mut dimensions = Vec::new();
        if self.take(SqlKeyword::Array) {
            let length = if self.take(TokenKind::LeftBracket) {
                let length = self.expect_integer()?;
                self.expect(TokenKind::RightBracket)?;
                Some(length)
            } else {
                None
            };
            dimensions.push(length);
            return Ok(dimensions);
        }
        while self.take(TokenKind::LeftBracket) {
            let length =
                if self.at(TokenKind::RightBracket) { None } else { Some(self.expect_integer()?) };
            self.expect(TokenKind::RightBracket)?;
            dimensions.push(length);
        }
        Ok(dimensions)
    }

    /// Parses a type without SETOF and dimensions.
    pub(super) fn parse_simple_type(&mut self) -> Parsed<TypeKind> {
        let Some(keyword) = self.keyword().filter(|_| self.at_builtin_type()) else {
            return self.parse_named_type();
        };
        if keyword == SqlKeyword::Interval {
            self.advance();
            return self.parse_interval_fields().map(TypeKind::Interval);
        }
        self.parse_builtin_type(keyword)
    }

    fn parse_named_type(&mut self) -> Parsed<TypeKind> {
        let first = self.expect_name(NamePlace::TypeOrFunction)?;
        let name = self.object_name_from(first)?;
        let modifiers = self.parse_modifiers()?;
        Ok(TypeKind::Named { name, modifiers })
    }

    /// Parses `(expression, ...)` if it is there.
    fn parse_modifiers(&mut self) -> Parsed<Vec<ExpressionNode>> {
        self.optional_paren_list(Self::parse_expression)
    }

    /// Whether a type comes next whose name is words of the grammar.
    pub(super) fn at_builtin_type(&self) -> bool {
        match self.keyword() {
            Some(SqlKeyword::Double) => self.at_ahead(1, SqlKeyword::Precision),
            Some(keyword) => is_type_keyword(keyword),
            None => false,
        }
    }

    fn parse_builtin_type(&mut self, keyword: SqlKeyword) -> Parsed<TypeKind> {
        self.advance();
        let (which, modifiers) = match keyword {
            SqlKeyword::Smallint => (BuiltinType::Smallint, Vec::new()),
            SqlKeyword::Int | SqlKeyword::Integer => (BuiltinType::Integer, Vec::new()),
            SqlKeyword::Bigint => (BuiltinType::Bigint, Vec::new()),
            SqlKeyword::Real => (BuiltinType::Real, Vec::new()),
            SqlKeyword::Boolean => (BuiltinType::Boolean, Vec::new()),
            SqlKeyword::Double => {
                self.expect(SqlKeyword::Precision)?;
                (BuiltinType::Double, Vec::new())
            }
            SqlKeyword::Float => (self.parse_float_bits()?, Vec::new()),
            SqlKeyword::Numeric | SqlKeyword::Decimal | SqlKeyword::Dec => {
                (BuiltinType::Numeric, self.parse_modifiers()?)
            }
            SqlKeyword::Bit => {
                let is_varying = self.take(SqlKeyword::Varying);
                let which = if is_varying { BuiltinType::BitVarying } else { BuiltinType::Bit };
                (which, self.parse_modifiers()?)
            }
            SqlKeyword::Time | SqlKeyword::Timestamp => return self.parse_time_type(keyword),
            _ => (self.parse_character_words(keyword)?, self.parse_length()?),
        };
        Ok(TypeKind::Builtin { which, modifiers })
    }

    /// Parses what follows the first word of a type of characters.
    fn parse_character_words(&mut self, keyword: SqlKeyword) -> Parsed<BuiltinType> {
        if keyword == SqlKeyword::Varchar {
            return Ok(BuiltinType::CharacterVarying);
        }
        if keyword == SqlKeyword::National
            && !(self.take(SqlKeyword::Character) || self.take(SqlKeyword::Char))
        {
            return Err(self.unexpected());
        }
        let is_varying = self.take(SqlKeyword::Varying);
        Ok(if is_varying { BuiltinType::CharacterVarying } else { BuiltinType::Character })
    }

    /// Parses `(n)` if it is there.
    fn parse_length(&mut self) -> Parsed<Vec<ExpressionNode>> {
        if !self.at(TokenKind::LeftParen) {
            return Ok(Vec::new());
        }
        self.advance();
        if !self.at(TokenKind::Integer) {
            return Err(self.unexpected());
        }
        let length = self.parse_literal()?;
        self.expect(TokenKind::RightParen)?;
        Ok(vec![length])
    }

    fn parse_float_bits(&mut self) -> Parsed<BuiltinType> {
        if !self.take(TokenKind::LeftParen) {
            return Ok(BuiltinType::Double);
        }
        let range = self.range();
        let bits = self.expect_integer()?;
        self.expect(TokenKind::RightParen)?;
        let fail =
            |message: &str| Err(SyntaxError::new(SyntaxErrorKind::Parameter, message, range));
        match bits {
            ..1 => fail("precision for type float must be at least 1 bit"),
            bits if bits <= FLOAT_BITS_MAX.0 => Ok(BuiltinType::Real),
            bits if bits <= FLOAT_BITS_MAX.1 => Ok(BuiltinType::Double),
            _ => fail("precision for type float must be less than 54 bits"),
        }
    }

    fn parse_time_type(&mut self, keyword: SqlKeyword) -> Parsed<TypeKind> {
        let modifiers = self.parse_length()?;
        let has_zone = if self.at_words(&[SqlKeyword::With, SqlKeyword::Time]) {
            self.advance();
            self.expect_words(&[SqlKeyword::Time, SqlKeyword::Zone])?;
            true
        } else if self.take(SqlKeyword::Without) {
            self.expect_words(&[SqlKeyword::Time, SqlKeyword::Zone])?;
            false
        } else {
            false
        };
        let which = match (keyword, has_zone) {
            (SqlKeyword::Time, false) => BuiltinType::Time,
            (SqlKeyword::Time, true) => BuiltinType::TimeWithZone,
            (_, false) => BuiltinType::Timestamp,
            (_, true) => BuiltinType::TimestampWithZone,
        };
        Ok(TypeKind::Builtin { which, modifiers })
    }

    /// Parses what follows INTERVAL in a type: `(n)`, or fields.
    fn parse_interval_fields(&mut self) -> Parsed<IntervalFields> {
        if let Some(precision) = self.parse_precision()? {
            return Ok(IntervalFields { span: None, precision: Some(precision) });
        }
        self.parse_interval_span()
    }

    /// Parses `(n)` if it is there.
    pub(super) fn parse_precision(&mut self) -> Parsed<Option<i32>> {
        if !self.take(TokenKind::LeftParen) {
            return Ok(None);
        }
        let precision = self.expect_integer()?;
        self.expect(TokenKind::RightParen)?;
        Ok(Some(precision))
    }

    /// Parses `DAY TO SECOND(n)` and the like, if it is there.
    pub(super) fn parse_interval_span(&mut self) -> Parsed<IntervalFields> {
        let Some(first) = self.keyword().and_then(interval_field) else {
            return Ok(IntervalFields::default());
        };
        self.advance();
        if first == IntervalField::Second {
            let precision = self.parse_precision()?;
            return Ok(IntervalFields { span: Some((first, first)), precision });
        }
        let goes_on = !matches!(first, IntervalField::Month) && self.at(SqlKeyword::To);
        if !goes_on {
            return Ok(IntervalFields { span: Some((first, first)), precision: None });
        }
        self.advance();
        let last = self.keyword().and_then(interval_field);
        let last = last.filter(|last| match first {
            IntervalField::Year => *last == IntervalField::Month,
            IntervalField::Minute => *last == IntervalField::Second,
            _ => *last > first,
        });
        let Some(last) = last else { return Err(self.unexpected()) };
        self.advance();
        let precision = if last == IntervalField::Second { self.parse_precision()? } else { None };
        Ok(IntervalFields { span: Some((first, last)), precision })
    }
}

fn is_type_keyword(keyword: SqlKeyword) -> bool {
    matches!(
        keyword,
        SqlKeyword::Bigint
            | SqlKeyword::Bit
            | SqlKeyword::Boolean
            | SqlKeyword::Char
            | SqlKeyword::Character
            | SqlKeyword::Dec
            | SqlKeyword::Decimal
            | SqlKeyword::Float
            | SqlKeyword::Int
            | SqlKeyword::Integer
            | SqlKeyword::Interval
            | SqlKeyword::National
            | SqlKeyword::Nchar
            | SqlKeyword::Numeric
            | SqlKeyword::Real
            | SqlKeyword::Smallint
            | SqlKeyword::Time
            | SqlKeyword::Timestamp
            | SqlKeyword::Varchar
    )
}

fn interval_field(keyword: SqlKeyword) -> Option<IntervalField> {
    Some(match keyword {
        SqlKeyword::Year => IntervalField::Year,
        SqlKeyword::Month => IntervalField::Month,
        SqlKeyword::Day => IntervalField::Day,
        SqlKeyword::Hour => IntervalField::Hour,
        SqlKeyword::Minute => IntervalField::Minute,
        SqlKeyword::Second => IntervalField::Second,
        _ => return None,
    })
}
