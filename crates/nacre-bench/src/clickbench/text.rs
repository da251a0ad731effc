//! Texts of page views: addresses of pages, their titles, search phrases, models of phones.
//!
//! Each text is made from a number alone, so that equal numbers have equal texts wherever they
//! stand. Words are syllables, Latin in addresses, mostly Cyrillic elsewhere, as in ClickBench.

use crate::workload::Random;

/// Tables of [`Random::of_row`].
const PAGES: u64 = 502;
const PHRASES: u64 = 503;
const SITES: u64 = 504;
const MODELS: u64 = 505;

/// Sites, of which few have most pages.
const SITE_COUNT: u64 = 4_000;

/// Of so many pages one is a search engine's, and of so many titles one names it.
const SEARCH_PAGE_PERIOD: u64 = 4_000;

/// Of so many pages one has no title.
const UNTITLED_PERIOD: u64 = 20;

const LATIN: SyllableAlphabet = SyllableAlphabet {
    consonants: &["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z"],
    vowels: &["a", "e", "i", "o", "u"],
};

const CYRILLIC: SyllableAlphabet = SyllableAlphabet {
    consonants: &[
        "\u{431}", "\u{432}", "\u{433}", "\u{434}", "\u{43a}", "\u{43b}", "\u{43c}", "\u{43d}",
        "\u{43f}", "\u{440}", "\u{441}", "\u{442}",
    ],
    vowels: &["\u{430}", "\u{435}", "\u{438}", "\u{43e}", "\u{443}"],
};

/// Letters that words are made of.
struct SyllableAlphabet {
    consonants: &'static [&'static str],
    vowels: &'static [&'static str],
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WebPage {
    pub(super) url: String,
    pub(super) title: String,
    pub(super) hash: i64,
}

impl SyllableAlphabet {
    /// Appends a word of two to four syllables.
    fn push_word(&self, text: &mut String, random: &mut Random) {
        for _ in 0..random.between(2, 4) {
            text.push_str(random.one_of::<&str>(self.consonants));
            text.push_str(random.one_of::<&str>(self.vowels));
        }
    }
}

impl WebPage {
    /// Returns the page of a number.
    pub(super) fn of(number: u64) -> Self {
        let mut random = Random::of_row(PAGES, number);
        let hash = positive(random.bits());
        let mut url = String::with_capacity(96);
        url.push_str(if random.below(20) == 0 { "https://" } else { "http://" });
        if random.below(SEARCH_PAGE_PERIOD) == 0 {
            url.push_str("www.google.ru/search?q=");
            LATIN.push_word(&mut url, &mut random);
        } else {
            push_site(&mut url, &mut random);
            push_path(&mut url, &mut random);
        }
        Self { url, title: title(&mut random), hash }
    }
}

/// Appends a site, which has the same name wherever it stands.
fn push_site(url: &mut String, random: &mut Random) {
    const ENDINGS: [&str; 6] = [".ru", ".ru", ".ru", ".com", ".net", ".ua"];
    let mut site = Random::of_row(SITES, log_skewed(random, SITE_COUNT));
    if site.below(4) == 0 {
        url.push_str("www.");
    }
    LATIN.push_word(url, &mut site);
    LATIN.push_word(url, &mut site);
    url.push_str(site.one_of::<&str>(&ENDINGS));
}

fn push_path(url: &mut String, random: &mut Random) {
    for _ in 0..random.between(1, 4) {
        url.push('/');
        LATIN.push_word(url, random);
    }
    if random.below(2) == 0 {
        url.push_str("/?");
        LATIN.push_word(url, random);
        url.push_str(&format!("={}", random.below(10_000_000)));
    }
    // Others than the search engine's own that name it.
    if random.below(SEARCH_PAGE_PERIOD) == 0 {
        url.push_str("/google");
    }
}

fn title(random: &mut Random) -> String {
    let mut title = String::with_capacity(128);
    if random.below(UNTITLED_PERIOD) == 0 {
        return title;
    }
    if random.below(SEARCH_PAGE_PERIOD) == 0 {
        title.push_str("Google ");
    }
    push_words(&mut title, random, 8);
    title
}

/// Returns the search phrase of a number.
pub(super) fn phrase(number: u64) -> String {
    let mut phrase = String::with_capacity(64);
    push_words(&mut phrase, &mut Random::of_row(PHRASES, number), 4);
    phrase
}

/// Returns the phone model of a number.
pub(super) fn phone_model(number: u64) -> String {
    let mut model = String::new();
    LATIN.push_word(&mut model, &mut Random::of_row(MODELS, number));
    format!("{model} {}", number % 10)
}

/// Appends up to `count_max` words of one alphabet.
fn push_words(text: &mut String, random: &mut Random, count_max: u64) {
    let letters = if random.below(4) == 0 { LATIN } else { CYRILLIC };
    for index in 0..random.between(1, count_max) {
        if index > 0 {
            text.push(' ');
        }
        letters.push_word(text, random);
    }
}

/// Returns a number below `count`, of which the first have most: 0 comes as often as 1 and 2
/// together, and so on.
pub(super) fn log_skewed(random: &mut Random, count: u64) -> u64 {
    // The exponent is below 1, so that the power is below `count`.
    let power = (count as f64).powf(1.0 - random.unit());
    (power as u64).saturating_sub(1).min(count.saturating_sub(1))
}

/// Returns 63 of the bits, so that it is no negative number.
pub(super) fn positive(bits: u64) -> i64 {
    (bits >> 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_number_has_the_same_page_and_others_have_others() {
        assert_eq!(WebPage::of(7), WebPage::of(7));
        let pages: std::collections::HashSet<String> =
            (0..10_000).map(|number| WebPage::of(number).url).collect();
        assert!(pages.len() > 9_990, "{}", pages.len());
    }

    #[test]
    fn texts_hold_nothing_that_csv_would_escape() {
        for number in 0..2_000 {
            let page = WebPage::of(number);
            for text in [page.url, page.title, phrase(number), phone_model(number)] {
                assert!(!text.contains(['"', '\n', '\r']), "{text}");
            }
            assert!(!phrase(number).is_empty());
        }
    }

    #[test]
    fn few_pages_name_the_search_engine() {
        let pages: Vec<WebPage> = (0..40_000).map(WebPage::of).collect();
        let count = |is: &dyn Fn(&WebPage) -> bool| pages.iter().filter(|page| is(page)).count();
        assert!((1..100).contains(&count(&|page| page.url.contains(".google."))));
        assert!((1..100).contains(&count(&|page| page.url.ends_with("/google"))));
        assert!((1..100).contains(&count(&|page| page.title.contains("Google"))));
    }

    #[test]
    fn half_of_the_logarithm_has_half_of_the_draws() {
        let mut random = Random::of_row(1, 1);
        let draws = (0..10_000).map(|_| log_skewed(&mut random, 10_000));
        let small = draws.filter(|draw| *draw < 99).count();
        assert!((4_700..5_300).contains(&small), "{small}");
    }
}
