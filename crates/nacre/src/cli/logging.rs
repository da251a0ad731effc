//! What the server logs, and how: events of `tracing`, to standard error, as text or as an object
//! of JSON a line.
//!
//! Texts of clients are values of fields, which both formats write with their control characters
//! escaped: a client cannot forge a line.

use std::fmt;
use std::io;

use nacre_sql::{Error, ErrorKind, Result};
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, Layer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::{LookupSpan, Registry};

/// Variable of the environment with the levels, which the option overrules.
const LEVELS_VARIABLE: &str = "NACRE_LOG";

/// What a line of the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogFormat {
    /// Time, level, message and fields.
    Text,
    /// An object: `timestamp`, `level`, `target`, `message` and the fields.
    Json,
}

/// Logs from now on.
///
/// # Errors
/// [`ErrorKind::Open`] if `NACRE_LOG` is no levels.
pub(super) fn begin(levels: Option<Targets>, format: LogFormat) -> Result<()> {
    let levels = match (levels, std::env::var(LEVELS_VARIABLE)) {
        (Some(levels), _) => levels,
        (None, Ok(text)) if !text.is_empty() => parse_levels(&text).map_err(|error| {
            Error::new(ErrorKind::Open, format!("setting {LEVELS_VARIABLE}: {error}"))
        })?,
        (None, _) => Targets::new().with_default(LevelFilter::INFO),
    };
    // A line that cannot be written is lost; to print that would fail, too.
    let lines = Layer::default().with_ansi(false).log_internal_errors(false);
    let lines = lines.with_writer(io::stderr);
    // Somebody who logs already, such as a program around this one, goes on doing so.
    let _ = match format {
        LogFormat::Text => {
            let lines = lines.with_target(false);
            tracing::subscriber::set_global_default(Registry::default().with(levels).with(lines))
        }
        LogFormat::Json => {
            let lines = lines.event_format(JsonLines);
            tracing::subscriber::set_global_default(Registry::default().with(levels).with(lines))
        }
    };
    Ok(())
}

/// Reads a level for all, and levels of parts of the program: `info,nacre_server=debug`.
///
/// # Errors
/// Says which word is none.
pub(super) fn parse_levels(text: &str) -> std::result::Result<Targets, String> {
    let mut levels = Targets::new().with_default(LevelFilter::INFO);
    for word in text.split(',').map(str::trim) {
        let (target, level) = match word.split_once('=') {
            Some((target, level)) => (Some(target), level),
            None => (None, word),
        };
        let Some(level) = level_named(level) else {
            return Err(format!("{level:?} is none of off, error, warn, info, debug and trace"));
        };
        levels = match target {
            Some(target) => levels.with_target(target, level),
            None => levels.with_default(level),
        };
    }
    Ok(levels)
}

fn level_named(name: &str) -> Option<LevelFilter> {
    Some(match name {
        "off" => LevelFilter::OFF,
        "error" => LevelFilter::ERROR,
        "warn" => LevelFilter::WARN,
        "info" => LevelFilter::INFO,
        "debug" => LevelFilter::DEBUG,
        "trace" => LevelFilter::TRACE,
        _ => return None,
    })
}

/// Reads the name of a format.
///
/// # Errors
/// Says which names there are.
pub(super) fn parse_format(text: &str) -> std::result::Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("it is neither text nor json".to_owned()),
    }
}

/// Writes events as JSON.
struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut timestamp = String::new();
        SystemTime.format_time(&mut Writer::new(&mut timestamp))?;
        let mut object = JsonObject::default();
        object.put("timestamp", timestamp);
        object.put("level", event.metadata().level().as_str());
        object.put("target", event.metadata().target());
        event.record(&mut object);
        writeln!(writer, "{}", Value::Object(object.0))
    }
}

#[derive(Default)]
struct JsonObject(Map<String, Value>);

impl JsonObject {
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }
}

impl Visit for JsonObject {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field.name(), format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_of_all_or_of_a_part() {
        let read = |text| parse_levels(text);
        let of_server = |text, level| read(text).unwrap().would_enable("nacre_server", level);
        assert!(of_server("info", &tracing::Level::INFO));
        assert!(!of_server("info", &tracing::Level::DEBUG));
        assert!(of_server("warn, nacre_server=debug", &tracing::Level::DEBUG));
        assert!(!of_server("off", &tracing::Level::ERROR));
        assert!(read("loud").unwrap_err().contains("\"loud\""));
        assert!(read("a=").is_err() && read("").is_err());
    }
}
