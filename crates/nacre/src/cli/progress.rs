//! The progress bar of a load or of upkeep, on standard error.

use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nacre_ingest::Progress;

/// How often a load is looked at.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);
/// Work shorter than this shows no bar: it would only flicker.
const DELAY: Duration = Duration::from_millis(300);

/// Shows how far something is; erased when dropped.
pub(crate) struct Bar {
    started: Instant,
    bar: Option<ProgressBar>,
    is_wanted: bool,
}

impl Bar {
    /// Prepares a bar that is shown only if `is_wanted` and standard error is a terminal.
    pub(crate) fn new(is_wanted: bool) -> Self {
        let is_wanted = is_wanted && std::io::stderr().is_terminal();
        Self { started: Instant::now(), bar: None, is_wanted }
    }

    /// Draws what a load has done by now.
    pub(crate) fn update_load(&mut self, progress: &Progress) {
        // ORDERING: figures for the eye, see `Progress`.
        let total = progress.bytes_total.load(Ordering::Relaxed);
        self.update(progress.bytes_done.load(Ordering::Relaxed), total);
    }

    /// Draws that `done` of `total` bytes are done.
    pub(crate) fn update(&mut self, done: u64, total: u64) {
        let elapsed = self.started.elapsed();
        if !self.is_wanted || total == 0 || elapsed < DELAY {
            return;
        }
        let done = done.min(total);
        let bar = self.bar.get_or_insert_with(|| new_bar(total));
        bar.set_length(total);
        bar.set_message(figures(done, total, elapsed));
        bar.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn new_bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("[{bar:32}] {percent:>3}%  {msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// Writes `412 of 759 MB, 380 MB/s, 1 s left`; MB are 10^6 bytes.
fn figures(done: u64, total: u64, elapsed: Duration) -> String {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let speed = megabytes(done) / elapsed.as_secs_f64().max(1e-9);
    let left = match done {
        0 => String::new(),
        _ => {
            let left = elapsed.as_secs_f64() * (total - done) as f64 / done as f64;
            format!(", {} s left", left.ceil())
        }
    };
    format!("{:.0} of {:.0} MB, {speed:.0} MB/s{left}", megabytes(done), megabytes(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_tell_speed_and_time_left() {
        let two_seconds = Duration::from_secs(2);
        let text = figures(100_000_000, 400_000_000, two_seconds);
        assert_eq!(text, "100 of 400 MB, 50 MB/s, 6 s left");
        assert_eq!(figures(0, 5_000_000, two_seconds), "0 of 5 MB, 0 MB/s");
    }
}
