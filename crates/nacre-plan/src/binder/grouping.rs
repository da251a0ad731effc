//! GROUP BY: its keys, and the sets of them that rows are grouped by.
//!
//! ```text
//! group by a, rollup (b, (c, d))     (a, b, c, d) (a, b) (a)
//! group by cube (a, b)               (a, b) (a) (b) ()
//! ```

use nacre_syntax::SourceRange;
use nacre_syntax::{ExpressionKind, ExpressionNode, GroupClause, GroupItem, SetQuantifier};

use super::Binder;
use super::expressions::ExpressionPlace;
use super::ordering::{SortValue, bare_name, find_label};
use super::scope::Scope;
use super::select::BoundTarget;
use super::windows::refuse_windows;
use crate::algebra::{ScalarExpression, ScalarKind};
use crate::error::BindError;

/// PostgreSQL's limit.
const SETS_MAX: usize = 4_096;
/// PostgreSQL's limit.
const CUBE_ELEMENTS_MAX: usize = 12;

/// What rows are grouped by.
#[derive(Debug, Default)]
pub(super) struct BoundGrouping {
    /// No two are equal.
    pub(super) keys: Vec<ScalarExpression>,
    /// By index in the keys; `None` if all keys are the only set.
    pub(super) sets: Option<Vec<Vec<usize>>>,
    /// Whether there is a clause, which may have no keys.
    pub(super) is_written: bool,
}

/// Keys by index, without repetition.
type KeySet = Vec<usize>;

/// The keys of a clause under way.
struct KeyCollector<'b, 's, 'c> {
    binder: &'b mut Binder<'c>,
    targets: &'b mut [BoundTarget],
    scope: &'s Scope,
    keys: Vec<ScalarExpression>,
}

impl Binder<'_> {
    pub(super) fn bind_group_by(
        &mut self,
        clause: &GroupClause,
        targets: &mut [BoundTarget],
        scope: &Scope,
    ) -> Result<BoundGrouping, BindError> {
        let mut collector = KeyCollector { binder: self, targets, scope, keys: Vec::new() };
        let mut sets: Vec<KeySet> = vec![Vec::new()];
        for item in &clause.items {
            let own = collector.sets_of(item)?;
            if own.len() * sets.len() > SETS_MAX {
                return Err(too_many_sets(range_of(item)));
            }
            let with_own = |set: &KeySet| own.iter().map(|other| union(set, other)).collect();
            sets = sets.iter().flat_map::<Vec<KeySet>, _>(with_own).collect();
        }
        if clause.quantifier == SetQuantifier::Distinct {
            let mut distinct: Vec<KeySet> = Vec::new();
            for mut set in sets {
                set.sort_unstable();
                if !distinct.contains(&set) {
                    distinct.push(set);
                }
            }
            sets = distinct;
        }
        let keys = collector.keys;
        let is_plain = matches!(&sets[..], [set] if set.len() == keys.len());
        Ok(BoundGrouping { keys, sets: (!is_plain).then_some(sets), is_written: true })
    }
}

impl KeyCollector<'_, '_, '_> {
    /// Returns the sets that an item stands for.
    fn sets_of(&mut self, item: &GroupItem) -> Result<Vec<KeySet>, BindError> {
        Ok(match item {
            GroupItem::Value(node) => vec![self.element(node)?],
            GroupItem::Empty(_) => vec![Vec::new()],
            GroupItem::Rollup(nodes, _) => {
                let elements = self.elements(nodes)?;
                let prefix = |len: usize| all_of(&elements[..len]);
                (0..=elements.len()).rev().map(prefix).collect()
            }
            GroupItem::Cube(nodes, range) => {
                if nodes.len() > CUBE_ELEMENTS_MAX {
                    let message = format!("CUBE is limited to {CUBE_ELEMENTS_MAX} elements");
                    return Err(BindError::new("54011", message, *range));
                }
                let elements = self.elements(nodes)?;
                let subset = |left_out: usize| {
                    let chosen = elements.iter().enumerate();
                    let chosen = chosen.filter(|(index, _)| left_out >> index & 1 == 0);
                    chosen.fold(Vec::new(), |set, (_, element)| union(&set, element))
                };
                (0..1 << elements.len()).map(subset).collect()
            }
            GroupItem::Sets(items, range) => {
                let mut sets = Vec::new();
                for item in items {
                    sets.extend(self.sets_of(item)?);
                    if sets.len() > SETS_MAX {
                        return Err(too_many_sets(*range));
                    }
                }
                sets
            }
        })
    }

    fn elements(&mut self, nodes: &[ExpressionNode]) -> Result<Vec<KeySet>, BindError> {
        nodes.iter().map(|node| self.element(node)).collect()
    }

    /// Returns the key that an expression is, or those of a list in parentheses.
    fn element(&mut self, node: &ExpressionNode) -> Result<KeySet, BindError> {
        match &node.kind {
            ExpressionKind::Row { items, is_explicit: false } => {
                let keys = items.iter().map(|item| self.key(item).map(|key| vec![key]));
                Ok(all_of(&keys.collect::<Result<Vec<_>, _>>()?))
            }
            _ => Ok(vec![self.key(node)?]),
        }
    }

    fn key(&mut self, node: &ExpressionNode) -> Result<usize, BindError> {
        let place = ExpressionPlace::new(self.scope, "GROUP BY");
        // A name is a column of FROM first, and an output only if there is none.
        let named = match bare_name(node) {
            Some(name) if self.scope.column(name).is_err() => {
                find_label(name, self.targets, "GROUP BY")?
            }
            _ => None,
        };
        let value = match named {
            Some(index) => SortValue::Target(index),
            None => self.binder.bind_item(node, self.targets, place)?,
        };
        let key = match self.binder.settle_item(value, self.targets, "=")? {
            SortValue::Target(index) => self.targets[index].value.clone(),
            SortValue::Hidden(value) => *value,
        };
        let is_of_groups = |one: &ScalarExpression| {
            matches!(one.kind, ScalarKind::Aggregate(_) | ScalarKind::Grouping(_))
        };
        if key.any(&is_of_groups) {
            let message = "aggregate functions are not allowed in GROUP BY";
            return Err(BindError::new("42803", message, key.range));
        }
        refuse_windows(&key, "GROUP BY")?;
        let known = self.keys.iter().position(|own| *own == key);
        Ok(known.unwrap_or_else(|| {
            self.keys.push(key);
            self.keys.len() - 1
        }))
    }
}

fn union(set: &KeySet, other: &KeySet) -> KeySet {
    let mut set = set.clone();
    set.extend(other.iter().filter(|key| !set.contains(key)).copied().collect::<Vec<_>>());
    set
}

fn all_of(sets: &[KeySet]) -> KeySet {
    sets.iter().fold(Vec::new(), |all, set| union(&all, set))
}

fn range_of(item: &GroupItem) -> SourceRange {
    match item {
        GroupItem::Value(node) => node.range,
        GroupItem::Empty(range)
        | GroupItem::Rollup(_, range)
        | GroupItem::Cube(_, range)
        | GroupItem::Sets(_, range) => *range,
    }
}

fn too_many_sets(range: SourceRange) -> BindError {
    let message = format!("too many grouping sets present (maximum {SETS_MAX})");
    BindError::new("54001", message, range)
}
