//! Runs a workload once, then its check on images of every crash point.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::image::Replay;
use super::media::{FileMedia, Media};
use super::pick::{Image, Random, images, mix, whole};
use super::recorder::{Crash, Marks, Mode, Recorder};
use super::registry;
use super::report::{Outcome, Report, Violation, describe};
use super::trace::{Base, Event, Plant, Trace};
use crate::domain::Domain;
use crate::durability::Plan;
use crate::error::Result;
use crate::granularity::{DomainKind, Granularity};
use crate::probe::Probe;
use crate::settings::Settings;

/// Every so many images all bytes are compared, to find stores without a hook.
const COMPARE_INTERVAL: usize = 256;

/// How often a crash is followed by another one in the recovery from it.
const NESTED_MAX: usize = 2;

/// Explores what crashes during a workload can leave. All choices follow from the seed.
///
/// ```
/// use nacre_pmem::{Access, sim::Explorer};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let report = Explorer::new("counter", 1).images(100).run(
///     |domains| {
///         domains[0].create_pool("counter", 4096)?;
///         Ok(())
///     },
///     |domains, marks| {
///         let mut pool = domains[0].open_pool("counter", Access::ReadWrite)?;
///         for value in 1..5 {
///             pool.publish_u64(0, value)?;
///             marks.note(value); // promised from here on
///         }
///         Ok(())
///     },
///     |crash| {
///         let pool = crash.domains()[0].open_pool("counter", Access::ReadWrite)?;
///         let promised = crash.marks().last().copied().unwrap_or(0);
///         match pool.load_u64(0)? {
///             value if value == promised || value == promised + 1 => Ok(()),
///             value => Err(format!("{value} after {promised}").into()),
///         }
///     },
/// )?;
/// println!("{report}");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Explorer {
    structure: String,
    seed: u64,
    images_max: usize,
    media: Vec<Settings>,
    plant: Option<Plant>,
    nested_interval: usize,
    nested_images_max: usize,
    only_point: Option<usize>,
}

/// What follows an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The check runs to its end.
    Whole,
    /// It is cut short by a second crash.
    Crashed,
    /// The image is that of a killed process, and a crash follows: what neither this process nor
    /// the check made durable may still be lost.
    Killed,
}

/// What is the same for all images of one exploration.
struct Run<'a> {
    explorer: &'a Explorer,
    granularities: &'a [Granularity],
    check: &'a dyn Fn(&Crash<'_>) -> Outcome,
    report: Report,
    /// Events before the crash, outermost first.
    crash_points: Vec<usize>,
}

impl Explorer {
    /// An explorer of one simulated domain of cache-line granularity and at most 1,000 images.
    pub fn new(structure: &str, seed: u64) -> Explorer {
        Explorer {
            structure: structure.to_string(),
            seed,
            images_max: 1000,
            media: vec![Settings::default()],
            plant: None,
            nested_interval: 32,
            nested_images_max: 8,
            only_point: None,
        }
    }

    /// Sets how many images are checked: about so many at most, those in recovery included.
    pub fn images(mut self, images_max: usize) -> Explorer {
        self.images_max = images_max;
        self
    }

    /// Sets the domains: one each, of the granularity and with the flavours that it gives.
    pub fn media(mut self, media: &[Settings]) -> Explorer {
        self.media = media.to_vec();
        self
    }

    /// Simulates `count` domains of cache-line granularity.
    pub fn domains(self, count: usize) -> Explorer {
        self.media(&vec![Settings::default(); count])
    }

    /// Plants a bug into what was recorded.
    pub fn plant(mut self, plant: Plant) -> Explorer {
        self.plant = Some(plant);
        self
    }

    /// Cuts the check of every `interval`-th image short again, at most `images_max` times each,
    /// and the recovery from some of those once more; interval 0 never does.
    pub fn nested(mut self, interval: usize, images_max: usize) -> Explorer {
        self.nested_interval = interval;
        self.nested_images_max = images_max;
        self
    }

    /// Explores this crash point only: the number of events before it.
    pub fn only_point(mut self, point: Option<usize>) -> Explorer {
        self.only_point = point;
        self
    }

