//! The crate's error: one variant for each SQLSTATE, with PostgreSQL's words.
//!
//! A caller matches on the variant or asks for [`ValueError::sql_state`]; what a client is told
//! stands in [`ErrorText`].

use std::fmt;

/// What a client is told of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorText {
    /// The primary message.
    pub message: String,
    /// A second sentence with the particulars.
    pub detail: Option<String>,
    /// What the client may do about it.
    pub hint: Option<String>,
}

macro_rules! value_errors {
    ($($(#[$meta:meta])* $variant:ident, $constructor:ident, $code:literal;)*) => {
        /// An input, a value or a type that PostgreSQL refuses.
        #[non_exhaustive]
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum ValueError {
            $($(#[$meta])* $variant(Box<ErrorText>),)*
        }

        impl ValueError {
            /// Returns the five characters of the SQLSTATE.
            pub fn sql_state(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $code,)*
                }
            }

            /// Returns what a client is told.
            pub fn text(&self) -> &ErrorText {
                match self {
                    $(Self::$variant(text) => text,)*
                }
            }

            /// Makes the error with that SQLSTATE; `None` if there is none.
            pub fn of_sql_state(code: &str, message: impl Into<String>) -> Option<Self> {
                // Of one SQLSTATE the first.
                #[allow(unreachable_patterns)]
                match code {
                    $($code => Some(Self::$constructor(message)),)*
                    _ => None,
                }
            }

            fn text_mut(&mut self) -> &mut ErrorText {
                match self {
                    $(Self::$variant(text) => text,)*
                }
            }

            $(
                #[doc = concat!("Makes an error with SQLSTATE ", $code, ".")]
                pub fn $constructor(message: impl Into<String>) -> Self {
                    let message = message.into();
                    Self::$variant(Box::new(ErrorText { message, detail: None, hint: None }))
                }
            )*
        }
    };
}

value_errors! {
    /// A text is not a value of its type.
    InvalidText, invalid_text, "22P02";
    /// Bytes are not a value of their type.
    InvalidBinary, invalid_binary, "22P03";
    /// A message has too few bytes for its value.
    ProtocolViolation, protocol_violation, "08P01";
    /// A name is longer than 63 bytes.
    NameTooLong, name_too_long, "42622";
    /// A number is outside of its type's range.
    OutOfRange, out_of_range, "22003";
    /// A divisor is zero.
    DivisionByZero, division_by_zero, "22012";
    /// A query has several rows where a value is wanted.
    Cardinality, cardinality_violation, "21000";
    /// A root or power is not a real number.
    PowerArgument, power_argument, "2201F";
    /// A logarithm of what is not above zero.
    LogarithmArgument, logarithm_argument, "2201E";
    /// Bounds or a count of `width_bucket` are refused.
    BucketArgument, bucket_argument, "2201G";
    /// A length of a part of a text is negative.
    Substring, substring, "22011";
    /// A pattern of LIKE ends in its escape.
    EscapeSequence, escape_sequence, "22025";
    /// An escape is longer than a character.
    EscapeCharacter, escape_character, "22019";
    /// A regular expression is malformed.
    RegularExpression, regular_expression, "2201B";
    /// A pattern of SIMILAR TO has too many parts.
    EscapeOctet, escape_octet, "2200C";
    /// A value is null that may not be.
    NullNotAllowed, null_not_allowed, "22004";
    /// A text has not the form of a date, a time or an interval.
    DatetimeFormat, datetime_format, "22007";
    /// A field of a date, or the whole, is outside of its range.
    DatetimeOverflow, datetime_overflow, "22008";
    /// A field of an interval is outside of its range.
    IntervalOverflow, interval_overflow, "22015";
    /// An offset from UTC is outside of its range.
    ZoneDisplacement, zone_displacement, "22009";
    /// A text is longer than its type.
    TooLong, too_long, "22001";
    /// A string of bits has another length than its type.
    LengthMismatch, length_mismatch, "22026";
    /// Bytes are not text of the server's encoding.
    InvalidEncoding, invalid_encoding, "22021";
    /// A parameter of a function or a type has a value that is refused.
    InvalidParameter, invalid_parameter, "22023";
    /// A subscript or a bound of an array is refused.
    ArraySubscript, array_subscript, "2202E";
    /// Two values or types do not go together.
    DatatypeMismatch, datatype_mismatch, "42804";
    /// A function does not exist for these types.
    UndefinedFunction, undefined_function, "42883";
    /// There is no cast between two types.
    CannotCoerce, cannot_coerce, "42846";
    /// A type does not exist.
    UndefinedObject, undefined_object, "42704";
    /// A relation does not exist.
    UndefinedRelation, undefined_relation, "42P01";
    /// An object is of another kind than what is done with it.
    WrongObjectType, wrong_object_type, "42809";
    /// A sequence has no further value.
    SequenceEnd, sequence_end, "2200H";
    /// A column does not exist.
    UndefinedColumn, undefined_column, "42703";
    /// A schema does not exist.
    UndefinedSchema, undefined_schema, "3F000";
    /// A database does not exist.
    UndefinedDatabase, undefined_database, "3D000";
    /// A text that has to be a name is none.
    InvalidName, invalid_name, "42602";
    /// A role may not do something.
    NotPermitted, not_permitted, "42501";
    /// A setting cannot be changed now.
    FixedSetting, fixed_setting, "55P02";
    /// A statement is not allowed within this transaction.
    ActiveTransaction, active_transaction, "25001";
    /// A transaction only reads.
    ReadOnly, read_only, "25006";
    /// An object is not in the state that is asked for.
    ObjectState, object_state, "55000";
    /// A name or a type's text is malformed.
    SyntaxError, syntax_error, "42601";
    /// A limit of the implementation is passed.
    LimitExceeded, limit_exceeded, "54000";
    /// Known to PostgreSQL, but not available.
    NotSupported, not_supported, "0A000";
    /// Not available in PostgreSQL either.
    FeatureRefused, feature_refused, "0A000";
    /// A broken invariant of this crate; never caused by input.
    Internal, internal, "XX000";
}

impl ValueError {
    /// Adds a detail.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.text_mut().detail = Some(detail.into());
        self
    }

    /// Adds a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.text_mut().hint = Some(hint.into());
        self
    }

    /// Returns the primary message.
    pub fn message(&self) -> &str {
        &self.text().message
    }

    /// Makes the error of a text that is not a value of the type.
    pub fn syntax_of(type_name: &str, input: &str) -> Self {
        Self::invalid_text(format!("invalid input syntax for type {type_name}: \"{input}\""))
    }

    /// Makes the error of a text whose value is outside of the type's range.
    pub fn range_of_text(type_name: &str, input: &str) -> Self {
        Self::out_of_range(format!("value \"{input}\" is out of range for type {type_name}"))
    }

    /// Makes the error of a result outside of the type's range.
    pub fn range_of(type_name: &str) -> Self {
        Self::out_of_range(format!("{type_name} out of range"))
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for ValueError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_has_state_message_and_detail() {
        let error = ValueError::syntax_of("integer", "abc").with_detail("d").with_hint("h");
        assert_eq!(error.sql_state(), "22P02");
        assert_eq!(error.to_string(), "invalid input syntax for type integer: \"abc\"");
        assert_eq!(error.text().detail.as_deref(), Some("d"));
        assert_eq!(error.text().hint.as_deref(), Some("h"));
        let same = ValueError::of_sql_state(error.sql_state(), error.message());
        assert_eq!(same.as_ref().map(ValueError::message), Some(error.message()));
        assert_eq!(ValueError::of_sql_state("99999", ""), None);
    }
}
