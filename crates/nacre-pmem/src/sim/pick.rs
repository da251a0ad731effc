//! Picks images of open media: all of them, or a seeded sample that has the extreme ones.

use std::collections::BTreeSet;

use super::line::LineBytes;
use super::media::{LineId, Media};

/// What a crash left of what was open.
#[derive(Clone, Debug, Default)]
pub(super) struct Image {
    /// Content of each open line.
    pub(super) lines: Vec<(LineId, LineBytes)>,
    /// By domain, how many pending changes of names are there.
    pub(super) names: Vec<usize>,
    /// Size by file.
    pub(super) sizes: Vec<u64>,
}

impl Image {
    /// Returns a hash of all files and names.
    pub(super) fn hash(&self, media: &Media) -> u64 {
        let mut hash = media.hash();
        for (id, bytes) in &self.lines {
            hash ^= Media::line_hash(*id, &media.certain(*id)) ^ Media::line_hash(*id, bytes);
        }
        for (domain, &count) in self.names.iter().enumerate() {
            hash ^= mix(mix(domain as u64 + 1) ^ media.domains[domain].names_version(count));
        }
        for (file, &size) in self.sizes.iter().enumerate() {
            hash ^= mix(mix(file as u64 + 1_000_000) ^ size);
        }
        hash
    }
}

/// Which part of what is open to keep.
#[derive(Clone, Copy)]
enum Kind {
    Lost,
    Whole,
    OnlyLine(usize),
    AllButLine(usize),
    OnlyFile(usize),
    AllButFile(usize),
}

/// Returns at most `allowance` images, the extreme ones first, or all if they are not more.
pub(super) fn images(media: &Media, allowance: usize, random: &mut Random) -> Vec<Image> {
    if count(media) <= allowance as u64 {
        return (0..count(media)).map(|index| nth(media, index)).collect();
    }
    let mut images = Vec::with_capacity(allowance);
    let mut kinds = vec![Kind::Lost, Kind::Whole];
    let files: BTreeSet<usize> = media.open.keys().map(|id| id.0).collect();
    if files.len() > 1 {
        kinds.extend(files.iter().flat_map(|&file| [Kind::OnlyFile(file), Kind::AllButFile(file)]));
    }
    // Lines get half of the room, so that random images have the other half.
    let lines = media.open.len();
    let step = lines.div_ceil((allowance / 4).max(1)).max(1);
    let first = random.below(step as u64) as usize;
    for line in (first..lines).step_by(step) {
        kinds.extend([Kind::OnlyLine(line), Kind::AllButLine(line)]);
    }
    images.extend(kinds.into_iter().take(allowance).map(|kind| extreme(media, kind, random)));
    while images.len() < allowance {
        images.push(sample(media, random));
    }
    images
}

/// Returns the image with everything that was stored.
pub(super) fn whole(media: &Media) -> Image {
    extreme(media, Kind::Whole, &mut Random::new(0))
}

/// Returns how many ways there are to lose what is open.
fn count(media: &Media) -> u64 {
    let lines = media.open.values().map(|line| line.count());
    let names = media.domains.iter().map(|domain| domain.pending.len() as u64 + 1);
    let sizes = media.files.iter().map(|file| file.sizes.len() as u64);
    lines.chain(names).chain(sizes).fold(1, u64::saturating_mul)
}

fn nth(media: &Media, mut index: u64) -> Image {
    let mut digit = |count: u64| {
        let digit = index % count;
        index /= count;
        digit
    };
    let lines = media.open.iter().map(|(id, line)| (*id, line.nth(digit(line.count())))).collect();
    let domains = media.domains.iter();
    let names = domains.map(|domain| digit(domain.pending.len() as u64 + 1) as usize).collect();
    let files = media.files.iter();
    let sizes = files.map(|file| file.sizes[digit(file.sizes.len() as u64) as usize]).collect();
    Image { lines, names, sizes }
}

fn extreme(media: &Media, kind: Kind, random: &mut Random) -> Image {
    let is_kept = |number: usize, id: LineId| match kind {
        Kind::Lost => false,
        Kind::Whole => true,
        Kind::OnlyLine(only) => number == only,
        Kind::AllButLine(lost) => number != lost,
        Kind::OnlyFile(only) => id.0 == only,
        Kind::AllButFile(lost) => id.0 != lost,
    };
    let lines = media.open.iter().enumerate();
    let lines = lines
        .map(|(number, (id, line))| match is_kept(number, *id) {
            true => (*id, line.whole()),
            false => (*id, line.lost()),
        })
        .collect();
    let mut image = Image { lines, ..metadata(media, random) };
    if matches!(kind, Kind::Lost) {
        image.names.fill(0);
        image.sizes = media.files.iter().map(|file| file.sizes[0]).collect();
    } else if matches!(kind, Kind::Whole) {
        image.names = media.domains.iter().map(|domain| domain.pending.len()).collect();
        let last = media.files.iter().map(|file| file.sizes[file.sizes.len() - 1]);
        image.sizes = last.collect();
    }
    image
}

/// Returns an image in which each line is likelier lost or likelier kept, as the dice say.
fn sample(media: &Media, random: &mut Random) -> Image {
    let (lost, whole) = match random.below(4) {
        0 => (70, 85),
        1 => (15, 85),
        2 => (33, 66),
        _ => (0, 0),
    };
    let lines = media
        .open
        .iter()
        .map(|(id, line)| match random.below(100) {
            dice if dice < lost => (*id, line.lost()),
            dice if dice < whole => (*id, line.whole()),
            _ => (*id, line.random(random)),
        })
        .collect();
    Image { lines, ..metadata(media, random) }
}

fn metadata(media: &Media, random: &mut Random) -> Image {
    let mut below = |count: usize| random.below(count as u64) as usize;
    let names = media.domains.iter().map(|domain| below(domain.pending.len() + 1)).collect();
    let sizes = media.files.iter().map(|file| file.sizes[below(file.sizes.len())]).collect();
    Image { lines: Vec::new(), names, sizes }
}

/// A seeded generator of numbers (splitmix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(mix(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Returns a number below `bound`, 0 if that is 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// Mixes the bits of `value` (finaliser of splitmix64).
pub(super) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}