    /// Runs `setup` (not recorded: all it did is durable), records `workload`, and runs `check` on
    /// the images of crashes during the workload. Pools must be closed when a closure returns.
    ///
    /// A check may store; whatever it does after [`Crash::recovered`] is not cut short.
    ///
    /// # Errors
    /// The first violation. A failure of setup or workload is one, without crash points.
    pub fn run(
        &self,
        setup: impl FnOnce(&[Domain]) -> Outcome,
        workload: impl FnOnce(&[Domain], &Marks<'_>) -> Outcome,
        check: impl Fn(&Crash<'_>) -> Outcome,
    ) -> std::result::Result<Report, Violation> {
        let start = Instant::now();
        let plans = self.plans().map_err(|error| self.broken(error))?;
        let granularities: Vec<Granularity> = plans.iter().map(|plan| plan.granularity).collect();
        let (base, recorded) = self.record(&plans, setup, workload)?;
        let mut run = Run {
            explorer: self,
            granularities: &granularities,
            check: &check,
            report: Report::default(),
            crash_points: Vec::new(),
        };
        let trace = match self.plant {
            None => recorded,
            Some(plant) => match plant.apply(&recorded) {
                Some(trace) => trace,
                None => return Ok(run.report),
            },
        };
        run.report.events = trace.events.len();
        let mut replays: Vec<Replay> =
            (0..=NESTED_MAX).map(|_| Replay::new(domains(&plans))).collect();
        let media = Media::new(&base, &granularities);
        run.explore(&mut replays, media, &trace, None, self.images_max)?;
        run.report.elapsed = start.elapsed();
        Ok(run.report)
    }

    /// Counts the places where a plant of this kind could be put: `make` gets 0, 1, 2, ...
    /// Explores each and returns how many violate, and how many places there are.
    ///
    /// # Errors
    /// A failure of setup or workload.
    pub fn plant_everywhere(
        &self,
        make: impl Fn(usize) -> Plant,
        setup: impl Fn(&[Domain]) -> Outcome,
        workload: impl Fn(&[Domain], &Marks<'_>) -> Outcome,
        check: impl Fn(&Crash<'_>) -> Outcome,
    ) -> std::result::Result<(usize, usize), Violation> {
        let mut found = 0;
        for number in 0.. {
            let explorer = self.clone().plant(make(number));
            match explorer.run(&setup, &workload, &check) {
                Ok(report) if report.events == 0 => return Ok((found, number)),
                Ok(_) => {}
                Err(violation) if violation.crash_points.is_empty() => return Err(violation),
                Err(_) => found += 1,
            }
        }
        Ok((found, usize::MAX))
    }

    fn record(
        &self,
        plans: &[Plan],
        setup: impl FnOnce(&[Domain]) -> Outcome,
        workload: impl FnOnce(&[Domain], &Marks<'_>) -> Outcome,
    ) -> std::result::Result<(Base, Trace), Violation> {
        let domains = domains(plans);
        let recorder = Recorder::new();
        let _registered = Registered::new(&recorder, &domains);
        setup(&domains).map_err(|error| self.broken(format!("setup: {error}")))?;
        let base = snapshot(&domains, recorder.file_count());
        recorder.switch(Mode::Record);
        let outcome = workload(&domains, &Marks(&recorder));
        let (_, trace) = recorder.switch(Mode::Idle);
        outcome.map_err(|error| self.broken(format!("workload: {error}")))?;
        let after = snapshot(&domains, trace.file_count);
        self.compare(&base, &trace, &after, plans)?;
        Ok((base, trace))
    }

    /// Finds stores that no hook reported.
    fn compare(
        &self,
        base: &Base,
        trace: &Trace,
        after: &Base,
        plans: &[Plan],
    ) -> std::result::Result<(), Violation> {
        let granularities: Vec<Granularity> = plans.iter().map(|plan| plan.granularity).collect();
        let mut media = Media::new(base, &granularities);
        media.expect_files(trace.file_count);
        (0..trace.events.len()).for_each(|number| media.apply(trace, number));
        let expected = media.base_with(&whole(&media));
        for (index, (expected, found)) in expected.files.iter().zip(&after.files).enumerate() {
            let different = expected.iter().zip(found).position(|(a, b)| a != b);
            if let Some(offset) = different.filter(|_| !found.is_empty()) {
                let problem = format!("file {index} was changed at {offset} without a hook");
                return Err(self.broken(problem));
            }
        }
        Ok(())
    }

    fn plans(&self) -> Result<Vec<Plan>> {
        let plan = |settings: &Settings| {
            let is_paged = settings.granularity == Some(Granularity::Page);
            let kind = if is_paged { DomainKind::File } else { DomainKind::Shm };
            Settings { kind: None, ..*settings }.resolve(&Probe {
                kind,
                file_system: "simulated".to_string(),
                is_memory_backed: true,
                caches_are_persistent: false,
                device: None,
            })
        };
        self.media.iter().map(plan).collect()
    }

    /// A violation that no image shows.
    fn broken(&self, problem: impl std::fmt::Display) -> Violation {
        Violation {
            structure: self.structure.clone(),
            seed: self.seed,
            crash_points: Vec::new(),
            problem: problem.to_string(),
            image: String::new(),
        }
    }
}

impl Run<'_> {
    /// Explores `trace`, which began with `media`. `marks` are those of the outer trace if this is
    /// a recovery.
    fn explore(
        &mut self,
        replays: &mut [Replay],
        mut media: Media,
        trace: &Trace,
        marks: Option<&[u64]>,
        images_max: usize,
    ) -> std::result::Result<(), Violation> {
        let Some((replay, deeper)) = replays.split_first_mut() else {
            return Ok(());
        };
        media.expect_files(trace.file_count);
        replay
            .begin(&media, &capacities(&media, trace))
            .map_err(|error| self.explorer.broken(format!("no room for images: {error}")))?;
        let points = points(trace);
        let all_marks = trace.marks();
        let (mut mark_count, mut applied) = (0, 0);
        let (mut left, mut seen) = (images_max, HashSet::new());
        for (number, &point) in points.iter().enumerate() {
            for event in applied..point {
                mark_count += usize::from(matches!(trace.events[event], Event::Mark(_)));
                media.apply(trace, event);
            }
            applied = point;
            let mut random = Random::new(self.explorer.seed ^ mix(point as u64 + 1));
            let is_chosen =
                self.explorer.only_point.is_none_or(|only| marks.is_some() || only == point);
            let allowance = allowance(left, points.len() - number, &mut random);
            if !is_chosen || allowance == 0 {
                continue;
            }
            self.report.points += usize::from(marks.is_none());
            self.crash_points.push(point);
            for image in images(&media, allowance, &mut random) {
                if !seen.insert(image.hash(&media) ^ mix(mark_count as u64)) {
                    continue;
                }
                let before = self.report.images;
                let marks_here = marks.unwrap_or(&all_marks[..mark_count]);
                self.report.images += 1;
                self.report.nested_images += usize::from(marks.is_some());
                let interval = self.interval(deeper);
                let is_cut_short = interval > 0 && self.report.images.is_multiple_of(interval);
                let end = if is_cut_short { End::Crashed } else { End::Whole };
                self.try_image(replay, deeper, &mut media, (&image, end), (trace, marks_here))?;
                left = left.saturating_sub(self.report.images - before);
            }
            let interval = self.interval(deeper);
            if interval > 0 && number % interval == interval / 2 && !media.open.is_empty() {
                let before = self.report.images;
                let marks_here = marks.unwrap_or(&all_marks[..mark_count]);
                self.report.images += 1;
                self.report.nested_images += usize::from(marks.is_some());
                let killed = (&whole(&media), End::Killed);
                self.try_image(replay, deeper, &mut media, killed, (trace, marks_here))?;
                left = left.saturating_sub(self.report.images - before);
            }
            self.crash_points.pop();
        }
        Ok(())
    }

    fn try_image(
        &mut self,
        replay: &mut Replay,
        deeper: &mut [Replay],
        media: &mut Media,
        (image, end): (&Image, End),
        (trace, marks): (&Trace, &[u64]),
    ) -> std::result::Result<(), Violation> {
        let settled = media.take_settled();
        replay
            .show(media, &settled, image)
            .map_err(|error| self.explorer.broken(format!("no room for images: {error}")))?;
        let number = self.report.images;
        if number.is_multiple_of(COMPARE_INTERVAL)
            && let Some((file, offset)) = replay.difference(media, image)
        {
            let problem = format!("a check changed file {file} at {offset} without a hook");
            return Err(self.violation(problem, media, image, trace));
        }
        let is_recorded = end != End::Whole;
        replay.recorder.switch(if is_recorded { Mode::Record } else { Mode::Track });
        let crash = Crash { domains: &replay.domains, marks, recorder: &replay.recorder };
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.check)(&crash)));
        let (changes, mut recovery) = replay.recorder.switch(Mode::Idle);
        replay.note(changes);
        let problem = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(panic) => Some(format!("panicked: {}", message(&*panic))),
        };
        if let Some(problem) = problem {
            return Err(self.violation(problem, media, image, trace));
        }
        if is_recorded {
            recovery.keep_recovery();
            let media = match end {
                End::Killed => media.killed(),
                _ => Media::new(&media.base_with(image), self.granularities),
            };
            let images_max = self.explorer.nested_images_max;
            self.explore(deeper, media, &recovery, Some(marks), images_max)?;
        }
        Ok(())
    }

