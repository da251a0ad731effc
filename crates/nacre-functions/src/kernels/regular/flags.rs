//! How a pattern is read and where it matches: the letters of flags.

use nacre_types::ValueError;

/// What the flags of a pattern say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PatternFlags {
    pub(super) is_caseless: bool,
    /// Whether `.` and `[^...]` match no newline.
    pub(super) stops_at_lines: bool,
    /// Whether `^` and `$` match at each line.
    pub(super) has_lines: bool,
    /// Whether blanks and comments stand between parts.
    pub(super) is_expanded: bool,
    /// Whether the pattern is the text that matches.
    pub(super) is_literal: bool,
    /// Whether it is one of the older languages, of which there is none here.
    pub(super) is_basic: bool,
}

impl PatternFlags {
    /// Returns the flags of an operator.
    pub(super) const fn of_case(is_caseless: bool) -> Self {
        Self {
            is_caseless,
            stops_at_lines: false,
            has_lines: false,
            is_expanded: false,
            is_literal: false,
            is_basic: false,
        }
    }

    /// Applies a letter; `None` if there is none like it.
    pub(super) fn with_letter(mut self, letter: char) -> Option<Self> {
        match letter {
            'i' => self.is_caseless = true,
            'c' => self.is_caseless = false,
            'm' | 'n' => (self.stops_at_lines, self.has_lines) = (true, true),
            'p' => (self.stops_at_lines, self.has_lines) = (true, false),
            's' => (self.stops_at_lines, self.has_lines) = (false, false),
            'w' => (self.stops_at_lines, self.has_lines) = (false, true),
            'x' => self.is_expanded = true,
            't' => self.is_expanded = false,
            'q' => (self.is_literal, self.is_basic) = (true, false),
            'b' | 'e' => (self.is_literal, self.is_basic) = (false, true),
            _ => return None,
        }
        Some(self)
    }
}

/// The flags of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CallFlags {
    pub(super) pattern: PatternFlags,
    /// `g`.
    pub(super) is_global: bool,
}

impl CallFlags {
    /// Reads the flags of a call.
    ///
    /// # Errors
    /// 22023 for other letters.
    pub(super) fn parse(text: &str) -> Result<Self, ValueError> {
        let mut flags = Self::default();
        for letter in text.chars() {
            if letter == 'g' {
                flags.is_global = true;
                continue;
            }
            flags.pattern = flags.pattern.with_letter(letter).ok_or_else(|| {
                let message = format!("invalid regular expression option: \"{letter}\"");
                ValueError::invalid_parameter(message)
            })?;
        }
        Ok(flags)
    }

    /// Reads the flags of a function that has no `g`.
    ///
    /// # Errors
    /// 22023.
    pub(super) fn parse_single(text: &str, function: &str) -> Result<PatternFlags, ValueError> {
        let flags = Self::parse(text)?;
        if flags.is_global {
            let message = format!("{function}() does not support the \"global\" option");
            return Err(ValueError::invalid_parameter(message));
        }
        Ok(flags.pattern)
    }
}
