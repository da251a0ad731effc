//! Runs one cell: rounds over all contestants, then a final between the switch and the best.
//!
//! 1. In each round every contestant runs once, the baseline before every few of them; each is
//!    compared with the baseline that ran last. A run begins with a short part that is not counted,
//!    so that nobody finds the caches as another left them, and every round has another order in
//!    which everybody has other neighbours.
//! 2. The best of many noisy figures is better than what it stands for. So whether the switch is
//!    behind is found out by runs of their own: the switch, the mechanism that it takes here and
//!    the best static ones, in turn as before ([`Final`]).

use super::contestant::Contestant;
use super::group::Contestants;
use super::measure::{Series, Spread, Work};
use super::options::Variant;
use super::session::{Cell, FINAL_STATICS, Session, VARIANTS_PER_BASELINE};
use crate::error::Result;

/// The part of a run that is counted lasts so many times as long as the part before it.
pub(super) const WARM_UP_SHARE: u32 = 5;

/// Figures of a cell.
pub(super) struct CellFigures {
    pub(super) cell: Cell,
    /// Ours without replicas.
    pub(super) plain: Series,
    /// Ours with replicas, by contestant.
    pub(super) variants: Vec<(Variant, Series)>,
    /// The library without and with replicas.
    pub(super) library: Option<(Series, Series)>,
    /// The mechanisms that the switch takes here, without and with replicas.
    pub(super) chosen_plain: Option<Variant>,
    pub(super) chosen: Option<Variant>,
    /// The switch against the best static mechanism, if both ran.
    pub(super) last: Option<Final>,
}

/// How the switch does against the best static mechanism.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Final {
    /// The best static mechanism.
    pub(super) best: Variant,
    /// Time of the switched run divided by that of the best, by pairs of neighbouring runs.
    pub(super) slowdown: Spread,
}

/// What is updated next, for ours and the library.
struct Works {
    ours: Work,
    library: Option<Work>,
}

impl CellFigures {
    /// Returns the figures of a contestant.
    pub(super) fn series_of(&self, wanted: Variant) -> Option<&Series> {
        let found = self.variants.iter().find(|(variant, _)| *variant == wanted);
        found.map(|(_, series)| series)
    }

    /// Returns the static mechanisms, that with the least overhead first.
    pub(super) fn best_statics(&self) -> Vec<(Variant, Spread)> {
        let statics = self.variants.iter().filter(|(variant, _)| *variant != Variant::Switched);
        let mut ranked: Vec<_> =
            statics.map(|(variant, series)| (*variant, Spread::of(&series.slowdowns))).collect();
        ranked.sort_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));
        ranked
    }

    /// Returns how much slower than without replicas the switched run is.
    pub(super) fn switched(&self) -> Option<Spread> {
        Some(Spread::of(&self.series_of(Variant::Switched)?.slowdowns))
    }

    /// Returns who runs in the final: the switch, what it takes here, and the best others.
    fn finalists(&self) -> Vec<Variant> {
        let mut finalists = vec![Variant::Switched];
        finalists.extend(self.chosen.filter(|chosen| self.series_of(*chosen).is_some()));
        for (variant, _) in self.best_statics().into_iter().take(FINAL_STATICS) {
            if !finalists.contains(&variant) {
                finalists.push(variant);
            }
        }
        finalists
    }
}

impl Final {
    /// Judges the runs of the finalists, the switch first; `None` if it ran alone.
    fn judge(runs: &[(Variant, Vec<f64>)]) -> Option<Final> {
        let ((_, switched), statics) = runs.split_first()?;
        let against = |(variant, rates): &(Variant, Vec<f64>)| {
            let pairs = std::iter::zip(rates, switched);
            let slowdowns: Vec<f64> = pairs.map(|(other, switched)| other / switched).collect();
            Final { best: *variant, slowdown: Spread::of(&slowdowns) }
        };
        let ranked = statics.iter().map(against);
        ranked.max_by(|a, b| a.slowdown.median.total_cmp(&b.slowdown.median))
    }

    /// Returns how far the switch is behind, in percent; below 0 it leads.
    pub(super) fn behind_percent(&self) -> f64 {
        (self.slowdown.median - 1.0) * 100.0
    }

    /// Whether the switch is at most `percent` behind, but for noise.
    pub(super) fn is_within(&self, percent: f64) -> bool {
        self.behind_percent() <= percent + self.slowdown.noise_percent()
    }
}

impl Contestants {
    /// Measures one cell.
    pub(super) fn run_cell(&mut self, session: &mut Session, cell: Cell) -> Result<CellFigures> {
        let work = |contestant: &dyn Contestant| {
            let places = contestant.places(cell.update_bytes);
            Work::new(cell.access, cell.update_bytes, places)
        };
        let mut works = Works {
            ours: work(self.plain.as_ref()),
            library: self.library_plain.as_deref().map(work),
        };
        let variants = if cell.replicas == 0 { &[] } else { session.choices.variants.as_slice() };
        let mut figures = CellFigures {
            cell,
            plain: Series::default(),
            variants: variants.iter().map(|variant| (*variant, Series::default())).collect(),
            library: works.library.is_some().then(Default::default),
            chosen_plain: self.plain.chosen(cell.access, cell.update_bytes),
            chosen: None,
            last: None,
        };
        if let Some(replicated) = &mut self.replicated {
            replicated.select(Variant::Switched)?;
            figures.chosen = replicated.chosen(cell.access, cell.update_bytes);
        }
        for round in 0..session.choices.rounds {
            self.run_round(session, &mut works, &mut figures, round)?;
        }
        figures.last = self.run_final(session, &mut works, &figures)?;
        Ok(figures)
    }

