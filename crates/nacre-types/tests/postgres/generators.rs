//! Texts and values from a seed.

/// Units of intervals, and words that are none.
const UNITS: [&str; 31] = [
    "years",
    "year",
    "y",
    "mons",
    "month",
    "mon",
    "days",
    "d",
    "hours",
    "h",
    "hr",
    "min",
    "m",
    "minutes",
    "s",
    "secs",
    "second",
    "ms",
    "milliseconds",
    "us",
    "microsecond",
    "weeks",
    "w",
    "decades",
    "century",
    "centuries",
    "millennium",
    "quarter",
    "foo",
    "",
    "timezone",
];

/// A generator of pseudo-random numbers (splitmix64): the same seed gives the same cases.
pub(super) struct CaseRandom {
    state: u64,
}

impl CaseRandom {
    /// Makes the generator of a test; prints its seed.
    pub(super) fn new(test: &str) -> Self {
        let seed = std::env::var("NACRE_TYPES_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed: u64 = seed.unwrap_or(20_241_125);
        println!("{test}: NACRE_TYPES_SEED={seed}");
        let state = test
            .bytes()
            .fold(seed, |state, byte| state.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte));
        Self { state }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub(super) fn is_one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(super) fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn digits(&mut self, count_max: usize) -> String {
        let count = 1 + self.below(count_max);
        (0..count).map(|_| char::from(b'0' + self.below(10) as u8)).collect()
    }

    /// Changes, drops or doubles a character now and then.
    fn damage(&mut self, text: String) -> String {
        if text.is_empty() || !self.is_one_in(8) {
            return text;
        }
        let mut chars: Vec<char> = text.chars().collect();
        let index = self.below(chars.len());
        match self.below(3) {
            0 => {
                chars.remove(index);
            }
            1 => {
                let one = chars[index];
                chars.insert(index, one);
            }
            _ => {
                let junk = [' ', '-', '.', ':', ',', 'x', '1', '{', '}', '"', '\\', '+', '/'];
                chars[index] = junk[self.below(junk.len())];
            }
        }
        chars.into_iter().collect()
    }

    pub(super) fn integer(&mut self) -> String {
        let text = match self.below(10) {
            0 => self
                .pick(&["32767", "32768", "-32768", "-32769", "2147483647", "2147483648"])
                .into(),
            1 => self
                .pick(&[
                    "-2147483648",
                    "9223372036854775807",
                    "9223372036854775808",
                    "",
                    " ",
                    "-",
                    "+5",
                ])
                .into(),
            2 => self.digits(22),
            _ => {
                let sign = self.pick(&["", "-", "+", " ", " -"]);
                format!("{sign}{}", self.digits(7))
            }
        };
        self.damage(text)
    }

    pub(super) fn numeric(&mut self) -> String {
        let sign = self.pick(&["", "", "-", "+"]);
        let text = match self.below(12) {
            0 => self.pick(&["NaN", "Infinity", "-inf", "+Infinity", "0", "0.000", "1e-20"]).into(),
            1 => format!("{sign}{}.{}", self.digits(40), self.digits(40)),
            2 => {
                format!("{sign}{}e{}{}", self.digits(5), self.pick(&["", "-", "+"]), self.digits(2))
            }
            3 => format!("{sign}.{}", self.digits(8)),
            4 => format!("{sign}{}.", self.digits(8)),
            5 => format!("{sign}{}", self.digits(25)),
            6 => format!("{sign}0.{}{}", "0".repeat(self.below(20)), self.digits(6)),
            7 => format!("{sign}{}{}", self.digits(3), "0".repeat(self.below(30))),
            _ => format!("{sign}{}.{}", self.digits(6), self.digits(4)),
        };
        self.damage(text)
    }

    /// A numeric that is one.
    pub(super) fn valid_numeric(&mut self) -> String {
        let sign = self.pick(&["", "-"]);
        match self.below(9) {
            0 => self
                .pick(&["NaN", "Infinity", "-Infinity", "0", "0.00", "1", "10000", "9999"])
                .into(),
            1 => format!("{sign}{}.{}", self.digits(45), self.digits(30)),
            2 => format!("{sign}0.{}{}", "0".repeat(self.below(25)), self.digits(8)),
            3 => format!("{sign}{}{}", self.digits(4), "0".repeat(self.below(40))),
            4 => format!("{sign}{}", self.digits(19)),
            _ => format!("{sign}{}.{}", self.digits(6), self.digits(4)),
        }
    }

    pub(super) fn float(&mut self) -> String {
        let text = match self.below(8) {
            0 => self
                .pick(&["NaN", "inf", "-Infinity", "1e400", "1e-400", "1e39", "1e-46", "1e", "-0"])
                .into(),
            1 => self.numeric(),
            2 => format!("{}e{}{}", self.digits(17), self.pick(&["", "-"]), self.digits(2)),
            _ => format!("{:e}", f64::from_bits(self.next())),
        };
        self.damage(text)
    }

    pub(super) fn date_part(&mut self) -> String {
        let year = match self.below(12) {
            0 => self.digits(6),
            1 => format!("{:02}", self.below(100)),
            2 => format!("{:03}", self.below(1_000)),
            _ => format!("{:04}", 1_800 + self.below(400)),
        };
        let last_month = if self.is_one_in(12) { 15 } else { 12 };
        let last_day = if self.is_one_in(8) { 33 } else { 28 };
        let month = self.below(last_month + 1).max(1);
        let day = self.below(last_day + 1).max(1);
        let name =
            self.pick(&["Jan", "february", "MAR", "apr", "May", "june", "Sept", "Dec", "foo"]);
        let separator = self.pick(&["-", "/", ".", " "]);
        match self.below(16) {
            0 => format!("{year}{month:02}{day:02}"),
            1 => format!("{month}{separator}{day}{separator}{year}"),
            2 => format!("{day:02}{separator}{month:02}{separator}{year}"),
            3 => format!("{name} {day}, {year}"),
            4 => format!("{day}{separator}{name}{separator}{year}"),
            5 => format!("{year}{separator}{name}{separator}{day}"),
            6 => format!("J{}", 2_400_000 + self.below(100_000)),
            7 => format!("{year}.{:03}", self.below(400)),
            8 => format!("{name}-{day}-{year}"),
            9 => self
                .pick(&["epoch", "infinity", "-infinity", "today", "yesterday", "tomorrow", "now"])
                .into(),
            10 => format!("y{year}m{month:02}d{day:02}"),
            11 => format!("{name}{separator}{year}{separator}{day}"),
            _ => format!("{year}-{month:02}-{day:02}"),
        }
    }

    pub(super) fn time_part(&mut self) -> String {
        let hour = if self.is_one_in(10) { self.below(30) } else { self.below(24) };
        let minute = if self.is_one_in(12) { self.below(70) } else { self.below(60) };
        let second = if self.is_one_in(12) { self.below(70) } else { self.below(60) };
        match self.below(12) {
            0 => format!("{hour}:{minute:02}"),
            1 => format!("{hour:02}{minute:02}{second:02}"),
            2 => format!("{hour:02}{minute:02}"),
            3 => format!("{hour:02}:{minute:02}:{second:02}.{}", self.digits(9)),
            4 => format!("{}:{minute:02} {}", self.below(14), self.pick(&["AM", "pm", "PM"])),
            5 => self.pick(&["24:00:00", "24:00:01", "23:59:60", "allballs", "00:00"]).into(),
            6 => format!("{hour:02}{minute:02}{second:02}.{}", self.digits(4)),
            7 => format!("{minute:02}:{second:02}.{}", self.digits(3)),
            _ => format!("{hour:02}:{minute:02}:{second:02}"),
        }
    }

    pub(super) fn zone_part(&mut self) -> String {
        match self.below(9) {
            0 => format!("{}{:02}", self.pick(&["+", "-"]), self.below(18)),
            1 => format!("{}{:02}:{:02}", self.pick(&["+", "-"]), self.below(15), self.below(62)),
            2 => format!("{}{:02}{:02}", self.pick(&["+", "-"]), self.below(15), self.below(60)),
            3 => format!(
                " {}",
                self.pick(&["EST", "pst", "UTC", "Z", "CEST", "GMT", "XYZ", "MSK", "EDT"])
            ),
            4 => format!(
                " {}",
                self.pick(&[
                    "Europe/Berlin",
                    "America/New_York",
                    "Asia/Kolkata",
                    "Etc/GMT+5",
                    "No/Where"
                ])
            ),
            5 => format!(
                "{}{:02}:{:02}:{:02}",
                self.pick(&["+", "-"]),
                self.below(15),
                self.below(60),
                self.below(60)
            ),
            6 => self.pick(&["Z", " UTC+3", " est dst", " +2"]).into(),
            _ => String::new(),
        }
    }

    /// The text of a date and time.
    pub(super) fn timestamp(&mut self) -> String {
        let mut text = self.date_part();
        if !self.is_one_in(4) {
            text.push_str(self.pick(&[" ", " ", "T", "  ", ", "]));
            text.push_str(&self.time_part());
            text.push_str(&self.zone_part());
        }
        if self.is_one_in(15) {
            text.push_str(self.pick(&[" BC", " AD", " bc"]));
        }
        if self.is_one_in(15) {
            text = format!("{} {text}", self.pick(&["Mon", "friday", "on", "at"]));
        }
        self.damage(text)
    }

    pub(super) fn time(&mut self) -> String {
        let mut text = self.time_part();
        text.push_str(&self.zone_part());
        if self.is_one_in(6) {
            text = format!("{} {text}", self.date_part());
        }
        self.damage(text)
    }

    /// A timestamp in ISO form that exists.
    pub(super) fn valid_timestamp(&mut self) -> String {
        if self.is_one_in(20) {
            return self.pick(&["infinity", "-infinity"]).into();
        }
        let (year, era) = match self.below(10) {
            0 => (1 + self.below(4_700), " BC"),
            1 => (1 + self.below(294_000), ""),
            2 => (1 + self.below(999), ""),
            _ => (1_850 + self.below(250), ""),
        };
        let (month, day) = (1 + self.below(12), 1 + self.below(28));
        let (hour, minute, second) = (self.below(24), self.below(60), self.below(60));
        let fraction = match self.below(3) {
            0 => format!(".{:06}", self.below(1_000_000)),
            _ => String::new(),
        };
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{fraction}{era}")
    }

    pub(super) fn interval(&mut self) -> String {
        let text = match self.below(10) {
            0 => self.designated_interval(),
            1 => format!(
                "P{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
                self.below(3_000),
                self.below(13),
                self.below(32),
                self.below(25),
                self.below(60),
                self.below(60)
            ),
            2 => format!("P{:08}T{:06}", self.below(99_999_999), self.below(999_999)),
            3 => {
                let sign = self.pick(&["", "-", "+"]);
                let (year, month, day) = (self.below(100), self.below(14), self.below(100));
                format!("{sign}{year}-{month} {day} {}", self.time_part())
            }
            _ => self.unit_interval(),
        };
        self.damage(text)
    }

    /// An interval such as `P1Y2M3DT4H5M6S`.
    fn designated_interval(&mut self) -> String {
        let mut text = "P".to_owned();
        for unit in ["Y", "M", "W", "D"] {
            if self.is_one_in(2) {
                let sign = self.pick(&["", "-"]);
                text.push_str(&format!("{sign}{}{unit}", self.interval_number()));
            }
        }
        if self.is_one_in(2) {
            text.push('T');
            for unit in ["H", "M", "S"] {
                if self.is_one_in(2) {
                    text.push_str(&format!("{}{unit}", self.interval_number()));
                }
            }
        }
        text
    }

    /// An interval such as `@ 1 day 2 hours ago`.
    fn unit_interval(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..1 + self.below(4) {
            let unit = self.pick(&UNITS);
            let sign = self.pick(&["", "", "-", "+"]);
            let blank = self.pick(&[" ", ""]);
            text.push_str(&format!("{sign}{}{blank}{unit} ", self.interval_number()));
        }
        if self.is_one_in(4) {
            text.push_str(self.pick(&["", "-", "+"]));
            text.push_str(&self.time_part());
        }
        if self.is_one_in(6) {
            text.push_str(" ago");
        }
        if self.is_one_in(8) {
            text = format!("@ {text}");
        }
        text
    }

    fn interval_number(&mut self) -> String {
        match self.below(8) {
            0 => format!("{}.{}", self.below(100), self.digits(4)),
            1 => format!(".{}", self.digits(3)),
            2 => self.digits(10),
            _ => self.below(100).to_string(),
        }
    }

    pub(super) fn valid_interval(&mut self) -> String {
        let sign = |random: &mut Self| random.pick(&["", "-"]);
        let (one, two, three) = (sign(self), sign(self), sign(self));
        format!(
            "{one}{} months {two}{} days {three}{}:{:02}:{:02}.{:06}",
            self.below(400),
            self.below(100),
            self.below(200),
            self.below(60),
            self.below(60),
            self.below(1_000_000)
        )
    }

    /// The text of an array of `element`s.
    pub(super) fn array(&mut self, element: &mut dyn FnMut(&mut Self) -> String) -> String {
        let mut text = match self.below(8) {
            0 => {
                let (one, two) = (self.below(5), self.below(5));
                format!("[{one}:{}]=", one + two)
            }
            1 => "[2:3][0:1]=".to_owned(),
            _ => String::new(),
        };
        let depth = 1 + self.below(3);
        let lengths: Vec<usize> = (0..depth).map(|_| 1 + self.below(3)).collect();
        self.array_level(&lengths, element, &mut text);
        self.damage(text)
    }

    fn array_level(
        &mut self,
        lengths: &[usize],
        element: &mut dyn FnMut(&mut Self) -> String,
        out: &mut String,
    ) {
        let Some((length, rest)) = lengths.split_first() else {
            let text = element(self);
            out.push_str(&text);
            return;
        };
        out.push('{');
        let length = if self.is_one_in(25) { length + 1 } else { *length };
        for index in 0..length {
            if index > 0 {
                out.push(',');
                out.push_str(self.pick(&["", "", " "]));
            }
            self.array_level(rest, element, out);
        }
        out.push('}');
    }

    pub(super) fn word(&mut self) -> String {
        let choices = [
            "a",
            "abc",
            "b c",
            "NULL",
            "null",
            "",
            "  x",
            "y  ",
            "\u{e4}\u{f6}",
            "a,b",
            "a\"b",
            "a\\b",
            "{",
            "}",
            "(x)",
            "\t",
            "12",
            "'",
            "\u{1f600}",
        ];
        let mut text = String::new();
        for _ in 0..1 + self.below(2) {
            text.push_str(self.pick(&choices));
        }
        text
    }

    pub(super) fn array_word(&mut self) -> String {
        let word = self.word();
        match self.below(3) {
            0 => word,
            _ => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")),
        }
    }

    pub(super) fn json(&mut self, depth: usize) -> String {
        let text = match self.below(if depth > 3 { 6 } else { 9 }) {
            0 => self.pick(&["null", "true", "false", "nul", "True"]).into(),
            1 => self.numeric(),
            2 => self.below(1_000).to_string(),
            3 => format!(
                "\"{}\"",
                self.pick(&["a", "\\n", "\\u00e4", "\\x", "\\u12", "b\\\"c", "\u{e4}"])
            ),
            4 => "\"x\"".to_owned(),
            5 => format!("-{}.{}E+{}", self.below(9), self.digits(3), self.below(9)),
            6 => {
                let items: Vec<String> = (0..self.below(4)).map(|_| self.json(depth + 1)).collect();
                format!("[{}]", items.join(self.pick(&[",", ", ", " , "])))
            }
            _ => {
                let member = |random: &mut Self| {
                    let value = random.json(depth + 1);
                    format!("\"k\"{}{value}", random.pick(&[":", " : "]))
                };
                let items: Vec<String> = (0..self.below(4)).map(|_| member(self)).collect();
                format!("{{{}}}", items.join(","))
            }
        };
        self.damage(text)
    }

    pub(super) fn bytea(&mut self) -> String {
        let text = match self.below(3) {
            0 => self.pick(&["a\\\\b", "\\001\\377", "\\400", "\\", "a\\9", "", "\u{e4}"]).into(),
            1 => {
                let bytes: Vec<String> =
                    (0..self.below(6)).map(|_| format!("{:02x}", self.below(256))).collect();
                format!("\\x{}", bytes.join(self.pick(&["", " "])))
            }
            _ => format!("\\x{:X}", self.next()),
        };
        self.damage(text)
    }

    pub(super) fn uuid(&mut self) -> String {
        let digits = format!("{:016x}{:016X}", self.next(), self.next());
        let text = match self.below(3) {
            0 => digits,
            1 => format!("{{{digits}}}"),
            _ => format!(
                "{}-{}-{}-{}-{}",
                &digits[..8],
                &digits[8..12],
                &digits[12..16],
                &digits[16..20],
                &digits[20..]
            ),
        };
        self.damage(text)
    }

    pub(super) fn bits(&mut self) -> String {
        let text = match self.below(4) {
            0 => format!("x{:x}", self.below(70_000)),
            1 => format!("b{:b}", self.below(1_000)),
            _ => format!("{:b}", self.below(5_000)),
        };
        self.damage(text)
    }
}
