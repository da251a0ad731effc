//! Names of objects and operators.

use crate::range::SourceRange;

/// One name, folded unless it was quoted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SqlName {
    /// At most 63 bytes.
    pub text: String,
    /// Where it stands, quotes included.
    pub range: SourceRange,
}

/// A name with what qualifies it, outermost first; at least one part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectName {
    /// `catalog.schema.name` has three.
    pub parts: Vec<SqlName>,
    /// All parts.
    pub range: SourceRange,
}

/// An operator, as its characters or as `OPERATOR(schema.+)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OperatorName {
    /// What qualifies it; empty as a rule.
    pub schema: Vec<SqlName>,
    /// Its characters; `!=` is `<>`.
    pub symbol: String,
    /// Where it stands.
    pub range: SourceRange,
}

/// A role where one is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleName {
    /// A role's name.
    Named(SqlName),
    /// PUBLIC, which is everybody.
    Public(SourceRange),
    /// CURRENT_USER
    CurrentUser(SourceRange),
    /// CURRENT_ROLE
    CurrentRole(SourceRange),
    /// SESSION_USER
    SessionUser(SourceRange),
}
