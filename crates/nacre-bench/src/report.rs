//! How measurements are written down: a table for people, one JSON object a line for programs.
//!
//! An id reads `<operation>/<structure>/<flavour>/<parameter>=<value>`, where the parameters may be
//! several, apart by commas, such as `query/tpch-q06/nacre/sf=1,threads=2`.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::error::{Error, Result};

/// Standard output; a reader that closes the pipe is an error, not a panic.
#[derive(Clone, Copy, Default)]
pub(crate) struct Console;

/// One measured value.
#[derive(Clone, Debug)]
pub struct Measurement {
    pub id: String,
    pub value: f64,
    pub unit: &'static str,
    /// What the value is compared with, measured in the same run.
    pub baseline: Option<Baseline>,
    /// Smallest and largest value of the repetitions.
    pub extremes: Option<(f64, f64)>,
    /// Ratio that was found in pairs of neighbouring runs, instead of value by baseline.
    pub paired_ratio: Option<f64>,
    /// Whether the data lay in a domain that only imitates durability.
    pub is_emulated: bool,
}

/// What a value is compared with.
#[derive(Clone, Debug)]
pub struct Baseline {
    pub name: String,
    pub value: f64,
}

/// Collects measurements and writes them as JSON lines if a file is wanted.
pub struct Report {
    json: Option<(PathBuf, File)>,
}

impl Console {
    /// Prints a line.
    pub(crate) fn line(self, text: impl Display) -> Result<()> {
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{text}")
            .and_then(|()| stdout.flush())
            .map_err(|source| Error::Io { action: "write to standard output".into(), source })
    }
}

impl Measurement {
    /// Makes a measurement without a baseline.
    pub fn new(id: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self {
            id: id.into(),
            value,
            unit,
            baseline: None,
            extremes: None,
            paired_ratio: None,
            is_emulated: false,
        }
    }

    /// Adds the baseline, in the same unit.
    #[must_use]
    pub fn against(mut self, name: impl Into<String>, value: f64) -> Self {
        self.baseline = Some(Baseline { name: name.into(), value });
        self
    }

    /// Adds the smallest and the largest value of the repetitions.
    #[must_use]
    pub fn between(mut self, min: f64, max: f64) -> Self {
        self.extremes = Some((min, max));
        self
    }

    /// Replaces the ratio by one of neighbouring runs.
    #[must_use]
    pub fn paired(mut self, ratio: f64) -> Self {
        self.paired_ratio = Some(ratio);
        self
    }

    /// Says whether durability was only imitated.
    #[must_use]
    pub fn emulated(mut self, is_emulated: bool) -> Self {
        self.is_emulated = is_emulated;
        self
    }

    /// Returns the paired ratio, or value divided by baseline; none without one or if it is 0.
    pub fn ratio(&self) -> Option<f64> {
        if self.paired_ratio.is_some() {
            return self.paired_ratio;
        }
        let baseline = self.baseline.as_ref()?.value;
        (baseline != 0.0).then(|| self.value / baseline)
    }

    /// Returns the measurement as one line of JSON.
    pub fn to_json(&self) -> String {
        let baseline = self.baseline.as_ref();
        let mut object = json!({
            "id": self.id,
            "value": self.value,
            "unit": self.unit,
            "baseline": baseline.map(|base| json!({ "name": base.name, "value": base.value })),
            "ratio": self.ratio(),
            "emulated": self.is_emulated,
        });
        if let Some((min, max)) = self.extremes {
            object["min"] = json!(min);
            object["max"] = json!(max);
        }
        object.to_string()
    }
}

impl Report {
    /// Makes a report; the JSON file is created, or emptied, now, so that a bad path is told early.
    pub fn create(json: Option<&Path>) -> Result<Self> {
        let open = |path: &Path| -> Result<_> {
            let file = File::create(path).map_err(Error::io("create", path))?;
            Ok((path.to_path_buf(), file))
        };
        Ok(Self { json: json.map(open).transpose()? })
    }

    /// Writes a measurement.
    pub fn add(&mut self, measurement: &Measurement) -> Result<()> {
        let Some((path, file)) = &mut self.json else {
            return Ok(());
        };
        writeln!(file, "{}", measurement.to_json()).map_err(Error::io("write", path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurement_is_one_json_object_on_one_line() {
        let measurement = Measurement::new("open/count/nacre/sf=1", 12.0, "ms")
            .against("open/count/nacre/sf=0.1", 8.0)
            .emulated(true);
        let line = measurement.to_json();
        assert!(!line.contains('\n'));
        let expected = json!({
            "id": "open/count/nacre/sf=1",
            "value": 12.0,
            "unit": "ms",
            "baseline": { "name": "open/count/nacre/sf=0.1", "value": 8.0 },
            "ratio": 1.5,
            "emulated": true,
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), expected);
        let alone = Measurement::new("a", 1.0, "ms").to_json();
        assert!(alone.contains(r#""baseline":null"#) && alone.contains(r#""ratio":null"#));
    }

    #[test]
    fn report_writes_a_line_for_each_measurement_and_names_a_bad_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        let mut report = Report::create(Some(&path)).unwrap();
        report.add(&Measurement::new("a", 1.0, "ms")).unwrap();
        report.add(&Measurement::new("b", 2.0, "ms")).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
        let error = Report::create(Some(Path::new("/nowhere/x"))).err().unwrap();
        assert!(error.to_string().starts_with("cannot create /nowhere/x: "));
    }
}
