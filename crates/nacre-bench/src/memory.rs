//! How much can be measured in the memory that is free.

use crate::error::Result;
use crate::format::count;
use crate::report::Console;

/// Returns `wanted` values, or as many as half of the free memory holds, and says so.
///
/// # Errors
/// Standard output is gone.
pub(crate) fn fit(console: Console, wanted: u64, bytes_per_value: u64) -> Result<u64> {
    let Some(free) = available_bytes() else {
        return Ok(wanted);
    };
    let fitting = (free / 2 / bytes_per_value).max(1);
    if fitting < wanted {
        console.line(format_args!(
            "NOTE: {} MB of memory are free, so {} values are measured, not {}",
            count(free / 1_000_000),
            count(fitting),
            count(wanted)
        ))?;
    }
    Ok(wanted.min(fitting))
}

/// Returns the bytes that the kernel could give us now, if it says so.
fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_and_the_rest_is_as_asked() {
        let fitted = |wanted, bytes| fit(Console, wanted, bytes).unwrap();
        assert_eq!(fitted(10, 8), 10);
        assert!(fitted(u64::MAX, 1 << 20) < 1 << 44);
    }
}
