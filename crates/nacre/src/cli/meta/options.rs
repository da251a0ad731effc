//! Commands that change how answers look.

use super::parse::{Complaint, parse_switch, split_arguments};
use crate::cli::console::{Console, Flow};
use crate::cli::render::Mode;

/// `.mode`, and `\pset format`.
pub(super) fn mode(console: &mut Console, rest: &str) -> Result<Flow, Complaint> {
    if !rest.is_empty() {
        console.style.mode = rest.trim_end_matches(';').parse().map_err(Complaint::new)?;
    }
    Ok(announce(console, &format!("Output mode is {}.", console.style.mode)))
}

/// `\x`.
pub(super) fn expanded(console: &mut Console, rest: &str) -> Result<Flow, Complaint> {
    let is_on = parse_switch(rest, console.style.mode == Mode::Line)?;
    console.style.mode = if is_on { Mode::Line } else { Mode::Box };
    let state = if is_on { "on" } else { "off" };
    Ok(announce(console, &format!("Expanded display is {state}.")))
}

/// `.headers`, and `\t`, which is its contrary.
pub(super) fn headers(
    console: &mut Console,
    rest: &str,
    is_contrary: bool,
) -> Result<Flow, Complaint> {
    let is_on = parse_switch(rest, console.style.has_header != is_contrary)?;
    console.style.has_header = is_on != is_contrary;
    let what = if is_contrary { "Rows only" } else { "Names of columns" };
    Ok(announce(console, &format!("{what}: {}.", if is_on { "on" } else { "off" })))
}

/// `.nullvalue`, and `\pset null`.
pub(super) fn null_text(console: &mut Console, rest: &str) -> Result<Flow, Complaint> {
    let text = split_arguments(rest)?.pop().unwrap_or_default();
    let message = format!("NULL is shown as \"{text}\".");
    console.style.null = Some(text);
    Ok(announce(console, &message))
}

/// `\timing` and `.timer`.
pub(super) fn timing(console: &mut Console, rest: &str) -> Result<Flow, Complaint> {
    console.behaviour.has_timer = parse_switch(rest, console.behaviour.has_timer)?;
    let state = if console.behaviour.has_timer { "on" } else { "off" };
    Ok(announce(console, &format!("Timing is {state}.")))
}

/// `\pset`.
pub(super) fn option(console: &mut Console, rest: &str) -> Result<Flow, Complaint> {
    let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let value = value.trim();
    match name {
        "" => Ok(console.say(&format!(
            "format       {}\nnull         {}\ntuples_only  {}\ntiming       {}\n",
            console.style.mode,
            console
                .style
                .null
                .as_deref()
                .map_or("(the format's own)".to_owned(), |null| { format!("\"{null}\"") }),
            if console.style.has_header { "off" } else { "on" },
            if console.behaviour.has_timer { "on" } else { "off" },
        ))),
        "format" => mode(console, value),
        "null" => null_text(console, value),
        "tuples_only" | "t" => headers(console, value, true),
        "expanded" | "x" => expanded(console, value),
        other => Err(Complaint::new(format!("unknown option \"{other}\" of \\pset"))
            .with_hint("There are format, null, tuples_only and expanded.")),
    }
}

/// Tells a person what has changed; scripts know it.
fn announce(console: &Console, message: &str) -> Flow {
    if console.behaviour.is_interactive && !console.behaviour.is_quiet {
        return console.say(&format!("{message}\n"));
    }
    Flow::Continue
}
