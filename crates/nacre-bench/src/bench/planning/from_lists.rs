//! Lists of relations in FROM, in another order.

use crate::workload::Random;

/// Words that end a list.
const ENDS: [&str; 9] =
    ["where", "group", "having", "window", "order", "limit", "union", "intersect", "except"];

/// Returns a query with the relations of each FROM in a random order, those of queries within it,
/// too. What JOIN joins stays together.
///
/// ```text
/// FROM a, b JOIN c ON b.x = c.x, (SELECT 1 FROM d, e) f WHERE ...
/// FROM (SELECT 1 FROM e, d) f, b JOIN c ON b.x = c.x, a WHERE ...
/// ```
pub(super) fn with_shuffled_relations(sql: &str, random: &mut Random) -> String {
    let mut shuffled = sql.to_owned();
    let words = words_of(sql);
    // From the last one on: what is before a list stays where it is, also if that is within one.
    for (start, word) in words.into_iter().rev() {
        if word.eq_ignore_ascii_case("from") {
            shuffle_list(&mut shuffled, start + word.len(), random);
        }
    }
    shuffled
}

/// Returns the words of a text with their places.
fn words_of(text: &str) -> Vec<(usize, &str)> {
    let is_letter = |one: char| one.is_alphanumeric() || one == '_';
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_letter) {
        let from_word = &rest[start..];
        let bytes = from_word.find(|one| !is_letter(one)).unwrap_or(from_word.len());
        words.push((text.len() - from_word.len(), &from_word[..bytes]));
        rest = &from_word[bytes..];
    }
    words
}

/// Shuffles the list that begins at a place.
fn shuffle_list(sql: &mut String, start: usize, random: &mut Random) {
    let list = &sql[start..];
    let list = &list[..list_bytes(list)];
    let end = start + list.trim_end().len();
    let mut relations: Vec<&str> = split_at_commas(list).into_iter().map(str::trim).collect();
    if relations.len() < 2 {
        return;
    }
    for last in (1..relations.len()).rev() {
        relations.swap(last, random.below(last as u64 + 1) as usize);
    }
    let shuffled = format!(" {}", relations.join(", "));
    sql.replace_range(start..end, &shuffled);
}

/// Returns the bytes of a list: up to the next clause, or the end of the query.
fn list_bytes(list: &str) -> usize {
    let mut depth = 0;
    let closed = list.char_indices().find(|(_, one)| {
        depth += depth_change(*one);
        depth < 0
    });
    let closed = closed.map_or(list.len(), |(place, _)| place);
    let is_end = |(place, word): &(usize, &str)| {
        let is_outer = || list[..*place].chars().map(depth_change).sum::<i32>() == 0;
        ENDS.iter().any(|end| word.eq_ignore_ascii_case(end)) && is_outer()
    };
    let next_clause = words_of(&list[..closed]).into_iter().find(is_end);
    next_clause.map_or(closed, |(place, _)| place)
}

/// Splits a list at the commas that stand in no parentheses.
fn split_at_commas(list: &str) -> Vec<&str> {
    let mut depth = 0;
    list.split(|one| {
        depth += depth_change(one);
        one == ',' && depth == 0
    })
    .collect()
}

fn depth_change(one: char) -> i32 {
    match one {
        '(' => 1,
        ')' => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_all_depths_are_shuffled_and_nothing_is_lost() {
        let sql = "select extract(year from d) from a, b x, (select y from c, d where y in (1, 2)) \
                   as e, f join g on f.i = g.i\nwhere a.i = (select 1 from h, k) order by 1, 2";
        let mut random = Random::of_row(1, 1);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..50 {
            let shuffled = with_shuffled_relations(sql, &mut random);
            let sorted = |text: &str| {
                let mut words: Vec<String> =
                    words_of(text).into_iter().map(|(_, word)| word.to_owned()).collect();
                words.sort_unstable();
                words
            };
            assert_eq!(sorted(&shuffled), sorted(sql));
            for kept in [
                "select extract(year from d) from ",
                " where y in (1, 2)) as e",
                "f join g on f.i = g.i",
                "\nwhere a.i = (select 1 from ",
                ") order by 1, 2",
            ] {
                assert!(shuffled.contains(kept), "{shuffled}");
            }
            seen.insert(shuffled);
        }
        assert!(seen.iter().any(|one| one.contains("(select y from d, c where")));
        assert!(seen.iter().any(|one| one.contains("(select 1 from k, h)")));
        assert!(seen.iter().any(|one| one.contains("from (select y")));
    }

    #[test]
    fn one_relation_stays() {
        let sql = "SELECT count(*) FROM t WHERE a IN (1, 2) ";
        assert_eq!(with_shuffled_relations(sql, &mut Random::of_row(1, 2)), sql);
    }
}