    /// Every how many images or crash points something nested begins; 0: never.
    fn interval(&self, deeper: &[Replay]) -> usize {
        match self.explorer.only_point {
            _ if deeper.is_empty() => 0,
            // Which were cut short depends on all those before.
            Some(_) => self.explorer.nested_interval.min(1),
            None => self.explorer.nested_interval,
        }
    }

    fn violation(&self, problem: String, media: &Media, image: &Image, trace: &Trace) -> Violation {
        let point = self.crash_points.last().copied().unwrap_or(0);
        Violation {
            structure: self.explorer.structure.clone(),
            seed: self.explorer.seed,
            crash_points: self.crash_points.clone(),
            problem,
            image: describe(media, image, trace, point),
        }
    }
}

/// Lets a recorder hear about domains while it lives.
struct Registered<'a>(&'a Arc<Recorder>);

impl<'a> Registered<'a> {
    fn new(recorder: &'a Arc<Recorder>, domains: &[Domain]) -> Registered<'a> {
        registry::register(recorder, domains.iter().map(Domain::identity));
        Registered(recorder)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        registry::unregister(self.0);
    }
}

/// Makes the domains; the first one is called as databases call the directory that they lie in.
fn domains(plans: &[Plan]) -> Vec<Domain> {
    let named = |(index, plan): (usize, &Plan)| match index {
        0 => Domain::simulated("main", *plan),
        _ => Domain::simulated(&format!("sim{index}"), *plan),
    };
    plans.iter().enumerate().map(named).collect()
}

/// Reads all files of `domains`.
fn snapshot(domains: &[Domain], file_count: usize) -> Base {
    let (files, sizes) = (vec![Vec::new(); file_count], vec![0; file_count]);
    let mut base = Base { files, sizes, names: Vec::new() };
    for domain in domains {
        let mut names = super::trace::Names::new();
        for (name, file) in domain.memory_files() {
            let Some(index) = registry::file_index(&file) else {
                continue;
            };
            base.files[index] = read_all(&file);
            base.sizes[index] = base.files[index].len() as u64;
            names.insert(name, index);
        }
        base.names.push(names);
    }
    base
}

fn read_all(file: &std::fs::File) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let mut content = vec![0; bytes as usize];
    match file.read_exact_at(&mut content, 0) {
        Ok(()) => content,
        Err(_) => Vec::new(),
    }
}

