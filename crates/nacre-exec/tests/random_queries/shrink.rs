//! Makes a query that fails smaller: parts are left out, or replaced by what stands below them, as
//! long as it fails in the same way.

use super::tree::QueryTree;

/// Most queries that are tried for one that fails.
const TRIES_MAX: usize = 600;

/// Returns a smaller query for which `fails` still holds.
pub(crate) fn shrink(mut query: QueryTree, fails: &mut dyn FnMut(&str) -> bool) -> QueryTree {
    let mut tries = 0;
    let mut path = Vec::new();
    loop {
        let before = query.text().len();
        shrink_below(&mut query, &mut path, &mut tries, fails);
        if query.text().len() >= before || tries >= TRIES_MAX {
            return query;
        }
    }
}

/// Tries to make the part at `path` smaller, then what stands below it.
fn shrink_below(
    query: &mut QueryTree,
    path: &mut Vec<usize>,
    tries: &mut usize,
    fails: &mut dyn FnMut(&str) -> bool,
) {
    let mut next = 0;
    while let Some(smaller) = replacements(part_at(query, path)).into_iter().nth(next) {
        if *tries >= TRIES_MAX {
            return;
        }
        let old = std::mem::replace(part_at(query, path), smaller);
        *tries += 1;
        let (new_text, old_len) = (part_at(query, path).text(), old.text().len());
        let is_smaller = new_text.len() < old_len;
        if is_smaller && fails(&query.text()) {
            next = 0;
        } else {
            *part_at(query, path) = old;
            next += 1;
        }
    }
    let mut child = 0;
    while child < part_at(query, path).children().len() {
        path.push(child);
        shrink_below(query, path, tries, fails);
        path.pop();
        child += 1;
    }
}

/// Returns the part at a path of children.
pub(super) fn part_at<'q>(mut query: &'q mut QueryTree, path: &[usize]) -> &'q mut QueryTree {
    for index in path {
        query = &mut query.children_mut()[*index];
    }
    query
}

/// Returns what may stand in the place of a part, the smallest first.
fn replacements(part: &QueryTree) -> Vec<QueryTree> {
    let mut found = Vec::new();
    match part {
        QueryTree::Optional(inner) if !inner.text().is_empty() => {
            found.push(QueryTree::optional(QueryTree::nothing()));
        }
        QueryTree::List(separator, items) if items.len() > 1 => {
            found.extend(items.iter().map(|item| QueryTree::List(separator, vec![item.clone()])));
            found.extend((0..items.len()).map(|out| {
                let mut rest = items.clone();
                rest.remove(out);
                QueryTree::List(separator, rest)
            }));
        }
        QueryTree::Value(value_type, inner) => {
            for constant in [value_type.simple(), &format!("null::{}", value_type.name())] {
                if inner.text().len() > constant.len() {
                    found.push(QueryTree::value(*value_type, constant.into()));
                }
            }
            collect(
                inner,
                &mut found,
                &|below| matches!(below, QueryTree::Value(own, _) if own == value_type),
            );
        }
        QueryTree::Item(inner) => {
            collect(inner, &mut found, &|below| matches!(below, QueryTree::Item(_)));
        }
        QueryTree::Query(columns, inner) => {
            collect(
                inner,
                &mut found,
                &|below| matches!(below, QueryTree::Query(own, _) if own == columns),
            );
        }
        _ => {}
    }
    found
}

/// Adds the uppermost parts below `part` of a kind.
fn collect(part: &QueryTree, found: &mut Vec<QueryTree>, is_wanted: &dyn Fn(&QueryTree) -> bool) {
    if is_wanted(part) {
        found.push(part.clone());
        return;
    }
    part.children().iter().for_each(|child| collect(child, found, is_wanted));
}
