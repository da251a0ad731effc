//! How much to explore, and seeded choices.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use nacre_pmem::sim::{Explorer, Plant, Report, Violation};
use nacre_pmem::{FlushFlavour, Granularity, Settings, StreamFlavour};

/// Images over all structures if `NACRE_TEST_IMAGES` does not say.
const IMAGES_DEFAULT: usize = 3_000;

/// Images of one workload; then the next one, with another seed, begins.
const ROUND_IMAGES: usize = 1500;

/// Rounds end when this many in a row found nothing new to look at.
const BARREN_ROUNDS_MAX: usize = 3;

/// Makes the bug of a number.
type Planter = fn(usize) -> Plant;

/// The kinds of bugs to plant.
pub(crate) const PLANTS: [(&str, Planter); 3] =
    [("flush", Plant::SkipFlush), ("fence", Plant::SkipFence), ("publish", Plant::EarlyPublish)];

/// Returns a variable as a number.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Returns a seed that no run had before.
fn fresh_seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Random::new(now.as_nanos() as u64).next() >> 32
    })
}

/// Explores workloads until `percent` of all images are spent, and prints the total. `round` gets
/// an explorer that is ready to run and the seed for its workload. Unless a seed was asked for, a
/// fifth is for a workload that nobody ran before.
pub(crate) fn explore(
    structure: &str,
    percent: usize,
    round: impl Fn(Explorer, u64) -> Result<Report, Violation>,
) -> Report {
    let budget = variable("NACRE_TEST_IMAGES").map_or(IMAGES_DEFAULT, |images| images as usize);
    let images = (budget * percent).div_ceil(100);
    let mut total = Report::default();
    let asked = variable("NACRE_TEST_SEED");
    let (mut seed, mut barren) = (asked.unwrap_or(1), 0);
    let point = variable("NACRE_TEST_POINT").map(|point| point as usize);
    let mut run = |seed, wanted| {
        let explorer = Explorer::new(structure, seed).images(wanted).only_point(point);
        let report = round(explorer, seed).unwrap_or_else(|violation| panic!("{violation}"));
        total.add(&report);
        (report.images, total.images)
    };
    let mut all = 0;
    if asked.is_none() {
        (_, all) = run(fresh_seed(), ROUND_IMAGES.min(images.div_ceil(5)));
    }
    while all < images && barren < BARREN_ROUNDS_MAX {
        let found;
        (found, all) = run(seed, ROUND_IMAGES.min(images - all));
        barren = if found == 0 { barren + 1 } else { 0 };
        if point.is_some() {
            break;
        }
        seed += 1;
    }
    let fresh = asked.map_or_else(|| format!(" (fresh seed {})", fresh_seed()), |_| String::new());
    println!("sim: {structure}: {total}{fresh}");
    total
}

/// Media of cache-line granularity with the flavours that `choice` gives.
pub(crate) fn lines(choice: u64) -> Settings {
    let flushes: Vec<FlushFlavour> =
        FlushFlavour::available().into_iter().filter(|flavour| flavour.is_instruction()).collect();
    let streams = StreamFlavour::available();
    Settings {
        flush: Some(flushes[choice as usize % flushes.len()]),
        stream: Some(streams[choice as usize / 7 % streams.len()]),
        ..Settings::default()
    }
}

/// `copies` media of cache-line granularity; mostly alike, so that mechanisms apply.
pub(crate) fn line_copies(choice: u64, copies: u64) -> Vec<Settings> {
    let difference = u64::from(choice.is_multiple_of(5));
    (0..copies).map(|copy| lines(choice + copy * difference)).collect()
}

/// Media that the kernel writes back page by page.
pub(crate) fn pages() -> Settings {
    Settings { granularity: Some(Granularity::Page), ..Settings::default() }
}

/// Media with persistent caches.
pub(crate) fn bytes() -> Settings {
    Settings { granularity: Some(Granularity::Byte), ..Settings::default() }
}

/// Seeded numbers (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ (value >> 31)
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Returns `bytes` bytes.
    pub(crate) fn bytes(&mut self, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|_| self.next() as u8).collect()
    }
}
