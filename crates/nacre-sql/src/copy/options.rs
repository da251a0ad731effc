//! The options of `COPY`, handed to the loader's own checks.

use nacre_ingest::{CsvOptions, Direction, Force, OptionsBuilder};

use super::statement::{CopyOption, OptionValue};
use crate::error::{Error, ErrorKind, Result};
use crate::from_ingest::from_ingest;

/// Checks `options` and fills in the defaults.
pub(super) fn build(options: &[CopyOption], direction: Direction) -> Result<CsvOptions> {
    let mut builder = OptionsBuilder::default();
    let mut is_frozen = None;
    for option in options {
        let name = option.name.as_str();
        if name == "freeze" {
            let frozen = freeze(option).map_err(|e| e.with_position(option.position))?;
            if is_frozen.replace(frozen).is_some() {
                let error = Error::new(ErrorKind::Syntax, "conflicting or redundant options");
                return Err(error.with_position(option.position));
            }
            continue;
        }
        let is_force = name.starts_with("force_");
        let set = match &option.value {
            OptionValue::None => builder.set(name, None),
            OptionValue::Text(text) => builder.set(name, Some(text)),
            OptionValue::Columns(columns) if is_force => {
                builder.set_force(name, Force::Columns(columns.clone()))
            }
            OptionValue::Star if is_force => builder.set_force(name, Force::All),
            OptionValue::Columns(_) | OptionValue::Star => {
                let message = format!("argument to option \"{name}\" must be a single value");
                return Err(
                    Error::new(ErrorKind::InvalidStatement, message).with_position(option.position)
                );
            }
        };
        set.map_err(|error| from_ingest(error).with_position(option.position))?;
    }
    builder.build(direction).map_err(from_ingest)
}

/// Checks the option FREEZE, which asks for what a load does anyway: its rows are frozen.
fn freeze(option: &CopyOption) -> Result<bool> {
    let is_on = match &option.value {
        OptionValue::None => Some(true),
        OptionValue::Text(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => Some(true),
            "false" | "off" | "0" => Some(false),
            _ => None,
        },
        OptionValue::Columns(_) | OptionValue::Star => None,
    };
    is_on.ok_or_else(|| Error::new(ErrorKind::Syntax, "freeze requires a Boolean value"))
}
