//! Text or binary.

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Binary,
}

impl Format {
    /// Reads the code of a message.
    pub(crate) fn of(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::Text),
            1 => Some(Self::Binary),
            _ => None,
        }
    }

    pub(crate) fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

/// Returns the format of each of `count` values: `codes` holds one for each, one for all, or none,
/// which is text.
pub(crate) fn formats(codes: &[i16], count: usize) -> Result<Vec<Format>, String> {
    let one = |code: &i16| Format::of(*code).ok_or_else(|| format!("invalid format code: {code}"));
    match codes {
        [] => Ok(vec![Format::Text; count]),
        [code] => Ok(vec![one(code)?; count]),
        codes if codes.len() == count => codes.iter().map(one).collect(),
        codes => Err(format!("message has {} formats but {count} values", codes.len())),
    }
}
