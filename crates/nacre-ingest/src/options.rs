//! The options of COPY, with PostgreSQL's names, defaults, checks and messages.

use crate::error::{Error, ErrorKind, Result};

/// How rows are written in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// Comma separated values.
    Csv,
    /// PostgreSQL's tab-separated text with backslash escapes.
    Text,
}

/// What the first line of the file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// A row.
    No,
    /// Names that are skipped (or written).
    Yes,
    /// Names that must be those of the columns, in order.
    Match,
}

/// The columns that a `FORCE_...` option names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Force {
    /// No column.
    #[default]
    None,
    /// `*`, every column.
    All,
    /// These.
    Columns(Vec<String>),
}

impl Force {
    /// Tells whether `column` is among them.
    pub fn contains(&self, column: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Columns(names) => names.iter().any(|name| name == column),
        }
    }

    pub(crate) fn names(&self) -> &[String] {
        if let Self::Columns(names) = self { names } else { &[] }
    }
}

/// Direction of a COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into a table.
    From,
    /// Out of a table or query.
    To,
}

/// How to read or write a file. [`CsvOptions::default`] is `FORMAT csv` of PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    pub format: TextFormat,
    pub header: Header,
    pub delimiter: u8,
    /// Not used by [`TextFormat::Text`].
    pub quote: u8,
    /// Not used by [`TextFormat::Text`].
    pub escape: u8,
    /// What stands for null; in CSV only if it is not quoted.
    pub null: String,
    /// Columns whose values are always quoted (COPY TO, CSV).
    pub force_quote: Force,
    /// Columns in which an unquoted null string is a value (COPY FROM, CSV).
    pub force_not_null: Force,
    /// Columns in which a quoted null string is null (COPY FROM, CSV).
    pub force_null: Force,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            format: TextFormat::Csv,
            header: Header::No,
            delimiter: b',',
            quote: b'"',
            escape: b'"',
            null: String::new(),
            force_quote: Force::None,
            force_not_null: Force::None,
            force_null: Force::None,
        }
    }
}

/// Collects options as they are written in SQL; defaults depend on `FORMAT`, which may come last.
#[derive(Clone, Debug, Default)]
pub struct OptionsBuilder {
    format: Option<TextFormat>,
    header: Option<Header>,
    delimiter: Option<String>,
    quote: Option<String>,
    escape: Option<String>,
    null: Option<String>,
    force_quote: Option<Force>,
    force_not_null: Option<Force>,
    force_null: Option<Force>,
    has_encoding: bool,
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOption, message)
}

fn set_once<T>(slot: &mut Option<T>, value: T) -> Result<()> {
    if slot.replace(value).is_some() {
        return Err(invalid("conflicting or redundant options"));
    }
    Ok(())
}

impl OptionsBuilder {
    /// Takes option `name` (any case) with its value, if it has one.
    ///
    /// # Errors
    /// `InvalidOption`, `NotSupported`.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let name = name.to_ascii_lowercase();
        let text = || {
            let missing = || invalid(format!("{name} requires a parameter"));
            value.map(str::to_owned).ok_or_else(missing)
        };
        match name.as_str() {
            "format" => set_once(&mut self.format, format_named(&text()?)?),
            "header" => set_once(&mut self.header, header_named(value)?),
            "delimiter" => set_once(&mut self.delimiter, text()?),
            "quote" => set_once(&mut self.quote, text()?),
            "escape" => set_once(&mut self.escape, text()?),
            "null" => set_once(&mut self.null, text()?),
            "encoding" => self.set_encoding(&text()?),
            "freeze" | "on_error" | "default" | "log_verbosity" | "reject_limit" => {
                let message = format!("not supported: COPY option \"{name}\"");
                Err(Error::new(ErrorKind::NotSupported, message))
            }
            _ => Err(invalid(format!("option \"{name}\" not recognized"))),
        }
    }

    /// Takes `force_quote`, `force_not_null` or `force_null`.
    ///
    /// # Errors
    /// `InvalidOption`.
    pub fn set_force(&mut self, name: &str, columns: Force) -> Result<()> {
        match name.to_ascii_lowercase().as_str() {
            "force_quote" => set_once(&mut self.force_quote, columns),
            "force_not_null" => set_once(&mut self.force_not_null, columns),
            "force_null" => set_once(&mut self.force_null, columns),
            name => Err(invalid(format!("option \"{name}\" not recognized"))),
        }
    }

    fn set_encoding(&mut self, name: &str) -> Result<()> {
        if std::mem::replace(&mut self.has_encoding, true) {
            return Err(invalid("conflicting or redundant options"));
        }
        let is_utf8 = ["utf8", "utf-8", "unicode"].iter().any(|n| n.eq_ignore_ascii_case(name));
        if is_utf8 {
            return Ok(());
        }
        let message = format!("not supported: encoding \"{name}\"");
        Err(Error::new(ErrorKind::NotSupported, message).with_hint("Convert the file to UTF-8."))
    }

    /// Fills in the defaults and checks that the options go together.
    ///
    /// # Errors
    /// `InvalidOption`, `NotSupported`.
    pub fn build(self, direction: Direction) -> Result<CsvOptions> {
        let format = self.format.unwrap_or(TextFormat::Text);
        let is_csv = format == TextFormat::Csv;
        let csv_only = [
            ("QUOTE", self.quote.is_some()),
            ("ESCAPE", self.escape.is_some()),
            ("FORCE_QUOTE", self.force_quote.is_some()),
            ("FORCE_NOT_NULL", self.force_not_null.is_some()),
            ("FORCE_NULL", self.force_null.is_some()),
        ];
        if let Some((name, _)) = csv_only.iter().find(|(_, is_set)| *is_set && !is_csv) {
            let message = format!("COPY {name} requires CSV mode");
            return Err(Error::new(ErrorKind::NotSupported, message));
        }
        let delimiter = self.delimiter.unwrap_or(if is_csv { "," } else { "\t" }.to_owned());
        let delimiter = one_byte("delimiter", &delimiter)?;
        let quote = one_byte("quote", &self.quote.unwrap_or("\"".to_owned()))?;
        let escape = self.escape.map_or(Ok(quote), |text| one_byte("escape", &text))?;
        let options = CsvOptions {
            format,
            header: self.header.unwrap_or(Header::No),
            delimiter,
            quote,
            escape,
            null: self.null.unwrap_or(if is_csv { "" } else { "\\N" }.to_owned()),
            force_quote: self.force_quote.unwrap_or_default(),
            force_not_null: self.force_not_null.unwrap_or_default(),
            force_null: self.force_null.unwrap_or_default(),
        };
        options.validate(direction)?;
        Ok(options)
    }
}

