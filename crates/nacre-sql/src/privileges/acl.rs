//! Grants as PostgreSQL's catalogs show them.

use nacre_store::{AccessState, Grant, PUBLIC_ROLE};

use super::rights::{Rights, WORDS};

/// Returns the text of an `aclitem`.
pub(crate) fn acl_text(state: &AccessState, grant: &Grant) -> String {
    let name = |role: u32| match state.role(role) {
        Some(role) => quoted(&role.name),
        None => role.to_string(),
    };
    let mut text = match grant.grantee {
        PUBLIC_ROLE => String::new(),
        grantee => name(grantee),
    };
    text.push('=');
    for (right, letter, _) in WORDS {
        if grant.privileges & right != 0 {
            text.push(letter);
            text.extend((grant.grantable & right != 0).then_some('*'));
        }
    }
    text.push('/');
    text.push_str(&name(grant.grantor));
    text
}

/// Returns a row for each privilege of a grant: its word, and whether it may be granted on.
pub(crate) fn grant_rows(grant: &Grant) -> impl Iterator<Item = (Rights, &'static str, bool)> {
    let Grant { privileges, grantable, .. } = *grant;
    let held = WORDS.into_iter().filter(move |(right, ..)| privileges & right != 0);
    held.map(move |(right, _, word)| (right, word, grantable & right != 0))
}

fn quoted(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}
