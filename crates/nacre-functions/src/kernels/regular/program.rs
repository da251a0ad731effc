//! Runs a pattern over a text: all its ways at once, a character at a time.
//!
//! A thread is a step of the program with the place where its match began. Of threads at one step
//! the one that is better stays, so that a run takes time by the length of the text times that of
//! the program.

use std::cell::Cell;

use nacre_types::ValueError;

use super::character_set::{CharacterClass, CharacterSet};
use super::pattern::{PatternAssertion, PatternError, PatternNode};

/// Most steps of a program.
const STEPS_MAX: usize = 20_000;

/// What a step does.
#[derive(Clone, Debug)]
enum ProgramStep {
    /// Takes a character, and goes to the next step.
    Set(CharacterSet),
    /// Goes to both.
    Split(usize, usize),
    Jump(usize),
    Check(PatternAssertion),
    Look {
        program: CharacterProgram,
        is_ahead: bool,
        is_wanted: bool,
    },
    End,
}

/// A pattern as steps; the first one is at 0.
#[derive(Clone, Debug)]
pub(super) struct CharacterProgram {
    steps: Vec<ProgramStep>,
}

/// What a call may do before it is refused: kernels are not interrupted.
#[derive(Debug)]
pub(super) struct RunBudget(Cell<u64>);

impl RunBudget {
    /// Steps of all threads of a call, about a second.
    const STEPS_MAX: u64 = 50_000_000;

    pub(super) fn new() -> Self {
        Self::of_steps(Self::STEPS_MAX)
    }

    pub(super) fn of_steps(steps: u64) -> Self {
        Self(Cell::new(steps))
    }

    fn spend(&self, steps: usize) -> Result<(), ValueError> {
        let left = self.0.get().checked_sub(steps as u64 + 1);
        let refuse = || ValueError::not_supported("a regular expression that takes this long");
        self.0.set(left.ok_or_else(refuse)?);
        Ok(())
    }
}

/// Where threads begin.
#[derive(Clone, Copy)]
enum RunStarts<'s> {
    /// Everywhere from here on, until there is a match; an earlier one is better.
    From(usize),
    /// At these places, in ascending order.
    At { places: &'s [usize], is_later_better: bool },
}

impl RunStarts<'_> {
    fn is_later_better(self) -> bool {
        matches!(self, Self::At { is_later_better: true, .. })
    }

    /// Returns the first place from there on.
    fn next(self, at: usize) -> Option<usize> {
        match self {
            Self::From(start) => Some(at.max(start)),
            Self::At { places, .. } => {
                places.get(places.partition_point(|place| *place < at)).copied()
            }
        }
    }
}

#[derive(Clone, Copy)]
struct RunThread {
    step: usize,
    start: usize,
}

impl CharacterProgram {
    /// Makes the program of a pattern.
    ///
    /// # Errors
    /// [`PatternError::Unknown`] for one that is too large.
    pub(super) fn new(node: &PatternNode) -> Result<Self, PatternError> {
        let mut program = Self { steps: Vec::new() };
        program.add(node)?;
        program.push(ProgramStep::End)?;
        Ok(program)
    }

