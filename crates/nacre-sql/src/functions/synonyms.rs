//! Calls and words that the planner has under another name, or as an operator.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, ObjectName, TimezoneInfo, Value,
};

use super::moments::ROUNDED;
use crate::names::fold;

/// Functions with another name.
const NAMES: [(&str, &str); 6] = [
    ("ceiling", "ceil"),
    ("every", "bool_and"),
    ("gen_random_uuid", "uuid"),
    ("sign", "signum"),
    ("transaction_timestamp", "now"),
    ("variance", "var"),
];

/// Words that are calls, beside those that the parser knows.
const WORDS: [&str; 2] = ["localtimestamp", "localtime"];

/// Returns what stands for a word that the parser takes for a column.
pub(crate) fn word(ident: &Ident) -> Option<Expr> {
    let is_word = ident.quote_style.is_none();
    let found = WORDS.iter().find(|known| is_word && ident.value.eq_ignore_ascii_case(known));
    found.map(|name| local(name))
}

/// Returns what stands for a call; one of another name is renamed.
pub(crate) fn synonym(function: &mut Function) -> Option<Expr> {
    let [part] = function.name.0.as_slice() else { return None };
    let ident = part.as_ident()?;
    let name = fold(ident);
    if name == "make_interval" {
        return Some(make_interval(function));
    }
    let args = match &function.args {
        FunctionArguments::List(list) => list.args.iter().map(plain).collect::<Option<Vec<_>>>(),
        _ => Some(Vec::new()),
    };
    let args = args.unwrap_or_default();
    match (name.as_str(), args.as_slice()) {
        ("mod", [one, other]) => {
            let nested = |expr: &Expr| Box::new(Expr::Nested(Box::new(expr.clone())));
            let (left, right) = (nested(one), nested(other));
            let op = BinaryOperator::Modulo;
            return Some(Expr::Nested(Box::new(Expr::BinaryOp { left, op, right })));
        }
        ("localtimestamp", [digits @ Expr::Value(_)]) => {
            return Some(call(ROUNDED, vec![local(&name), digits.clone()]));
        }
        ("localtimestamp" | "localtime", _) => return Some(local(&name)),
        ("age", [one]) => return Some(call("age", vec![midnight()?, one.clone()])),
        ("current_timestamp", [digits @ Expr::Value(_)]) => {
            return Some(call(ROUNDED, vec![call("now", Vec::new()), digits.clone()]));
        }
        ("date_trunc", [unit, one, zone]) => {
            let there = call("timezone", vec![zone.clone(), one.clone()]);
            let cut = call("date_trunc", vec![unit.clone(), there]);
            return Some(call("timezone", vec![zone.clone(), cut]));
        }
        ("regexp_substr", [one, pattern]) => {
            let pattern = call("concat", vec![text("("), pattern.clone(), text(")")]);
            let found = call("regexp_match", vec![one.clone(), pattern]);
            return Some(call("nacre_element", vec![found, number("1")]));
        }
        _ => {}
    }
    let (_, new) = NAMES.iter().find(|(known, _)| *known == name)?;
    function.name = ObjectName::from(vec![Ident { span: ident.span, ..Ident::new(*new) }]);
    None
}

/// Puts named arguments in their places; those that are not named are 0.
fn make_interval(function: &Function) -> Expr {
    const NAMES: [&str; 7] = ["years", "months", "weeks", "days", "hours", "mins", "secs"];
    let mut places = NAMES.map(|_| number("0"));
    if let FunctionArguments::List(list) = &function.args {
        for (place, arg) in list.args.iter().enumerate() {
            let (place, value) = match arg {
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                    (NAMES.iter().position(|known| *known == fold(name)), value)
                }
                FunctionArg::ExprNamed {
                    name: Expr::Identifier(name),
                    arg: FunctionArgExpr::Expr(value),
                    ..
                } => (NAMES.iter().position(|known| *known == fold(name)), value),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (Some(place), value),
                _ => return Expr::Function(function.clone()),
            };
            match place.and_then(|place| places.get_mut(place)) {
                Some(part) => *part = value.clone(),
                None => return Expr::Function(function.clone()),
            }
        }
    }
    call("make_interval", places.into())
}

/// The time of now without a zone.
fn local(name: &str) -> Expr {
    let data_type = match name {
        "localtime" => DataType::Time(None, TimezoneInfo::None),
        _ => DataType::Timestamp(None, TimezoneInfo::None),
    };
    let expr = Box::new(call("now", Vec::new()));
    Expr::Cast { kind: CastKind::Cast, expr, data_type, array: false, format: None }
}

/// The first moment of today.
fn midnight() -> Option<Expr> {
    Some(call("date_trunc", vec![text("day"), local("localtimestamp")]))
}

fn plain(arg: &FunctionArg) -> Option<Expr> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    }
}

fn text(value: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(value.to_owned()).into())
}

fn number(value: &str) -> Expr {
    Expr::Value(Value::Number(value.to_owned(), false).into())
}

/// Makes a call.
pub(crate) fn call(name: &str, args: Vec<Expr>) -> Expr {
    crate::pg_catalog::call(name, args)
}
