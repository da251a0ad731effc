//! The page views.
//!
//! Every row has a random generator of its own, seeded by its number, so that the rows are the same
//! however the table is cut into parts. What belongs to a person, such as a region or a screen, is
//! seeded by the person.
//!
//! | what | share or number |
//! |---|---|
//! | persons | 17.6 % of the rows, the most frequent one in about 0.1 % of the rows |
//! | pages | a fourth of the rows, the most frequent one in some percent |
//! | referers | the same pages; a fifth of the rows has none |
//! | search phrases | 13 % of the rows, of a pool of 8 % of the rows |
//! | advertisements | 0.6 % of the rows |
//! | phone models | 166, of every 18th person |
//! | counters | 6,500, the first in 8 % of the rows, number 62 in about 0.7 % |
//! | regions | 9,000, the first in 8 % of the persons |
//! | time | July 2013, rows in its order but for half an hour |
//!
//! # Source
//! ClickBench's table, whose shares these are roughly.

use std::fmt::{self, Display};
use std::path::Path;

use super::schema::HITS;
use super::text::{WebPage, log_skewed, phone_model, phrase, positive};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::workload::{CsvFile, Generation, Part, Random};

/// Tables of [`Random::of_row`].
const ROWS: u64 = 500;
const PERSONS: u64 = 501;

/// Rows of the table's `csv_bytes`.
const MILLION: f64 = 1e6;

const COUNTERS: u64 = 6_500;
const REGIONS: u64 = 9_000;
const PHONE_MODELS: u64 = 166;

/// Seconds of July 2013, and by how many rows leave their order.
const MONTH_SECONDS: u64 = 31 * 86_400;
const DISORDER_SECONDS: u64 = 1_800;

/// Numbers of distinct things for so many rows.
#[derive(Clone, Copy, Debug)]
struct HitCardinalities {
    rows: u64,
    persons: u64,
    pages: u64,
    phrases: u64,
}

/// What all page views of a person share.
struct PageVisitor {
    id: i64,
    client_ip: u64,
    region: u64,
    /// Width and height.
    resolution: (u64, u64),
    phone: u64,
    phone_model: String,
    os: u64,
    user_agent: u64,
    age: u64,
    sex: u64,
}

/// Where a page view came from.
struct PageViewOrigin {
    traffic_source: i64,
    search_engine: u64,
    phrase: String,
    advertisement: u64,
}

/// Writes the table into a directory, as `hits.csv`.
///
/// # Errors
/// [`crate::Error::Io`] if the file cannot be written.
pub fn generate(rows: u64, directory: &Path, threads: usize) -> Result<CsvFile> {
    generate_until(rows, directory, threads, &Interrupt::default())
}

/// Like [`generate`], but stops soon after a signal.
pub(crate) fn generate_until(
    rows: u64,
    directory: &Path,
    threads: usize,
    interrupt: &Interrupt,
) -> Result<CsvFile> {
    let cardinalities = HitCardinalities::of(rows);
    let scale_factor = rows as f64 / MILLION;
    let generation = Generation { scale_factor, directory, threads, interrupt };
    generation
        .write(&HITS, |_, cut| Part::format(cut.range(rows).map(|row| hit(row, cardinalities))))
}

impl HitCardinalities {
    fn of(rows: u64) -> Self {
        let share = |thousandths: u64| (rows * thousandths / 1_000).max(1);
        Self { rows, persons: share(176), pages: share(250), phrases: share(80) }
    }
}

impl PageVisitor {
    fn of(number: u64) -> Self {
        const RESOLUTIONS: [(u64, u64); 8] = [
            (1_366, 768),
            (1_280, 1_024),
            (1_920, 1_080),
            (1_280, 800),
            (1_024, 768),
            (1_600, 900),
            (1_680, 1_050),
            (1_440, 900),
        ];
        let mut random = Random::of_row(PERSONS, number);
        let id = positive(random.bits());
        let has_phone = random.below(18) == 0;
        let model = 1 + log_skewed(&mut random, PHONE_MODELS);
        Self {
            id,
            client_ip: random.below(1 << 31),
            region: 1 + log_skewed(&mut random, REGIONS),
            resolution: *random.one_of(&RESOLUTIONS),
            phone: if has_phone { 1 + model % 80 } else { 0 },
            phone_model: if has_phone { phone_model(model) } else { String::new() },
            os: random.below(90),
            user_agent: random.below(80),
            age: random.below(6) * 10,
            sex: random.below(3),
        }
    }
}

impl PageViewOrigin {
    fn of(random: &mut Random, cardinalities: HitCardinalities) -> Self {
        const TRAFFIC_SOURCES: [i64; 8] = [-1, -1, 0, 0, 0, 1, 1, 6];
        const ADVERTISERS: [u64; 6] = [2, 2, 2, 27, 13, 45];
        let advertisement = if random.below(1_000) < 6 { *random.one_of(&ADVERTISERS) } else { 0 };
        if random.below(100) < 13 {
            let phrase = phrase(power_skewed(random, cardinalities.phrases, 3));
            let search_engine = 1 + log_skewed(random, 90);
            Self { traffic_source: 2, search_engine, phrase, advertisement }
        } else {
            let traffic_source = *random.one_of(&TRAFFIC_SOURCES);
            Self { traffic_source, search_engine: 0, phrase: String::new(), advertisement }
        }
    }
}

