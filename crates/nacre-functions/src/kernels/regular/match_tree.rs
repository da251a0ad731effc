//! Which part of a match each group has.
//!
//! PostgreSQL finds where a match begins and ends first, and takes it apart then: of two parts the
//! first one takes as much as it can, or as little, of what leaves a match for the second one.
//!
//! ```text
//! a*(b|ab)c     a* before (b|ab) before c: `a*` takes most
//! (x){2,3}      x{1,2} before (x): only the last one counts
//! (x)*          one x after the other, each of which takes most
//! ```

use nacre_types::ValueError;

use super::pattern::{MatchPreference, PatternError, PatternNode};
use super::program::{CharacterProgram, RunBudget};

/// Most repetitions that are taken apart one by one.
const COUNTED_MAX: u32 = 32;

/// Start and end of a part of a text.
pub(super) type TextSpan = (usize, usize);

/// A pattern whose parts are found in a match.
#[derive(Clone, Debug)]
pub(super) struct MatchTree {
    program: CharacterProgram,
    preference: Option<MatchPreference>,
    form: TreeForm,
}

#[derive(Clone, Debug)]
enum TreeForm {
    /// Without groups.
    Plain,
    Group {
        number: usize,
        inner: Box<MatchTree>,
    },
    Pair(Box<[MatchTree; 2]>),
    Choice(Vec<MatchTree>),
    Repeat {
        inner: Box<MatchTree>,
        /// What is behind one: any number, or the key so many.
        rests: Vec<CharacterProgram>,
        is_counted: bool,
    },
}

impl MatchTree {
    /// Makes the tree of a pattern.
    ///
    /// # Errors
    /// [`PatternError::Unknown`] for one that is too large.
    pub(super) fn new(node: &PatternNode) -> Result<Self, PatternError> {
        match node {
            PatternNode::Set(_) | PatternNode::Assertion(_) | PatternNode::Look { .. } => {
                Self::plain(node, None)
            }
            PatternNode::Group { number, inner } => {
                let inner = Self::new(inner)?;
                let Some(number) = *number else { return Ok(inner) };
                let (program, preference) = (inner.program.clone(), inner.preference);
                let form = TreeForm::Group { number, inner: Box::new(inner) };
                Ok(Self { program, preference, form })
            }
            PatternNode::Choice(parts) => {
                let trees = parts.iter().map(Self::new).collect::<Result<Vec<_>, _>>()?;
                let preference = Some(MatchPreference::Longer);
                if trees.iter().all(Self::is_plain) {
                    return Self::plain(node, preference);
                }
                let program = CharacterProgram::new(node)?;
                Ok(Self { program, preference, form: TreeForm::Choice(trees) })
            }
            PatternNode::Sequence(parts) => Self::of_sequence(parts),
            PatternNode::Repeat { inner, low, high, preference } => {
                Self::of_repeat(inner, *low, *high, *preference)
            }
        }
    }

    fn plain(
        node: &PatternNode,
        preference: Option<MatchPreference>,
    ) -> Result<Self, PatternError> {
        let program = CharacterProgram::new(node)?;
        Ok(Self { program, preference, form: TreeForm::Plain })
    }

    fn is_plain(&self) -> bool {
        matches!(self.form, TreeForm::Plain)
    }

    /// Parts without parentheses that prefer the same are one part.
    fn of_sequence(parts: &[PatternNode]) -> Result<Self, PatternError> {
        let mut before = None;
        for (index, part) in parts.iter().enumerate() {
            let own = match part {
                PatternNode::Repeat { preference, .. } => *preference,
                _ => None,
            };
            let is_other = before.is_some() && own.is_some() && before != own;
            if !part.is_parenthesized() && !is_other {
                before = before.or(own);
                continue;
            }
            let mut tail = Self::new(part)?;
            if index + 1 < parts.len() {
                let rest = Self::of_sequence(&parts[index + 1..])?;
                tail = Self::pair(tail, rest, &parts[index..])?;
            }
            if index == 0 {
                return Ok(tail);
            }
            let head = PatternNode::Sequence(parts[..index].to_vec());
            return Self::pair(Self::plain(&head, before)?, tail, parts);
        }
        Self::plain(&PatternNode::Sequence(parts.to_vec()), before)
    }

    fn pair(first: Self, second: Self, parts: &[PatternNode]) -> Result<Self, PatternError> {
        let preference = first.preference.or(second.preference);
        let node = PatternNode::Sequence(parts.to_vec());
        if first.is_plain() && second.is_plain() {
            return Self::plain(&node, preference);
        }
        let program = CharacterProgram::new(&node)?;
        Ok(Self { program, preference, form: TreeForm::Pair(Box::new([first, second])) })
    }

