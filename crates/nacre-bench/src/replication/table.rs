//! The tables: overhead by mechanism and update size, and the best of them next to the library.

use std::fmt::Write;

use super::library;
use super::measure::{Series, Spread, overhead_percent};
use super::options::{AccessPattern, PageSize, Variant, Workload};
use super::rounds::CellFigures;
use super::session::{Cell, Session, replicas_text};
use crate::error::Result;
use crate::report::Measurement;

const UNIT: &str = "M updates/s";

/// Columns of the first field of a line.
const NAME_COLUMNS: usize = 26;

/// Writes all figures of a cell into the report.
pub(super) fn report_cell(session: &mut Session, figures: &CellFigures) -> Result<()> {
    let cell = figures.cell;
    let name = session.choices.baseline.plain_name();
    let plain_id = cell.baseline().id(&name, &session.flush);
    let plain = Spread::of(&figures.plain.rates);
    add(session, plain_id.clone(), &figures.plain, None)?;
    for (variant, series) in &figures.variants {
        let id = cell.id(variant.name(), &session.flush);
        add(session, id, series, Some((plain_id.clone(), plain.median)))?;
    }
    let Some((library_plain, library)) = &figures.library else {
        return Ok(());
    };
    let library_plain_id = cell.baseline().id(library::NAME, &session.flush);
    let library_rate = Spread::of(&library_plain.rates).median;
    add(session, library_plain_id.clone(), library_plain, None)?;
    let library_id = cell.id(library::NAME, &session.flush);
    if !library.rates.is_empty() {
        let baseline = Some((library_plain_id.clone(), library_rate));
        add(session, library_id.clone(), library, baseline)?;
    }
    let against = |name: &str| format!("{name}-against-{}", library::NAME);
    let plain_against = cell.baseline().id(&against(&name), &session.flush);
    add_ratio(session, plain_against, plain.median, (library_plain_id.clone(), library_rate))?;
    if let Some(switched) = figures.rate_of(Variant::Switched) {
        let id = cell.id(&against("switched"), &session.flush);
        let library_replicated = Spread::of(&library.rates).median;
        add_ratio(session, id, switched, (library_id, library_replicated))?;
        let alone = format!("{}-without-replicas", against("switched"));
        let id = cell.id(&alone, &session.flush);
        add_ratio(session, id, switched, (library_plain_id, library_rate))?;
    }
    Ok(())
}

fn add(
    session: &mut Session,
    id: String,
    series: &Series,
    baseline: Option<(String, f64)>,
) -> Result<()> {
    let spread = Spread::of(&series.rates);
    let million = 1e-6;
    let mut measurement = Measurement::new(id, spread.median * million, UNIT)
        .between(spread.min * million, spread.max * million)
        .emulated(session.is_emulated);
    if let Some((name, rate)) = baseline {
        let ratio = 1.0 / Spread::of(&series.slowdowns).median;
        measurement = measurement.against(name, rate * million).paired(ratio);
    }
    session.report.add(&measurement)
}

fn add_ratio(
    session: &mut Session,
    id: String,
    rate: f64,
    (name, baseline): (String, f64),
) -> Result<()> {
    let measurement = Measurement::new(id, rate * 1e-6, UNIT)
        .against(name, baseline * 1e-6)
        .emulated(session.is_emulated);
    session.report.add(&measurement)
}

impl CellFigures {
    fn rate_of(&self, wanted: Variant) -> Option<f64> {
        Some(Spread::of(&self.series_of(wanted)?.rates).median)
    }
}

/// Prints the tables of one workload and page size: for each access pattern one of all mechanisms
/// for each number of replicas, then the summary.
pub(super) fn print(
    session: &Session,
    workload: Workload,
    pages: PageSize,
    all: &[CellFigures],
) -> Result<()> {
    for access in &session.choices.accesses {
        let figures: Vec<_> = all.iter().filter(|one| one.cell.access == *access).collect();
        let title = title(workload, *access, pages, session.is_emulated);
        for replicas in &session.choices.replicas {
            let row: Vec<_> =
                figures.iter().copied().filter(|one| one.cell.replicas == *replicas).collect();
            session.line(format_args!("\n{title}, {}", replicas_text(*replicas)))?;
            session.line(mechanisms(&row))?;
        }
        session.line(format_args!("\n{title}: overhead in % of the time without replicas"))?;
        session.line(summary(&figures, &session.choices.replicas))?;
    }
    Ok(())
}

fn title(workload: Workload, access: AccessPattern, pages: PageSize, is_emulated: bool) -> String {
    let emulated = if is_emulated { ", emulated persistence" } else { "" };
    format!("{}, {}, {pages}{emulated}", workload.name(), access.name())
}

