//! Names of outputs that have no label.

use nacre_syntax::{
    CaseExpression, CurrentValue, ExpressionKind, ExpressionNode, IndirectionStep, QueryBody,
    QueryExpression, SpecialCall, TargetItem, TrimSide, TypeKind, TypeName,
};
use nacre_types::find_type_by_words;

/// The name of an output that nothing else names.
const NO_NAME: &str = "?column?";

/// How much a name says: a type's name is taken if the expression inside has no better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NameStrength {
    None,
    OfType,
    Own,
}

/// Returns the name of an output: that of its column, function or type.
pub(super) fn output_name(node: &ExpressionNode) -> String {
    match name_of(node) {
        (NameStrength::None, _) => NO_NAME.to_owned(),
        (_, name) => name,
    }
}

fn name_of(node: &ExpressionNode) -> (NameStrength, String) {
    let own = |name: &str| (NameStrength::Own, name.to_owned());
    match &node.kind {
        ExpressionKind::Column(path) => {
            let fields = path.steps.iter().rev().find_map(|step| match step {
                IndirectionStep::Field(name) => Some(&name.text),
                _ => None,
            });
            own(fields.unwrap_or(&path.name.text))
        }
        ExpressionKind::Indirection { operand, steps } => {
            let field = steps.iter().rev().find_map(|step| match step {
                IndirectionStep::Field(name) => Some(&name.text),
                _ => None,
            });
            field.map_or_else(|| name_of(operand), |name| own(name))
        }
        ExpressionKind::Function(call) => {
            own(call.name.parts.last().map_or(NO_NAME, |name| &name.text))
        }
        ExpressionKind::Cast { operand, type_name } => match name_of(operand) {
            (NameStrength::Own, name) => (NameStrength::Own, name),
            _ => (NameStrength::OfType, type_label(type_name)),
        },
        ExpressionKind::TypedLiteral(literal) => {
            (NameStrength::OfType, type_label(&literal.type_name))
        }
        ExpressionKind::Collate { operand, .. } => name_of(operand),
        ExpressionKind::Case(case) => case_name(case),
        ExpressionKind::Exists(_) => own("exists"),
        ExpressionKind::Subquery(query) => own(&query_name(query)),
        ExpressionKind::Array(_) | ExpressionKind::ArrayQuery(_) => own("array"),
        ExpressionKind::Row { .. } => own("row"),
        ExpressionKind::Grouping(_) => own("grouping"),
        ExpressionKind::AtTimeZone { .. } => own("timezone"),
        ExpressionKind::Overlaps { .. } => own("overlaps"),
        ExpressionKind::Special(call) => own(special_name(call)),
        _ => (NameStrength::None, String::new()),
    }
}

/// Returns the name of a query's first output.
fn query_name(query: &QueryExpression) -> String {
    body_name(&query.body)
}

fn body_name(body: &QueryBody) -> String {
    match body {
        QueryBody::Select(core) => match core.targets.first() {
            Some(TargetItem::Value { label: Some(label), .. }) => label.text.clone(),
            Some(TargetItem::Value { value, label: None }) => output_name(value),
            Some(TargetItem::Star(_)) | None => NO_NAME.to_owned(),
        },
        QueryBody::Nested(inner) => query_name(inner),
        QueryBody::Values(_) => "column1".to_owned(),
        QueryBody::SetOperation { first, .. } => body_name(first),
        QueryBody::Table(_) => NO_NAME.to_owned(),
    }
}

fn case_name(case: &CaseExpression) -> (NameStrength, String) {
    let otherwise = case.otherwise.as_ref().map(name_of);
    match otherwise {
        Some((NameStrength::Own, name)) => (NameStrength::Own, name),
        _ => (NameStrength::OfType, "case".to_owned()),
    }
}

/// Returns the name of a type in `pg_type`, which is what outputs are called after.
fn type_label(name: &TypeName) -> String {
    let words = match &name.kind {
        TypeKind::Named { name, .. } => {
            return name.parts.last().map_or_else(String::new, |name| name.text.clone());
        }
        TypeKind::Builtin { which, .. } => super::type_names::builtin_words(*which),
        TypeKind::Interval(_) => "interval",
    };
    let entry = find_type_by_words(words).and_then(nacre_types::catalog::find_type);
    entry.map_or_else(|| words.to_owned(), |entry| entry.name.to_owned())
}

fn special_name(call: &SpecialCall) -> &str {
    match call {
        SpecialCall::Coalesce(_) => "coalesce",
        SpecialCall::Greatest(_) => "greatest",
        SpecialCall::Least(_) => "least",
        SpecialCall::NullIf(..) => "nullif",
        SpecialCall::Extract { .. } => "extract",
        SpecialCall::Position { .. } => "position",
        SpecialCall::Substring { .. } | SpecialCall::SubstringSimilar { .. } => "substring",
        SpecialCall::Overlay { .. } => "overlay",
        SpecialCall::Plain { name, .. } => &name.text,
        SpecialCall::Trim { side: TrimSide::Both, .. } => "btrim",
        SpecialCall::Trim { side: TrimSide::Leading, .. } => "ltrim",
        SpecialCall::Trim { side: TrimSide::Trailing, .. } => "rtrim",
        SpecialCall::Normalize(..) => "normalize",
        SpecialCall::Treat(..) => "treat",
        SpecialCall::CollationFor(_) => "pg_collation_for",
        SpecialCall::Current(value, _) => match value {
            CurrentValue::Date => "current_date",
            CurrentValue::Time => "current_time",
            CurrentValue::Timestamp => "current_timestamp",
            CurrentValue::LocalTime => "localtime",
            CurrentValue::LocalTimestamp => "localtimestamp",
            CurrentValue::Role => "current_role",
            CurrentValue::User => "current_user",
            CurrentValue::SessionUser => "session_user",
            CurrentValue::PlainUser => "user",
            CurrentValue::Catalog => "current_catalog",
            CurrentValue::Schema => "current_schema",
        },
    }
}
