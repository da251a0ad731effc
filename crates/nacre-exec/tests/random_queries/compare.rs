//! Answers of two engines, and whether they are the same.

/// What a query answers.
#[derive(Clone, Debug)]
pub(crate) enum QueryAnswer {
    /// Texts; null is none.
    Rows(Vec<Vec<Option<String>>>),
    Error {
        state: String,
        message: String,
    },
    /// The own engine does not have it.
    NotSupported(String),
    /// A panic or an error that no query may have.
    Broken {
        reason: String,
    },
    /// It took too long or needed too much memory.
    Unanswered,
}

/// How far an answer is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowOrder {
    None,
    /// The rows are sorted by all their columns.
    Total,
    /// As `Total`, and rows are left out.
    TotalWithLimit,
}

/// How two answers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerDifference {
    Broken,
    Rows,
    Order,
    /// The error is ours.
    OurError,
    TheirError,
    ErrorKind,
}

/// Answers of both engines to a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerPair<'a> {
    pub(crate) ours: &'a QueryAnswer,
    pub(crate) theirs: &'a QueryAnswer,
    pub(crate) order: RowOrder,
}

/// Compares our answer with that of PostgreSQL, or with another one of ours.
pub(crate) fn difference(
    ours: &QueryAnswer,
    theirs: &QueryAnswer,
    order: RowOrder,
) -> Option<AnswerDifference> {
    use QueryAnswer as A;
    match (ours, theirs) {
        (A::Broken { .. }, _) | (_, A::Broken { .. }) => Some(AnswerDifference::Broken),
        (A::NotSupported(_) | A::Unanswered, _) | (_, A::NotSupported(_) | A::Unanswered) => None,
        (A::Error { state: ours, .. }, A::Error { state: theirs, .. }) => {
            (error_class(ours) != error_class(theirs)).then_some(AnswerDifference::ErrorKind)
        }
        (A::Error { .. }, A::Rows(_)) => Some(AnswerDifference::OurError),
        (A::Rows(_), A::Error { .. }) => Some(AnswerDifference::TheirError),
        (A::Rows(ours), A::Rows(theirs)) => rows_difference(ours, theirs, order),
    }
}

/// Whether two answers are errors of one class.
pub(crate) fn is_same_error(one: &QueryAnswer, other: &QueryAnswer) -> bool {
    use QueryAnswer as A;
    match (one, other) {
        (A::Error { state: one, .. }, A::Error { state: other, .. }) => {
            error_class(one) == error_class(other)
        }
        _ => false,
    }
}

/// Which of several errors of evaluation comes first is not defined.
fn error_class(state: &str) -> &str {
    match &state[..2] {
        "21" | "22" => "22",
        _ => &state[..2],
    }
}

type AnswerRows = [Vec<Option<String>>];

fn rows_difference(
    ours: &AnswerRows,
    theirs: &AnswerRows,
    order: RowOrder,
) -> Option<AnswerDifference> {
    if order != RowOrder::TotalWithLimit && !is_same(&sorted(ours), &sorted(theirs)) {
        return Some(AnswerDifference::Rows);
    }
    if order == RowOrder::None || is_same(&plain(ours), &plain(theirs)) {
        return None;
    }
    // Of equal zeros either may be kept, and its text be sorted.
    let is_same_but_zeros = order == RowOrder::Total && is_same(&nonzero(ours), &nonzero(theirs));
    (!is_same_but_zeros).then_some(AnswerDifference::Order)
}

/// Returns the rows without zeros.
fn nonzero(rows: &AnswerRows) -> Vec<Vec<Option<String>>> {
    let has_zero = |row: &Vec<Option<String>>| row.iter().flatten().any(|text| text == "0");
    let mut rows = plain(rows);
    rows.retain(|row| !has_zero(row));
    rows
}

fn sorted(rows: &AnswerRows) -> Vec<Vec<Option<String>>> {
    let mut rows = plain(rows);
    rows.sort_unstable();
    rows
}

/// Returns rows with one text for values that are equal: of those, groups and limits keep any.
fn plain(rows: &AnswerRows) -> Vec<Vec<Option<String>>> {
    let plain = |value: &Option<String>| value.as_deref().map(plain_text);
    rows.iter().map(|row| row.iter().map(plain).collect()).collect()
}

fn plain_text(text: &str) -> String {
    let is_number = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'.'));
    let text = if is_number && text.bytes().filter(|byte| *byte == b'.').count() == 1 {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text.trim_end_matches(' ')
    };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn is_same(ours: &AnswerRows, theirs: &AnswerRows) -> bool {
    let is_same_row = |ours: &Vec<Option<String>>, theirs: &Vec<Option<String>>| {
        ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(|(ours, theirs)| match (ours, theirs) {
                (Some(ours), Some(theirs)) => ours == theirs || is_close(ours, theirs),
                (ours, theirs) => ours == theirs,
            })
    };
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(ours, theirs)| is_same_row(ours, theirs))
}

/// Whether two texts are floats that are nearly equal: sums depend on the order of rows.
fn is_close(ours: &str, theirs: &str) -> bool {
    let has_exponent = ours.contains('e') || theirs.contains('e');
    let is_long = |text: &str| text.len() >= 15;
    // Values of `real` have nine digits.
    let has_few_digits = |text: &str| {
        let digits = text.split('e').next().unwrap_or_default();
        digits.bytes().filter(u8::is_ascii_digit).count() <= 9
    };
    let is_real = has_exponent && has_few_digits(ours) && has_few_digits(theirs);
    let tolerance = if is_real { 1e-6 } else { 1e-12 };
    match (ours.parse::<f64>(), theirs.parse::<f64>()) {
        (Ok(our), Ok(their)) if has_exponent || is_long(ours) || is_long(theirs) => {
            (our - their).abs() <= tolerance * our.abs().max(their.abs())
        }
        _ => false,
    }
}

#[test]
fn last_digits_of_floats_are_not_compared() {
    assert!(is_close("-1.2000001e+25", "-1.2e+25"));
    assert!(!is_close("-1.20001e+25", "-1.2e+25"));
    assert!(!is_close("1.2000001", "1.2"));
    assert!(is_close("0.30000000000000004", "0.3"));
    assert!(!is_close("1.20000010000001e+25", "1.2e+25"));
}