/// Returns how large each file can become.
fn capacities(media: &Media, trace: &Trace) -> Vec<u64> {
    let largest = |file: &FileMedia| file.sizes.iter().copied().max().unwrap_or(0);
    let mut capacities: Vec<u64> = media.files.iter().map(largest).collect();
    for event in &trace.events {
        if let Event::Resized { file, bytes } = event {
            capacities[*file] = capacities[*file].max(*bytes);
        }
    }
    capacities
}

/// Returns the crash points worth a look: after other events the same images are possible as
/// before, or fewer.
fn points(trace: &Trace) -> Vec<usize> {
    let is_point = |at: &usize| {
        *at == 0
            || matches!(
                trace.events[*at - 1],
                Event::Store { .. }
                    | Event::Resized { .. }
                    | Event::Created { .. }
                    | Event::Renamed { .. }
                    | Event::Removed { .. }
                    | Event::Mark(_)
            )
    };
    (0..=trace.events.len()).filter(is_point).collect()
}

/// Shares `left` images among `points` crash points; if they are fewer, the dice choose.
fn allowance(left: usize, points: usize, random: &mut Random) -> usize {
    match left / points {
        0 => usize::from(random.below(points as u64) < left as u64),
        share => share,
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (None, Some(text)) => (*text).to_string(),
        (None, None) => "without a message".to_string(),
    }
}