    fn of_repeat(
        node: &PatternNode,
        low: u32,
        high: Option<u32>,
        preference: Option<MatchPreference>,
    ) -> Result<Self, PatternError> {
        let inner = Self::new(node)?;
        let program = CharacterProgram::repeated(node, low, high)?;
        if high == Some(0) {
            return Ok(Self { program, preference: None, form: TreeForm::Plain });
        }
        let preference = preference.or(inner.preference);
        if inner.is_plain() {
            return Ok(Self { program, preference, form: TreeForm::Plain });
        }
        if low > 0 {
            let (low, high) = (low - 1, high.map(|high| high - 1));
            let before = CharacterProgram::repeated(node, low, high)?;
            let before = Self { program: before, preference, form: TreeForm::Plain };
            let form = TreeForm::Pair(Box::new([before, inner]));
            return Ok(Self { program, preference, form });
        }
        let is_counted = high.is_some();
        let rests = match high {
            None => vec![CharacterProgram::repeated(node, 0, None)?],
            Some(high) if high <= COUNTED_MAX => (0..high)
                .map(|count| CharacterProgram::repeated(node, 0, Some(count)))
                .collect::<Result<_, _>>()?,
            Some(_) => return Err(PatternError::Unknown),
        };
        let form = TreeForm::Repeat { inner: Box::new(inner), rests, is_counted };
        Ok(Self { program, preference, form })
    }

    fn is_shorter(&self) -> bool {
        self.preference == Some(MatchPreference::Shorter)
    }

    /// Whether a match begins at a place of the text or behind it, and where.
    ///
    /// # Errors
    /// 0A000 for what takes too long, as all that runs.
    pub(super) fn first_start(
        &self,
        text: &str,
        from: usize,
        budget: &RunBudget,
    ) -> Result<Option<usize>, ValueError> {
        self.program.first_start(text, from, budget)
    }

    /// Returns the spans of a match that begins at a place: its own, and those of groups.
    pub(super) fn match_at(
        &self,
        text: &str,
        start: usize,
        group_count: usize,
        budget: &RunBudget,
    ) -> Result<Option<Vec<Option<TextSpan>>>, ValueError> {
        let ends = self.program.ends(text, start, text.len(), self.is_shorter(), budget)?;
        let Some(end) = ends.last().copied() else { return Ok(None) };
        let mut spans = vec![None; group_count + 1];
        spans[0] = Some((start, end));
        self.take_apart(text, (start, end), &mut spans, budget)?;
        Ok(Some(spans))
    }

    fn take_apart(
        &self,
        text: &str,
        span: TextSpan,
        spans: &mut [Option<TextSpan>],
        budget: &RunBudget,
    ) -> Result<(), ValueError> {
        match &self.form {
            TreeForm::Plain => Ok(()),
            TreeForm::Group { number, inner } => {
                if let Some(own) = spans.get_mut(*number) {
                    *own = Some(span);
                }
                inner.take_apart(text, span, spans, budget)
            }
            TreeForm::Pair(pair) => {
                let [first, second] = &**pair;
                let ends = first.program.ends(text, span.0, span.1, false, budget)?;
                let is_longer = !first.is_shorter();
                let middle = best_place(&second.program, text, &ends, span.1, is_longer, budget)?;
                first.take_apart(text, (span.0, middle), spans, budget)?;
                second.take_apart(text, (middle, span.1), spans, budget)
            }
            TreeForm::Choice(trees) => {
                for tree in trees {
                    let place = [span.0];
                    let found = tree.program.best_start(text, &place, span.1, false, budget)?;
                    if found.is_some() {
                        return tree.take_apart(text, span, spans, budget);
                    }
                }
                Err(lost_match())
            }
            TreeForm::Repeat { inner, rests, is_counted } => {
                if span.0 == span.1 {
                    // What takes most takes an empty text, too.
                    let has_one = !inner.is_shorter()
                        && !inner.program.ends(text, span.0, span.1, true, budget)?.is_empty();
                    return if has_one {
                        inner.take_apart(text, span, spans, budget)
                    } else {
                        Ok(())
                    };
                }
                let mut own = span;
                // The last one has the groups.
                for count in 1.. {
                    let ends = inner.program.ends(text, own.0, span.1, false, budget)?;
                    let ends: Vec<usize> = ends.into_iter().filter(|end| *end > own.0).collect();
                    let rest = if *is_counted { rests.len().checked_sub(count) } else { Some(0) };
                    let rest = rest.and_then(|rest| rests.get(rest)).ok_or_else(lost_match)?;
                    let is_longer = !inner.is_shorter();
                    let end = best_place(rest, text, &ends, span.1, is_longer, budget)?;
                    if end == span.1 {
                        return inner.take_apart(text, (own.0, end), spans, budget);
                    }
                    own.0 = end;
                }
                Ok(())
            }
        }
    }
}

/// Returns the last of some places, or the first one, from which a program goes to the end.
fn best_place(
    program: &CharacterProgram,
    text: &str,
    places: &[usize],
    end: usize,
    is_later_better: bool,
    budget: &RunBudget,
) -> Result<usize, ValueError> {
    if let [only] = places {
        return Ok(*only);
    }
    let best = program.best_start(text, places, end, is_later_better, budget)?;
    best.ok_or_else(lost_match)
}

/// There is a match, so that its parts are there.
fn lost_match() -> ValueError {
    ValueError::internal("a match without its parts")
}
