//! What ends a field and a row, and the state machine behind it.
//!
//! A byte is classified by the state before it: only in [`State::Outside`] does the delimiter end
//! a field and the terminator end a row. In CSV a quote anywhere in a field switches between
//! outside and inside. If escape and quote are the same byte, an escaped quote is two switches, so
//! the state depends on the parity of quotes alone: that is what makes the kernels of
//! [`crate::scan`] and [`crate::index`] possible. All other dialects step byte by byte.

use crate::options::{CsvOptions, TextFormat};
use memchr::memchr_iter;

/// How a row ends. Found from the first line end of the file, as in PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnd {
    Lf,
    CrLf,
    Cr,
}

impl LineEnd {
    /// Returns the last byte of a line end, which is the one that is looked for.
    pub(crate) fn terminator(self) -> u8 {
        if self == Self::Cr { b'\r' } else { b'\n' }
    }

    pub(crate) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
            Self::Cr => b"\r",
        }
    }
}

/// What takes the meaning from a delimiter or terminator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quoting {
    /// CSV, a quote inside quotes is doubled.
    Doubled { quote: u8 },
    /// CSV with an escape other than the quote.
    Escaped { quote: u8, escape: u8 },
    /// Text format, a backslash before the byte.
    Backslash,
}

/// State before a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Outside = 0,
    /// Inside quotes.
    Inside = 1,
    /// After an escape; the byte stands for itself.
    Escaped = 2,
}

impl State {
    pub(crate) const ALL: [Self; 3] = [Self::Outside, Self::Inside, Self::Escaped];
}

impl Quoting {
    /// Returns the state after `byte`.
    #[inline(always)]
    pub(crate) fn step(self, state: State, byte: u8) -> State {
        match (self, state) {
            (Self::Doubled { quote }, State::Outside) if byte == quote => State::Inside,
            (Self::Doubled { quote }, State::Inside) if byte == quote => State::Outside,
            (Self::Escaped { quote, .. }, State::Outside) if byte == quote => State::Inside,
            (Self::Escaped { escape, .. }, State::Inside) if byte == escape => State::Escaped,
            (Self::Escaped { quote, .. }, State::Inside) if byte == quote => State::Outside,
            (Self::Escaped { .. }, State::Escaped) => State::Inside,
            (Self::Backslash, State::Outside) if byte == b'\\' => State::Escaped,
            (Self::Backslash, State::Escaped) => State::Outside,
            _ => state,
        }
    }

    /// Tells whether a row can begin to be read in `state` in the middle of a file.
    pub(crate) fn has_state(self, state: State) -> bool {
        match self {
            Self::Doubled { .. } => state != State::Escaped,
            Self::Escaped { .. } => true,
            Self::Backslash => state != State::Inside,
        }
    }

    /// Tells whether `byte` in a field means that the field is not taken as it stands.
    #[inline(always)]
    pub(crate) fn marks_field(self, byte: u8) -> bool {
        match self {
            Self::Doubled { quote } | Self::Escaped { quote, .. } => byte == quote,
            Self::Backslash => byte == b'\\',
        }
    }
}

/// Everything that splits a file into rows and fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    pub(crate) quoting: Quoting,
    pub(crate) line_end: LineEnd,
}

impl Dialect {
    pub(crate) fn new(options: &CsvOptions, line_end: LineEnd) -> Self {
        let CsvOptions { delimiter, quote, escape, .. } = *options;
        let quoting = match options.format {
            TextFormat::Text => Quoting::Backslash,
            TextFormat::Csv if quote == escape => Quoting::Doubled { quote },
            TextFormat::Csv => Quoting::Escaped { quote, escape },
        };
        Self { delimiter, quoting, line_end }
    }

    pub(crate) fn terminator(&self) -> u8 {
        self.line_end.terminator()
    }

    pub(crate) fn is_csv(&self) -> bool {
        self.quoting != Quoting::Backslash
    }

    /// Counts the line ends in `bytes`, also those inside quotes.
    pub(crate) fn count_lines(&self, bytes: &[u8]) -> u64 {
        memchr_iter(self.terminator(), bytes).count() as u64
    }

    /// Returns the end of the row that starts `bytes`: the index of its terminator byte.
    pub(crate) fn row_end(&self, bytes: &[u8]) -> Option<usize> {
        let terminator = self.terminator();
        let mut state = State::Outside;
        for (index, &byte) in bytes.iter().enumerate() {
            if byte == terminator && state == State::Outside {
                return Some(index);
            }
            state = self.quoting.step(state, byte);
        }
        None
    }
}
