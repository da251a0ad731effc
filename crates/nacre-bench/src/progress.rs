//! Lines on stderr that show how far a load or a series of measurements is.

use std::future::Future;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nacre_ingest::Progress;

use crate::format;

/// Time between two updates; slow enough to read, fast enough to look alive.
const PERIOD: Duration = Duration::from_millis(100);

/// Columns of the bar.
const BAR_COLUMNS: usize = 24;

/// Runs a load while drawing its progress. The load gets the counters to update.
pub(crate) async fn watch<F, Fut>(title: &str, load: F) -> Fut::Output
where
    F: FnOnce(Arc<Progress>) -> Fut,
    Fut: Future,
{
    let progress = Arc::new(Progress::default());
    let load = load(Arc::clone(&progress));
    if !std::io::stderr().is_terminal() {
        return load.await;
    }
    let start = Instant::now();
    let mut ticks = tokio::time::interval(PERIOD);
    let mut load = std::pin::pin!(load);
    loop {
        tokio::select! {
            output = &mut load => {
                show("\r\x1b[K");
                return output;
            }
            _ = ticks.tick() => {
                // ORDERING: figures to look at; nothing else depends on them.
                let done = progress.bytes_done.load(Ordering::Relaxed);
                let total = progress.bytes_total.load(Ordering::Relaxed);
                show(&line(title, done, total, start.elapsed()));
            }
        }
    }
}

/// How many steps of a known number are done, on a line of standard error.
pub(crate) struct Steps {
    total: usize,
    done: usize,
    start: Instant,
    shown: Instant,
    is_terminal: bool,
}

impl Steps {
    /// Starts to count to `total`.
    pub(crate) fn new(total: usize) -> Self {
        let start = Instant::now();
        Self { total, done: 0, start, shown: start, is_terminal: std::io::stderr().is_terminal() }
    }

    /// Says what is done next, on a line of its own if nobody watches.
    pub(crate) fn begin(&mut self, what: &str) {
        let line = self.line(what);
        show(&if self.is_terminal { format!("\r\x1b[K{line}") } else { format!("{line}\n") });
    }

    /// Counts a step.
    pub(crate) fn advance(&mut self, what: &str) {
        self.done += 1;
        if self.is_terminal && self.shown.elapsed() > PERIOD * 2 {
            self.shown = Instant::now();
            show(&format!("\r\x1b[K{}", self.line(what)));
        }
    }

    /// Removes the line, before something else is printed.
    pub(crate) fn clear(&self) {
        if self.is_terminal {
            show("\r\x1b[K");
        }
    }

    fn line(&self, what: &str) -> String {
        let share = self.done as f64 / self.total.max(1) as f64;
        let elapsed = self.start.elapsed().as_secs_f64();
        let left = if self.done == 0 { 0.0 } else { elapsed * (1.0 - share) / share };
        let percent = share * 100.0;
        format!("{percent:5.1} %  {what}  {elapsed:.0} s, about {left:.0} s left")
    }
}

fn line(title: &str, done: u64, total: u64, time: Duration) -> String {
    let share = if total == 0 { 0.0 } else { (done as f64 / total as f64).min(1.0) };
    let filled = (share * BAR_COLUMNS as f64) as usize;
    let bar = format!("{}{}", "=".repeat(filled), " ".repeat(BAR_COLUMNS - filled));
    let rate = format::megabytes_per_second(done, time);
    format!("\r\x1b[K   {title:<10} [{bar}] {:3.0} %  {rate} MB/s", share * 100.0)
}

fn show(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // Nothing is lost if the terminal is gone.
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_shows_share_and_rate_and_survives_an_unknown_total() {
        let second = Duration::from_secs(1);
        let half = line("orders", 50_000_000, 100_000_000, second);
        assert!(half.contains("[============            ]  50 %  50 MB/s"), "{half}");
        assert!(line("orders", 0, 0, Duration::ZERO).contains("  0 %"));
        assert!(line("orders", 9, 3, second).contains("100 %"));
    }
}