fn format_named(name: &str) -> Result<TextFormat> {
    match name.to_ascii_lowercase().as_str() {
        "csv" => Ok(TextFormat::Csv),
        "text" => Ok(TextFormat::Text),
        "binary" => {
            Err(Error::new(ErrorKind::NotSupported, "not supported: COPY format \"binary\"")
                .with_hint("Use FORMAT csv or FORMAT text."))
        }
        _ => Err(invalid(format!("COPY format \"{name}\" not recognized"))),
    }
}

fn header_named(value: Option<&str>) -> Result<Header> {
    match value.map(str::to_ascii_lowercase).as_deref() {
        None | Some("true" | "on" | "1") => Ok(Header::Yes),
        Some("false" | "off" | "0") => Ok(Header::No),
        Some("match") => Ok(Header::Match),
        Some(_) => Err(invalid("header requires a Boolean value or \"match\"")),
    }
}

fn one_byte(what: &str, text: &str) -> Result<u8> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => {
            let message = format!("COPY {what} must be a single one-byte character");
            Err(Error::new(ErrorKind::NotSupported, message))
        }
    }
}

impl CsvOptions {
    /// Returns the defaults of `FORMAT text`.
    pub fn text() -> Self {
        Self {
            format: TextFormat::Text,
            delimiter: b'\t',
            null: "\\N".to_owned(),
            ..Self::default()
        }
    }

    /// Checks that the options go together, as PostgreSQL does before it opens the file.
    ///
    /// # Errors
    /// `InvalidOption`, `NotSupported`.
    pub fn validate(&self, direction: Direction) -> Result<()> {
        let is_csv = self.format == TextFormat::Csv;
        self.validate_bytes(is_csv)?;
        if self.null.bytes().any(|byte| matches!(byte, b'\r' | b'\n')) {
            let message = "COPY null representation cannot use newline or carriage return";
            return Err(invalid(message));
        }
        let null = self.null.as_bytes();
        if null.contains(&self.delimiter) {
            let message = "COPY delimiter character must not appear in the NULL specification";
            return Err(invalid(message));
        }
        if is_csv && null.contains(&self.quote) {
            let message = "CSV quote character must not appear in the NULL specification";
            return Err(invalid(message));
        }
        if direction == Direction::To && self.header == Header::Match {
            return Err(invalid("cannot use \"match\" with HEADER in COPY TO"));
        }
        let wrong_direction = match direction {
            Direction::From => [("FORCE_QUOTE", &self.force_quote, "COPY FROM")].to_vec(),
            Direction::To => [
                ("FORCE_NOT_NULL", &self.force_not_null, "COPY TO"),
                ("FORCE_NULL", &self.force_null, "COPY TO"),
            ]
            .to_vec(),
        };
        for (name, force, command) in wrong_direction {
            if *force != Force::None {
                return Err(invalid(format!("COPY {name} cannot be used with {command}")));
            }
        }
        Ok(())
    }

