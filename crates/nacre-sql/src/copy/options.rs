//! The options of `COPY`, handed to the loader's own checks.

use nacre_ingest::{CsvOptions, Direction, Force, OptionsBuilder};

use super::statement::{CopyOption, OptionValue};
use crate::error::{Error, ErrorKind, Result};
use crate::from_ingest::from_ingest;

/// Checks `options` and fills in the defaults.
pub(super) fn build(options: &[CopyOption], direction: Direction) -> Result<CsvOptions> {
    let mut builder = OptionsBuilder::default();
    for option in options {
        let name = option.name.as_str();
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