    /// Lets every contestant run once.
    fn run_round(
        &mut self,
        session: &mut Session,
        works: &mut Works,
        figures: &mut CellFigures,
        round: usize,
    ) -> Result<()> {
        let cell = figures.cell;
        match &mut self.replicated {
            None => {
                let rate = measure(session, cell, self.plain.as_mut(), &mut works.ours)?;
                figures.plain.rates.push(rate);
            }
            Some(replicated) => {
                let order = order(figures.variants.len(), round);
                for chunk in order.chunks(VARIANTS_PER_BASELINE) {
                    let baseline = measure(session, cell, self.plain.as_mut(), &mut works.ours)?;
                    figures.plain.rates.push(baseline);
                    for index in chunk {
                        let (variant, series) = &mut figures.variants[*index];
                        replicated.select(*variant)?;
                        let rate = measure(session, cell, replicated.as_mut(), &mut works.ours)?;
                        series.push(rate, baseline);
                    }
                }
            }
        }
        if let (Some(plain), Some(work)) = (&mut self.library_plain, &mut works.library) {
            let (plain_series, series) = figures.library.get_or_insert_default();
            let baseline = measure(session, cell, plain.as_mut(), work)?;
            plain_series.rates.push(baseline);
            if let Some(replicated) = &mut self.library_replicated {
                series.push(measure(session, cell, replicated.as_mut(), work)?, baseline);
            }
        }
        Ok(())
    }

    /// Lets the switch and the best static mechanisms run again, in turn; none if there is no
    /// switch or nothing else.
    fn run_final(
        &mut self,
        session: &mut Session,
        works: &mut Works,
        figures: &CellFigures,
    ) -> Result<Option<Final>> {
        let finalists = figures.finalists();
        let Some(replicated) = &mut self.replicated else {
            return Ok(None);
        };
        if finalists.len() < 2 || figures.series_of(Variant::Switched).is_none() {
            return Ok(None);
        }
        let mut runs: Vec<(Variant, Vec<f64>)> =
            finalists.into_iter().map(|variant| (variant, Vec::new())).collect();
        for round in 0..session.choices.final_rounds() {
            for index in order(runs.len(), round) {
                let (variant, rates) = &mut runs[index];
                replicated.select(*variant)?;
                rates.push(measure(session, figures.cell, replicated.as_mut(), &mut works.ours)?);
            }
        }
        Ok(Final::judge(&runs))
    }
}

/// Lets a contestant run; returns updates a second, without those that warm up.
fn measure(
    session: &mut Session,
    cell: Cell,
    contestant: &mut dyn Contestant,
    work: &mut Work,
) -> Result<f64> {
    session.interrupt.check()?;
    contestant.slice(work, session.slice / WARM_UP_SHARE)?;
    let rate = contestant.slice(work, session.slice)?;
    session.progress.advance(&cell.title());
    Ok(rate)
}

/// Returns `0..count` in the order of a round: each round begins elsewhere and goes on by other
/// steps.
fn order(count: usize, round: usize) -> Vec<usize> {
    let is_step = |step: &usize| greatest_common_divisor(*step, count) == 1;
    let steps: Vec<usize> = (1..count.max(2)).filter(is_step).collect();
    // There is a step: 1 divides everything.
    let step = steps.get(round % steps.len().max(1)).copied().unwrap_or(1);
    (0..count).map(|position| (round + position * step) % count).collect()
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use nacre_pmem::replicate::Mechanism;

    use super::*;

    #[test]
    fn every_round_has_everybody_once_with_other_neighbours() {
        for count in 0..=50 {
            let mut pairs = Vec::new();
            for round in 0..3 {
                let order = order(count, round);
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..count).collect::<Vec<_>>());
                pairs.extend(order.windows(2).map(|pair| (pair[0], pair[1])));
            }
            let all = pairs.len();
            pairs.sort_unstable();
            pairs.dedup();
            assert!(pairs.len() == all || count < 7, "{count}: {} of {all}", pairs.len());
        }
    }

    #[test]
    fn final_is_judged_by_pairs_of_runs() {
        let [a, b] = [Mechanism::PMDK, Mechanism::SF_PF].map(Variant::Static);
        let runs = [
            (Variant::Switched, vec![10.0, 20.0, 40.0]),
            (a, vec![9.0, 18.0, 36.0]),
            (b, vec![11.0, 22.0, 44.0]),
        ];
        let last = Final::judge(&runs).unwrap();
        assert_eq!(last.best, b);
        assert!((last.behind_percent() - 10.0).abs() < 1e-9);
        assert!(last.is_within(10.1) && !last.is_within(5.0));
        assert_eq!(Final::judge(&runs[..1]), None);
    }
}
