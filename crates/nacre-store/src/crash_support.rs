//! What the tests under the crash simulator have in common.
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `NACRE_TEST_IMAGES` | 30000 | images over all structures; each test takes its share |
//! | `NACRE_TEST_SEED` | 1 | seed of workloads and samples; printed with a violation |
//! | `NACRE_TEST_POINT` | all | explore this crash point only, to replay a violation |

use std::time::Duration;

use nacre_pmem::sim::{Explorer, Report};
use nacre_pmem::{Granularity, Settings};

/// Images over all structures if `NACRE_TEST_IMAGES` does not say.
const IMAGES_DEFAULT: usize = 30_000;

/// Images of one workload; then the next one, with another seed, begins.
const ROUND_IMAGES: usize = 500;

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Explores rounds until a share of the images, in ten-thousandths, is spent.
pub(crate) fn explore_share(
    structure: &str,
    share: usize,
    round: impl Fn(Explorer, u64) -> Report,
) {
    let all = variable("NACRE_TEST_IMAGES").map_or(IMAGES_DEFAULT, |images| images as usize);
    let images = (all * share).div_ceil(10_000);
    let point = variable("NACRE_TEST_POINT").map(|point| point as usize);
    let mut seed = variable("NACRE_TEST_SEED").unwrap_or(1);
    let (mut done, mut elapsed) = (0, Duration::ZERO);
    while done < images {
        let wanted = ROUND_IMAGES.min(images - done);
        let explorer = Explorer::new(structure, seed).images(wanted).only_point(point);
        let report = round(explorer, seed);
        (done, elapsed) = (done + report.images, elapsed + report.elapsed);
        if report.images == 0 || point.is_some() {
            break;
        }
        seed += 1;
    }
    println!("sim: {structure}: {done} images in {elapsed:?}");
}

/// A domain in which lines of the cache become durable.
pub(crate) fn lines() -> Settings {
    Settings::default()
}

/// A domain in which pages become durable.
pub(crate) fn pages() -> Settings {
    Settings { granularity: Some(Granularity::Page), ..Settings::default() }
}
