//! What an exploration found.

use std::fmt;
use std::time::Duration;

use super::media::Media;
use super::pick::Image;
use super::trace::Trace;
use crate::flush::CACHE_LINE_BYTES;

/// Last events before a crash that are printed.
const EVENTS_MAX: usize = 32;

/// Lines of an image that are printed.
const LINES_MAX: usize = 24;

/// What setup, workload and check return; an error of a check is a violation.
pub type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// An exploration without violation.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Events recorded from the workload.
    pub events: usize,
    /// Crash points explored.
    pub points: usize,
    /// Different images checked, by crash point and what was promised there.
    pub images: usize,
    /// Of those, images of a crash during the recovery from another one.
    pub nested_images: usize,
    /// Time that it took.
    pub elapsed: Duration,
}

impl Report {
    /// Adds another exploration.
    pub fn add(&mut self, other: &Report) {
        self.events += other.events;
        self.points += other.points;
        self.images += other.images;
        self.nested_images += other.nested_images;
        self.elapsed += other.elapsed;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.images as f64 / self.elapsed.as_secs_f64().max(1e-9);
        write!(
            f,
            "{} images, {} of them in recovery, {rate:.0} images/s; {} crash points, {} events",
            self.images, self.nested_images, self.points, self.events
        )
    }
}

/// An image that the check refused, and how to get it again.
#[derive(Clone)]
pub struct Violation {
    /// Name of the explorer.
    pub structure: String,
    /// Seed of the explorer.
    pub seed: u64,
    /// Number of events before the crash; the second one is of the trace of the recovery.
    pub crash_points: Vec<usize>,
    /// What the check said.
    pub problem: String,
    /// The last events before the crash, and what became of each open line.
    pub image: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { structure, seed, crash_points, problem, image } = self;
        writeln!(f, "{structure}: {problem}")?;
        writeln!(f, "crash after event {crash_points:?}, seed {seed}\n{image}")?;
        let point = crash_points.first().copied().unwrap_or(0);
        write!(f, "replay: NACRE_TEST_SEED={seed} NACRE_TEST_POINT={point} cargo test --test sim")
    }
}

impl fmt::Debug for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Violation {}

/// Describes the end of a trace and the state of the open lines.
pub(super) fn describe(media: &Media, image: &Image, trace: &Trace, point: usize) -> String {
    let mut text = String::new();
    for (number, event) in trace.events[..point].iter().enumerate().rev().take(EVENTS_MAX).rev() {
        text += &format!("  event {number}: {event:?}\n");
    }
    for (id, bytes) in image.lines.iter().take(LINES_MAX) {
        let Some(line) = media.open.get(id) else {
            continue;
        };
        let state = match bytes {
            _ if *bytes == line.whole() => "persisted",
            _ if *bytes == line.lost() => "lost",
            _ => "partly persisted",
        };
        text += &format!("  file {} line at {}: {state}\n", id.0, id.1 as usize * CACHE_LINE_BYTES);
    }
    if image.lines.len() > LINES_MAX {
        text += &format!("  and {} more lines\n", image.lines.len() - LINES_MAX);
    }
    for (index, (domain, count)) in media.domains.iter().zip(&image.names).enumerate() {
        if *count < domain.pending.len() {
            let lost = &domain.pending[*count..];
            text += &format!("  domain {index} lost changes of names: {lost:?}\n");
        }
    }
    text
}
