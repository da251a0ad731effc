//! The table of commands, and a line cut into a command and its arguments.

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ChangeDirectory,
    Connection,
    Copy,
    Databases,
    Describe,
    Echo,
    Edit,
    Execute,
    ExecuteExpanded,
    Expanded,
    Headers,
    Help,
    Import,
    Include,
    Mode,
    NullText,
    Option,
    Output,
    PrintBuffer,
    Privileges,
    Quit,
    ResetBuffer,
    Roles,
    Schema,
    SqlHelp,
    TableNames,
    Tables,
    Timing,
    TuplesOnly,
}

/// A command of the shell.
pub(crate) struct Command {
    /// All spellings, the one to show first.
    pub(crate) names: &'static [&'static str],
    pub(crate) arguments: &'static str,
    pub(crate) help: &'static str,
    pub(crate) kind: Kind,
}

/// Every command, in the order of the help text.
pub(crate) const COMMANDS: &[Command] = &[
    entry(&["\\?", ".help"], "", "this list", Kind::Help),
    entry(&["\\h", "\\help"], "[COMMAND]", "SQL commands and their syntax", Kind::SqlHelp),
    entry(&["\\q", "\\quit", ".quit", ".exit"], "", "end the shell or the script", Kind::Quit),
    entry(
        &["\\d", "\\d+"],
        "[TABLE]",
        "columns and keys of a table, or all tables",
        Kind::Describe,
    ),
    entry(&["\\dt", "\\dt+"], "[PATTERN]", "tables with their rows and bytes", Kind::Tables),
    entry(&[".tables"], "[PATTERN]", "names of tables, one a line", Kind::TableNames),
    entry(&[".schema"], "[TABLE]", "CREATE TABLE statements", Kind::Schema),
    entry(&["\\l", "\\l+", ".databases"], "", "the database and its domains", Kind::Databases),
    entry(&["\\du", "\\du+", "\\dg", "\\dg+"], "[PATTERN]", "roles", Kind::Roles),
    entry(
        &["\\dp", "\\z"],
        "[PATTERN]",
        "who may do what with tables, views and sequences",
        Kind::Privileges,
    ),
    entry(&["\\conninfo"], "", "which database this is", Kind::Connection),
    entry(&["\\i", "\\include", ".read"], "FILE", "run a script", Kind::Include),
    entry(&["\\copy"], "...", "COPY with a file name that needs no quotes", Kind::Copy),
    entry(
        &[".import"],
        "FILE TABLE",
        "load a CSV file, creating the table if absent",
        Kind::Import,
    ),
    entry(&["\\o", "\\out", ".output"], "[FILE]", "send answers to a file, or back", Kind::Output),
    entry(&["\\e", "\\edit"], "", "edit the statement with $EDITOR and run it", Kind::Edit),
    entry(&["\\g"], "", "run the statement, or the last one again", Kind::Execute),
    entry(&["\\gx"], "", "the same, one value a line", Kind::ExecuteExpanded),
    entry(&["\\p", "\\print"], "", "show the statement typed so far", Kind::PrintBuffer),
    entry(&["\\r", "\\reset"], "", "forget the statement typed so far", Kind::ResetBuffer),
    entry(&["\\timing", ".timer"], "[on|off]", "time of each statement", Kind::Timing),
    entry(&["\\x"], "[on|off]", "one value a line", Kind::Expanded),
    entry(&["\\t"], "[on|off]", "rows only, no names and counts", Kind::TuplesOnly),
    entry(&[".mode"], "[MODE]", "box csv json jsonlines line list markdown", Kind::Mode),
    entry(&[".headers", ".header"], "[on|off]", "names of columns", Kind::Headers),
    entry(&[".nullvalue"], "TEXT", "text for NULL", Kind::NullText),
    entry(&["\\pset"], "[NAME [VALUE]]", "format, null, tuples_only, expanded", Kind::Option),
    entry(&["\\echo", "\\qecho", ".print"], "TEXT", "print a text", Kind::Echo),
    entry(&["\\cd", ".cd"], "[DIR]", "change the working directory", Kind::ChangeDirectory),
];

const fn entry(
    names: &'static [&'static str],
    arguments: &'static str,
    help: &'static str,
    kind: Kind,
) -> Command {
    Command { names, arguments, help, kind }
}