/// One line for each contestant, one column for each update size.
fn mechanisms(row: &[&CellFigures]) -> String {
    let mut text = String::new();
    let sizes = row.iter().map(|one| one.cell.update_bytes).map(size_text);
    line(&mut text, "update", sizes);
    let rate = |series: &Series| format!("{:.3}", Spread::of(&series.rates).median * 1e-6);
    line(&mut text, "none, M updates/s", row.iter().map(|one| rate(&one.plain)));
    let noise = |series: &Series| format!("{:.1}", Spread::of(&series.rates).noise_percent());
    line(&mut text, "  its noise, +/- %", row.iter().map(|one| noise(&one.plain)));
    let variants = row.first().map_or(&[][..], |one| &one.variants);
    for (variant, _) in variants {
        let overheads =
            row.iter().map(|one| one.series_of(*variant).map_or(String::new(), overhead));
        line(&mut text, variant.name(), overheads);
    }
    let switched = |one: &&CellFigures| {
        one.switched().map_or(String::new(), |spread| format!("{:.1}", spread.noise_percent()))
    };
    if variants.iter().any(|(variant, _)| *variant == Variant::Switched) {
        line(&mut text, "  noise of switched, +/- %", row.iter().map(switched));
    }
    if row.iter().any(|one| one.library.is_some()) {
        let plain = |one: &&CellFigures| {
            one.library.as_ref().map_or(String::new(), |(plain, _)| rate(plain))
        };
        line(&mut text, "libpmemobj none, M/s", row.iter().map(plain));
        let replicated = |one: &&CellFigures| {
            one.library.as_ref().map_or(String::new(), |(_, one)| overhead(one))
        };
        line(&mut text, library::NAME, row.iter().map(replicated));
    }
    text.pop();
    text
}

/// One line for each update size: the best static mechanism, the switched run, the library.
fn summary(figures: &[&CellFigures], replicas: &[usize]) -> String {
    let mut sizes: Vec<usize> = figures.iter().map(|one| one.cell.update_bytes).collect();
    sizes.dedup();
    sizes.sort_unstable();
    sizes.dedup();
    let joined = |size: usize, of: &dyn Fn(&CellFigures) -> String| {
        let cells = replicas.iter().filter_map(|replicas| {
            let is_it = |cell: &Cell| cell.update_bytes == size && cell.replicas == *replicas;
            figures.iter().find(|one| is_it(&one.cell)).map(|one| of(one))
        });
        cells.collect::<Vec<_>>().join(" / ")
    };
    let mut text = String::new();
    let heading = ["update", "switched", "libpmemobj", "switched : libpmemobj", "best static"];
    push_summary(&mut text, heading.map(String::from));
    for size in sizes {
        push_summary(
            &mut text,
            [
                size_text(size),
                joined(size, &|one| {
                    one.switched().map_or("-".into(), |spread| percent(spread.median))
                }),
                joined(size, &|one| {
                    one.library.as_ref().map_or("-".into(), |(_, one)| overhead(one))
                }),
                joined(size, &|one| {
                    one.against_library().map_or("-".into(), |ratio| format!("{ratio:.1}"))
                }),
                joined(size, &|one| {
                    one.best_statics().first().map_or("-".into(), |(variant, spread)| {
                        format!("{} {}", percent(spread.median), variant.name())
                    })
                }),
            ],
        );
    }
    text.pop();
    text
}

impl CellFigures {
    /// Returns how many times faster than the library the switched run is, both with replicas.
    fn against_library(&self) -> Option<f64> {
        let (_, library) = self.library.as_ref()?;
        let rate = Spread::of(&library.rates).median;
        (rate > 0.0).then_some(self.rate_of(Variant::Switched)? / rate)
    }
}

fn push_summary(text: &mut String, [size, switched, library, ratio, best]: [String; 5]) {
    let _ = writeln!(text, "   {size:<7} {switched:<18} {library:<18} {ratio:<21}  {best}");
}

fn line(text: &mut String, name: &str, cells: impl Iterator<Item = String>) {
    let _ = write!(text, "   {name:<NAME_COLUMNS$}");
    for cell in cells {
        let _ = write!(text, " {cell:>6}");
    }
    text.push('\n');
}

fn overhead(series: &Series) -> String {
    if series.slowdowns.is_empty() {
        return "-".to_owned();
    }
    percent(Spread::of(&series.slowdowns).median)
}

fn percent(slowdown: f64) -> String {
    format!("{:.0}", overhead_percent(slowdown))
}

fn size_text(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        _ if bytes.is_multiple_of(1024) => format!("{} K", bytes / 1024),
        _ => bytes.to_string(),
    }
}