    /// Makes the program of a pattern that is repeated up to so many times.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(super) fn repeated(
        node: &PatternNode,
        low: u32,
        high: Option<u32>,
    ) -> Result<Self, PatternError> {
        let mut program = Self { steps: Vec::new() };
        program.add_repeat(node, low, high)?;
        program.push(ProgramStep::End)?;
        Ok(program)
    }

    fn push(&mut self, step: ProgramStep) -> Result<(), PatternError> {
        if self.steps.len() == STEPS_MAX {
            return Err(PatternError::Unknown);
        }
        self.steps.push(step);
        Ok(())
    }

    fn add(&mut self, node: &PatternNode) -> Result<(), PatternError> {
        match node {
            PatternNode::Set(set) => self.push(ProgramStep::Set(set.clone())),
            PatternNode::Assertion(assertion) => self.push(ProgramStep::Check(*assertion)),
            PatternNode::Group { inner, .. } => self.add(inner),
            PatternNode::Sequence(parts) => parts.iter().try_for_each(|part| self.add(part)),
            PatternNode::Choice(parts) => self.add_choice(parts),
            PatternNode::Repeat { inner, low, high, .. } => self.add_repeat(inner, *low, *high),
            PatternNode::Look { inner, is_ahead, is_wanted } => {
                let (is_ahead, is_wanted) = (*is_ahead, *is_wanted);
                self.push(ProgramStep::Look { program: Self::new(inner)?, is_ahead, is_wanted })
            }
        }
    }

    fn add_choice(&mut self, parts: &[PatternNode]) -> Result<(), PatternError> {
        let mut jumps = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let split = self.steps.len();
            if index + 1 < parts.len() {
                self.push(ProgramStep::Split(split + 1, 0))?;
            }
            self.add(part)?;
            if index + 1 < parts.len() {
                jumps.push(self.steps.len());
                self.push(ProgramStep::Jump(0))?;
                self.steps[split] = ProgramStep::Split(split + 1, self.steps.len());
            }
        }
        let end = self.steps.len();
        for jump in jumps {
            self.steps[jump] = ProgramStep::Jump(end);
        }
        Ok(())
    }

    fn add_repeat(
        &mut self,
        node: &PatternNode,
        low: u32,
        high: Option<u32>,
    ) -> Result<(), PatternError> {
        for _ in 0..low {
            self.add(node)?;
        }
        let Some(high) = high else {
            let split = self.steps.len();
            self.push(ProgramStep::Split(split + 1, 0))?;
            self.add(node)?;
            self.push(ProgramStep::Jump(split))?;
            self.steps[split] = ProgramStep::Split(split + 1, self.steps.len());
            return Ok(());
        };
        let mut splits = Vec::new();
        for _ in low..high {
            splits.push(self.steps.len());
            self.push(ProgramStep::Jump(0))?;
            self.add(node)?;
        }
        let end = self.steps.len();
        for split in splits {
            self.steps[split] = ProgramStep::Split(split + 1, end);
        }
        Ok(())
    }

    /// Returns where matches end that begin at a place, in ascending order, up to `limit`; the
    /// first one alone if that is enough.
    ///
    /// # Errors
    /// 0A000 for what takes too long, as all runs.
    pub(super) fn ends(
        &self,
        text: &str,
        start: usize,
        limit: usize,
        is_first_enough: bool,
        budget: &RunBudget,
    ) -> Result<Vec<usize>, ValueError> {
        let mut ends = Vec::new();
        let starts = RunStarts::At { places: &[start], is_later_better: false };
        ProgramRun::new(self, text, budget).run(starts, limit, &mut |at, _| {
            ends.push(at);
            !is_first_enough
        })?;
        Ok(ends)
    }

    /// Returns the last one of places, or the first one, from which a match goes to `end`.
    pub(super) fn best_start(
        &self,
        text: &str,
        places: &[usize],
        end: usize,
        is_later_better: bool,
        budget: &RunBudget,
    ) -> Result<Option<usize>, ValueError> {
        let mut best = None;
        let starts = RunStarts::At { places, is_later_better };
        ProgramRun::new(self, text, budget).run(starts, end, &mut |at, start| {
            if at == end {
                best = Some(start);
            }
            true
        })?;
        Ok(best)
    }

    /// Returns where the first match from a place on begins.
    pub(super) fn first_start(
        &self,
        text: &str,
        from: usize,
        budget: &RunBudget,
    ) -> Result<Option<usize>, ValueError> {
        let mut best = None;
        ProgramRun::new(self, text, budget).run(
            RunStarts::From(from),
            text.len(),
            &mut |_, start| {
                best = Some(start);
                true
            },
        )?;
        Ok(best)
    }

    /// Whether a match ends at a place.
    fn ends_at(&self, text: &str, at: usize, budget: &RunBudget) -> Result<bool, ValueError> {
        let places: Vec<usize> = (0..=at).filter(|place| text.is_char_boundary(*place)).collect();
        Ok(self.best_start(text, &places, at, false, budget)?.is_some())
    }
}

/// A run of a program.
struct ProgramRun<'r> {
    program: &'r CharacterProgram,
    text: &'r str,
    budget: &'r RunBudget,
    /// At which place each step was reached last, from 1; 0 is never.
    reached: Vec<usize>,
    /// Threads that wait for a character.
    waiting: Vec<RunThread>,
    /// Where the best match began that ends here.
    ended: Option<usize>,
    stack: Vec<usize>,
}