/// A complaint about a command, and what to do instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Complaint {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Cuts a line into its command and the text after it.
pub(crate) fn parse_line(line: &str) -> Result<(&'static Command, &str), Complaint> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    // `\q;` and `\dt;` are what hands type.
    let name = name.trim_end_matches(';');
    let rest = rest.trim();
    match COMMANDS.iter().find(|command| command.names.contains(&name)) {
        Some(command) => Ok((command, rest)),
        None => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> Complaint {
    let help = if name.starts_with('.') { ".help" } else { "\\?" };
    let bare = |name: &str| name.trim_start_matches(['\\', '.']).to_lowercase();
    let wanted = bare(name);
    let names = || COMMANDS.iter().flat_map(|command| command.names).copied();
    let similar = names()
        .find(|known| bare(known) == wanted)
        .or_else(|| names().find(|known| wanted.len() > 2 && bare(known).starts_with(&wanted)))
        .or_else(|| {
            names().find(|known| bare(known).len() > 2 && wanted.starts_with(&bare(known)))
        });
    let hint = match similar {
        Some(similar) => format!("Did you mean {similar}? {help} lists the commands."),
        None => format!("{help} lists the commands."),
    };
    Complaint::new(format!("unknown command {name}")).with_hint(hint)
}

/// Cuts arguments at white space; quotes of either kind keep theirs, a doubled one is itself.
pub(crate) fn split_arguments(rest: &str) -> Result<Vec<String>, Complaint> {
    let mut arguments = Vec::new();
    let mut chars = rest.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return Ok(arguments);
        }
        let mut argument = String::new();
        while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
            if c != '\'' && c != '"' {
                argument.push(c);
                continue;
            }
            loop {
                match chars.next() {
                    Some(inner) if inner == c && chars.peek() == Some(&c) => {
                        chars.next();
                        argument.push(c);
                    }
                    Some(inner) if inner == c => break,
                    Some(inner) => argument.push(inner),
                    None => {
                        return Err(Complaint::new(format!("the quote {c} is not closed: {rest}")));
                    }
                }
            }
        }
        arguments.push(argument);
    }
}

/// Reads a switch: `on`, `off`, or nothing to turn it.
pub(crate) fn parse_switch(rest: &str, now: bool) -> Result<bool, Complaint> {
    match rest.trim_end_matches(';').to_ascii_lowercase().as_str() {
        "" => Ok(!now),
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        other => Err(Complaint::new(format!("\"{other}\" is neither on nor off"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_families_are_known() {
        for (line, kind) in [
            ("\\d lineitem", Kind::Describe),
            ("\\dt", Kind::Tables),
            ("\\q;", Kind::Quit),
            (".exit", Kind::Quit),
            (".tables", Kind::TableNames),
            (".timer on", Kind::Timing),
            ("\\i  'a b.sql'", Kind::Include),
            ("\\?", Kind::Help),
        ] {
            assert_eq!(parse_line(line).unwrap().0.kind, kind, "{line}");
        }
        assert_eq!(parse_line("\\d  lineitem ").unwrap().1, "lineitem");
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> =
            COMMANDS.iter().flat_map(|command| command.names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn unknown_commands_get_a_hint() {
        let hint = |line: &str| parse_line(line).err().unwrap().hint.unwrap();
        assert!(hint("\\tables").contains(".tables"));
        assert!(hint(".q").contains("\\q"));
        assert!(hint("\\foo").contains("\\?"));
        assert!(hint(".foo").contains(".help"));
        let complaint = parse_line("\\frobnicate x").err().unwrap();
        assert_eq!(complaint.message, "unknown command \\frobnicate");
    }

    #[test]
    fn quotes_keep_blanks_in_arguments() {
        let split = |rest| split_arguments(rest).unwrap();
        assert_eq!(split(" a  'b c' \"d\"\"e\" f'g'h ''"), ["a", "b c", "d\"e", "fgh", ""]);
        assert_eq!(split(""), [""; 0]);
        assert!(split_arguments("'a").is_err());
    }

    #[test]
    fn switches_turn_without_an_argument() {
        assert_eq!(parse_switch("", true), Ok(false));
        assert_eq!(parse_switch("ON", false), Ok(true));
        assert!(parse_switch("maybe", false).is_err());
    }
}
