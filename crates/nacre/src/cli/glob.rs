//! Patterns for names: `*` and `%` stand for anything, `?` for one character.

/// Tells whether a name matches a pattern; both are compared in lower case.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    let name: Vec<char> = name.to_lowercase().chars().collect();
    // The last `*` and how much of the name it has taken, to go back to.
    let (mut star, mut taken) = (None, 0);
    let (mut p, mut n) = (0, 0);
    while n < name.len() {
        match pattern.get(p) {
            Some('*' | '%') => {
                star = Some(p);
                taken = n;
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some(star) = star else { return false };
                taken += 1;
                n = taken;
                p = star + 1;
            }
        }
    }
    pattern[p..].iter().all(|c| matches!(c, '*' | '%'))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_take_as_much_as_needed() {
        assert!(matches("line*", "lineitem") && matches("%item", "lineitem"));
        assert!(matches("*n*i*m", "lineitem") && matches("L?neitem", "lineitem"));
        assert!(matches("*", "") && matches("", "") && !matches("", "a"));
        assert!(!matches("line", "lineitem") && !matches("*x*", "lineitem"));
    }
}