    fn validate_bytes(&self, is_csv: bool) -> Result<()> {
        let csv_bytes = [("quote", self.quote), ("escape", self.escape)];
        let used = if is_csv { &csv_bytes[..] } else { &[] };
        for &(what, byte) in [("delimiter", self.delimiter)].iter().chain(used) {
            if byte == 0 || !byte.is_ascii() {
                let message = format!("COPY {what} must be a single one-byte character");
                return Err(Error::new(ErrorKind::NotSupported, message));
            }
            if matches!(byte, b'\r' | b'\n') {
                let message = format!("COPY {what} cannot be newline or carriage return");
                return Err(invalid(message));
            }
        }
        let is_escape_code = matches!(
            self.delimiter, b'\\' | b'.' | b'a'..=b'z' | b'0'..=b'9'
        );
        if !is_csv && is_escape_code {
            let delimiter = char::from(self.delimiter);
            return Err(invalid(format!("COPY delimiter cannot be \"{delimiter}\"")));
        }
        if is_csv && self.delimiter == self.quote {
            return Err(invalid("COPY delimiter and quote must be different"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(direction: Direction, options: &[(&str, &str)]) -> Result<CsvOptions> {
        let mut builder = OptionsBuilder::default();
        for (name, value) in options {
            builder.set(name, Some(value))?;
        }
        builder.build(direction)
    }

    #[test]
    fn defaults_depend_on_the_format() {
        let csv = build(Direction::From, &[("format", "csv")]).unwrap();
        assert_eq!(csv, CsvOptions::default());
        assert_eq!(build(Direction::From, &[]).unwrap(), CsvOptions::text());
        let quoted = build(Direction::From, &[("quote", "'"), ("FORMAT", "CSV")]).unwrap();
        assert_eq!((quoted.quote, quoted.escape), (b'\'', b'\''));
    }

    #[test]
    fn header_takes_booleans_and_match() {
        for (value, header) in [
            ("true", Header::Yes),
            ("ON", Header::Yes),
            ("0", Header::No),
            ("match", Header::Match),
        ] {
            let options = build(Direction::From, &[("header", value)]).unwrap();
            assert_eq!(options.header, header);
        }
        let mut builder = OptionsBuilder::default();
        builder.set("header", None).unwrap();
        assert_eq!(builder.build(Direction::To).unwrap().header, Header::Yes);
    }

    #[test]
    fn contradictions_get_the_messages_of_postgres() {
        let csv = ("format", "csv");
        for (options, message) in [
            (vec![csv, ("delimiter", ";;")], "COPY delimiter must be a single one-byte character"),
            (vec![csv, ("quote", "")], "COPY quote must be a single one-byte character"),
            (vec![csv, ("escape", "\u{fc}")], "COPY escape must be a single one-byte character"),
            (vec![csv, ("delimiter", "\n")], "COPY delimiter cannot be newline or carriage return"),
            (vec![csv, ("delimiter", "\"")], "COPY delimiter and quote must be different"),
            (
                vec![csv, ("null", "a,b")],
                "COPY delimiter character must not appear in the NULL specification",
            ),
            (
                vec![csv, ("null", "\"")],
                "CSV quote character must not appear in the NULL specification",
            ),
            (
                vec![csv, ("null", "\n")],
                "COPY null representation cannot use newline or carriage return",
            ),
            (vec![("quote", "'")], "COPY QUOTE requires CSV mode"),
            (vec![("delimiter", "a")], "COPY delimiter cannot be \"a\""),
            (vec![csv, csv], "conflicting or redundant options"),
            (vec![("format", "xml")], "COPY format \"xml\" not recognized"),
            (vec![("format", "binary")], "not supported: COPY format \"binary\""),
            (vec![("header", "maybe")], "header requires a Boolean value or \"match\""),
            (vec![("encoding", "latin1")], "not supported: encoding \"latin1\""),
            (vec![("colour", "red")], "option \"colour\" not recognized"),
        ] {
            let error = build(Direction::From, &options).unwrap_err();
            assert_eq!(error.message(), message);
        }
        let error = build(Direction::To, &[csv, ("header", "match")]).unwrap_err();
        assert_eq!(error.message(), "cannot use \"match\" with HEADER in COPY TO");
    }

    #[test]
    fn force_options_have_a_direction() {
        for (name, direction, command) in [
            ("force_quote", Direction::From, "COPY FROM"),
            ("force_null", Direction::To, "COPY TO"),
            ("force_not_null", Direction::To, "COPY TO"),
        ] {
            let mut builder = OptionsBuilder::default();
            builder.set("format", Some("csv")).unwrap();
            builder.set_force(name, Force::All).unwrap();
            let error = builder.build(direction).unwrap_err();
            let name = name.to_uppercase();
            assert_eq!(error.message(), format!("COPY {name} cannot be used with {command}"));
        }
    }
}