impl<'r> ProgramRun<'r> {
    fn new(program: &'r CharacterProgram, text: &'r str, budget: &'r RunBudget) -> Self {
        let reached = vec![0; program.steps.len()];
        let (waiting, stack) = (Vec::new(), Vec::new());
        Self { program, text, budget, reached, waiting, ended: None, stack }
    }

    /// Calls `found` with the end and the start of the best match for each end, until that is
    /// false.
    fn run(
        &mut self,
        starts: RunStarts<'_>,
        limit: usize,
        found: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<(), ValueError> {
        let is_search = matches!(starts, RunStarts::From(_));
        let mut threads: Vec<RunThread> = Vec::new();
        // Matches that begin at it or behind are no better than one that was found.
        let mut bound = usize::MAX;
        let Some(mut at) = starts.next(0) else { return Ok(()) };
        while at <= limit {
            (self.ended, self.waiting) = (None, std::mem::take(&mut self.waiting));
            self.waiting.clear();
            let begins = starts.next(at) == Some(at) && at < bound;
            if begins && starts.is_later_better() {
                self.reach(RunThread { step: 0, start: at }, at)?;
            }
            for thread in threads.drain(..) {
                if thread.start < bound {
                    self.reach(thread, at)?;
                }
            }
            if begins && !starts.is_later_better() {
                self.reach(RunThread { step: 0, start: at }, at)?;
            }
            if let Some(start) = self.ended {
                if !found(at, start) {
                    return Ok(());
                }
                if is_search {
                    bound = start;
                }
            }
            let Some(letter) = self.text[at..].chars().next() else { return Ok(()) };
            self.budget.spend(self.waiting.len())?;
            for RunThread { step, start } in &self.waiting {
                if let ProgramStep::Set(set) = &self.program.steps[*step]
                    && *start < bound
                    && set.contains(letter)
                {
                    threads.push(RunThread { step: step + 1, start: *start });
                }
            }
            at += letter.len_utf8();
            if threads.is_empty() {
                match starts.next(at) {
                    Some(next) if bound == usize::MAX => at = next,
                    _ => return Ok(()),
                }
            }
        }
        Ok(())
    }

    /// Follows a thread to all steps that wait for a character.
    fn reach(&mut self, thread: RunThread, at: usize) -> Result<(), ValueError> {
        self.stack.push(thread.step);
        let mut count = 0;
        while let Some(step) = self.stack.pop() {
            if std::mem::replace(&mut self.reached[step], at + 1) == at + 1 {
                continue;
            }
            count += 1;
            match &self.program.steps[step] {
                ProgramStep::Set(_) => {
                    self.waiting.push(RunThread { step, start: thread.start });
                }
                ProgramStep::Split(first, second) => self.stack.extend([*second, *first]),
                ProgramStep::Jump(next) => self.stack.push(*next),
                ProgramStep::Check(assertion) => {
                    if holds(*assertion, self.text, at) {
                        self.stack.push(step + 1);
                    }
                }
                ProgramStep::Look { program, is_ahead, is_wanted } => {
                    let is_there = if *is_ahead {
                        let ends =
                            program.ends(self.text, at, self.text.len(), true, self.budget)?;
                        !ends.is_empty()
                    } else {
                        program.ends_at(self.text, at, self.budget)?
                    };
                    if is_there == *is_wanted {
                        self.stack.push(step + 1);
                    }
                }
                ProgramStep::End => {
                    self.ended = self.ended.or(Some(thread.start));
                }
            }
        }
        self.budget.spend(count)
    }
}

/// Whether a place of a text is what an assertion says.
fn holds(assertion: PatternAssertion, text: &str, at: usize) -> bool {
    use PatternAssertion as A;
    let (before, behind) = text.split_at(at);
    let is_word =
        |letter: Option<char>| letter.is_some_and(|one| CharacterClass::Word.contains(one));
    let before_is_word = || is_word(before.chars().next_back());
    let behind_is_word = || is_word(behind.chars().next());
    match assertion {
        A::TextStart => before.is_empty(),
        A::TextEnd => behind.is_empty(),
        A::LineStart => before.is_empty() || before.ends_with('\n'),
        A::LineEnd => behind.is_empty() || behind.starts_with('\n'),
        A::WordStart => !before_is_word() && behind_is_word(),
        A::WordEnd => before_is_word() && !behind_is_word(),
        A::WordBoundary => before_is_word() != behind_is_word(),
        A::NoWordBoundary => before_is_word() == behind_is_word(),
    }
}