/// Returns one line.
fn hit(row: u64, cardinalities: HitCardinalities) -> impl Display {
    let mut random = Random::of_row(ROWS, row);
    let watch_id = positive(random.bits());
    let person = PageVisitor::of(power_skewed(&mut random, cardinalities.persons, 2));
    let time = HitTime::of_row(row, cardinalities.rows, &mut random);
    let counter = counter(log_skewed(&mut random, COUNTERS));
    let page = WebPage::of(power_skewed(&mut random, cardinalities.pages, 4));
    let referer = (random.below(100) < 81)
        .then(|| WebPage::of(power_skewed(&mut random, cardinalities.pages, 4)))
        .map_or((String::new(), 0), |page| (page.url, page.hash));
    let origin = PageViewOrigin::of(&mut random, cardinalities);
    let mut flag = |percent: u64| u64::from(random.below(100) < percent);
    let flags = [flag(12), flag(10), flag(1), flag(8)];
    let (width, height) = person.resolution;
    let (window_width, window_height) = (width - random.below(40), height - random.below(300));
    let client_ip = if random.below(10) == 0 { random.below(1 << 31) } else { person.client_ip };
    fmt::from_fn(move |f| {
        let [is_refresh, is_link, is_download, dont_count] = flags;
        let (page, person, origin) = (&page, &person, &origin);
        write!(f, "{watch_id},{time},{counter},{client_ip},{},{},", person.region, person.id)?;
        write!(f, "\"{}\",{},\"{}\",", page.url, page.hash, page.title)?;
        write!(f, "\"{}\",{},", referer.0, referer.1)?;
        write!(f, "{is_refresh},{is_link},{is_download},{dont_count},")?;
        write!(f, "{width},{height},{window_width},{window_height},")?;
        write!(f, "{},\"{}\",{},", person.phone, person.phone_model, person.os)?;
        write!(f, "{},{},{},", person.user_agent, person.age, person.sex)?;
        write!(f, "{},{},", origin.traffic_source, origin.search_engine)?;
        write!(f, "\"{}\",{}", origin.phrase, origin.advertisement)
    })
}

/// When a row happened, as a time and a day of July 2013.
struct HitTime {
    seconds: u64,
}

impl HitTime {
    fn of_row(row: u64, rows: u64, random: &mut Random) -> Self {
        let place = u128::from(row) * u128::from(MONTH_SECONDS - DISORDER_SECONDS);
        let place = (place / u128::from(rows.max(1))) as u64;
        Self { seconds: place + random.below(DISORDER_SECONDS) }
    }
}

impl Display for HitTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (day, second) = (1 + self.seconds / 86_400, self.seconds % 86_400);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(f, "2013-07-{day:02} {hour:02}:{minute:02}:{second:02},2013-07-{day:02}")
    }
}

/// Returns the number of the counter that is the `rank`-th in frequency; the 15th is 62.
fn counter(rank: u64) -> u64 {
    (rank * 7_919 + 81_283) % 100_003
}

/// Returns a number below `count`, of which the first have most: the first `n` of them have
/// `(n / count) ^ (1 / power)` of the draws.
fn power_skewed(random: &mut Random, count: u64, power: u32) -> u64 {
    let bits = random.bits();
    let product = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    product((1..power).fold(bits, |share, _| product(share, bits)), count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::part_count;

    #[test]
    fn file_holds_header_and_rows_as_reported_whatever_the_number_of_threads() {
        let rows = 25_000;
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = generate(rows, one.path(), 1).unwrap();
        let second = generate(rows, two.path(), 3).unwrap();
        assert!(part_count(&HITS, rows as f64 / MILLION) > 1);
        let text = std::fs::read_to_string(&first.path).unwrap();
        assert!(text == std::fs::read_to_string(&second.path).unwrap());
        assert_eq!((first.rows, first.bytes), (rows, text.len() as u64));
        assert_eq!(text.lines().count() as u64, rows + 1);
        let names: Vec<_> = HITS.columns.iter().map(|column| column.name).collect();
        assert_eq!(text.lines().next().unwrap(), names.join(","));
        for line in text.lines() {
            assert_eq!(line.split(',').count(), HITS.columns.len(), "{line}");
        }
    }

    #[test]
    fn shares_are_those_of_the_header() {
        let rows = 20_000;
        let lines: Vec<String> =
            (0..rows).map(|row| hit(row, HitCardinalities::of(rows)).to_string()).collect();
        let column = |line: &str, name: &str| -> String {
            let index = HITS.columns.iter().position(|column| column.name == name).unwrap();
            line.split(',').nth(index).unwrap().to_owned()
        };
        let share = |name: &str, value: &str| {
            let found = lines.iter().filter(|line| column(line, name) == value).count();
            found as f64 / lines.len() as f64
        };
        assert!((0.86..0.88).contains(&share("search_phrase", "\"\"")));
        assert!((0.17..0.21).contains(&share("referer", "\"\"")));
        assert!((0.990..0.997).contains(&share("adv_engine_id", "0")));
        assert!((0.9..0.98).contains(&share("mobile_phone_model", "\"\"")));
        let of_62 = share("counter_id", "62");
        assert!((0.004..0.011).contains(&of_62), "{of_62}");
    }

    #[test]
    fn time_is_within_july_and_nearly_in_order() {
        let mut random = Random::of_row(1, 1);
        let mut moment = |row| HitTime::of_row(row, 1_000, &mut random);
        assert!(moment(0).to_string().starts_with("2013-07-01 00:"));
        assert!(moment(999).to_string().ends_with(",2013-07-31"));
        assert!(moment(500).seconds < moment(501).seconds + DISORDER_SECONDS);
    }

    #[test]
    fn constants_of_the_queries_are_in_the_data() {
        let text = |index: usize| crate::clickbench::QUERIES[index].sql(1.0);
        assert!(text(19).contains(&format!("user_id = {}", PageVisitor::of(100).id)));
        assert!(text(40).contains(&format!("referer_hash = {}", WebPage::of(1).hash)));
        assert!(text(41).contains(&format!("url_hash = {}", WebPage::of(0).hash)));
        assert_eq!(counter(15), 62);
    }
}
