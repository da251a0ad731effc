//! `has_table_privilege()` and the like, `pg_has_role()`, and what lists of grants say.
//!
//! Each of the former may begin with the role that is asked about, by name or number, else it is
//! the one that the session acts as; then the object, and a list of privileges, of which any is
//! enough.

use nacre_store::{AccessState, PUBLIC_ROLE, Securable};

use super::cells::{Cell, Row};
use super::fixed;
use super::functions::{Call, relation_of};
use super::objects::FIRST;
use crate::error::{Error, ErrorKind, Result};
use crate::names::{CATALOG, SCHEMA};
use crate::privileges::{
    Kind, Rights, SELECT, USAGE, WORDS, administers, default_grants, grantable_by, inherits,
    is_member, rights_of,
};

/// Letters of privileges in grants, in PostgreSQL's order; those of objects that cannot be granted
/// here among them.
const LETTERS: [(char, &str); 14] = [
    ('a', "INSERT"),
    ('r', "SELECT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('T', "TEMPORARY"),
    ('c', "CONNECT"),
    ('s', "SET"),
    ('A', "ALTER SYSTEM"),
];

/// A privilege that is asked for, and whether it is to be grantable.
type Asked = (Rights, bool);

/// Answers `has_table_privilege()`; with `has_column` the one for columns, which have those of
/// their table.
pub(super) fn of_table(call: &Call<'_>, args: &[Cell], has_column: bool) -> Result<Cell> {
    let count = if has_column { 3 } else { 2 };
    let (role, args) = role_asked(call, args, count)?;
    let asked = asked(args.last(), Kind::Table.all())?;
    let oid = relation_of(call, &args[0])?;
    if oid < i64::from(FIRST) {
        let state = call.access();
        let is_superuser = state.role(role).is_some_and(|role| role.is_superuser);
        let held = if is_superuser { Kind::Table.all() } else { SELECT };
        let is_there = oid > 0;
        let answer = asked.iter().any(|(right, option)| held & right != 0 && !option);
        return Ok(if is_there { answer.into() } else { Cell::Null });
    }
    relation(call, role, oid, &asked)
}

/// Answers `has_sequence_privilege()`.
pub(super) fn of_sequence(call: &Call<'_>, args: &[Cell]) -> Result<Cell> {
    let (role, args) = role_asked(call, args, 2)?;
    let asked = asked(args.last(), Kind::Sequence.all())?;
    let oid = relation_of(call, &args[0])?;
    relation(call, role, oid, &asked)
}

fn relation(call: &Call<'_>, role: u32, oid: i64, asked: &[Asked]) -> Result<Cell> {
    let state = call.access();
    let found = call.objects().relation(oid).map(|one| one.securable());
    Ok(found.map(|object| holds(&state, role, &object, asked)).into())
}

/// Answers `has_schema_privilege()`.
pub(super) fn of_schema(call: &Call<'_>, args: &[Cell]) -> Result<Cell> {
    let (role, args) = role_asked(call, args, 2)?;
    let asked = asked(args.last(), Kind::Schema.all())?;
    let name = match &args[0] {
        Cell::Text(name) => name.as_str(),
        number => {
            let known =
                fixed::SCHEMAS.iter().find(|(oid, _)| Some(i64::from(*oid)) == number.int());
            match known {
                Some((_, name)) => name,
                None => return Ok(Cell::Null),
            }
        }
    };
    let state = call.access();
    if name == SCHEMA {
        return Ok(holds(&state, role, &Securable::Schema, &asked).into());
    }
    if !fixed::SCHEMAS.iter().any(|(_, known)| *known == name) {
        let message = format!("schema \"{name}\" does not exist");
        return Err(Error::new(ErrorKind::UndefinedObject, message).with_code("3F000"));
    }
    Ok(system(&state, role, USAGE, &asked).into())
}

/// Answers `has_database_privilege()`.
pub(super) fn of_database(call: &Call<'_>, args: &[Cell]) -> Result<Cell> {
    let (role, args) = role_asked(call, args, 2)?;
    let asked = asked(args.last(), Kind::Database.all())?;
    match &args[0] {
        Cell::Text(name) if name != CATALOG => {
            let message = format!("database \"{name}\" does not exist");
            return Err(Error::new(ErrorKind::UndefinedObject, message).with_code("3D000"));
        }
        Cell::Text(_) => {}
        number if number.int() == Some(fixed::DATABASE.into()) => {}
        _ => return Ok(Cell::Null),
    }
    let state = call.access();
    Ok(holds(&state, role, &Securable::Database, &asked).into())
}

/// Answers for what everybody may use and nobody can be granted: functions, languages, types. Only
/// superusers may do anything with a tablespace.
pub(super) fn of_others(call: &Call<'_>, args: &[Cell], is_public: bool) -> Result<Cell> {
    let (role, _) = role_asked(call, args, 2)?;
    let state = call.access();
    Ok((is_public || state.role(role).is_some_and(|role| role.is_superuser)).into())
}

/// Answers `acldefault()`: the grants of a new object of a kind, given by its letter, and owner.
///
/// # Errors
/// 22023 for letters of no kind.
pub(super) fn default_acl(call: &Call<'_>, args: &[Cell]) -> Result<Cell> {
    let letter = args[0].text().unwrap_or_default();
    let owner = args[1].int().and_then(|oid| u32::try_from(oid).ok()).unwrap_or(PUBLIC_ROLE);
    // Columns have no grants of their own.
    if letter == "c" {
        return Ok(Vec::<String>::new().into());
    }
    let (public, own) = match letter {
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "n" => ("", "UC"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "F" | "S" => ("", "U"),
        "L" => ("", "rw"),
        "t" => ("", "C"),
        "p" => ("", "sA"),
        other => {
            let message = format!("unrecognized object type abbreviation: {other}");
            return Err(Error::invalid_parameter(message));
        }
    };
    let name = super::roles::name_of(&call.access(), owner.into());
    let name = super::definitions::quoted(&name);
    let mut grants = Vec::new();
    if !public.is_empty() {
        grants.push(format!("={public}/{name}"));
    }
    grants.push(format!("{name}={own}/{name}"));
    Ok(grants.into())
}

/// Answers `nacre_aclexplode()`: a text for each privilege in a list of grants, for
/// [`part_of_grant`].
///
/// # Errors
/// 22P02 for what is no grant, 42704 for roles that are not there.
pub(super) fn exploded(call: &Call<'_>, args: &[Cell]) -> Result<Cell> {
    let Cell::List(items) = &args[0] else { return Ok(Cell::Null) };
    let state = call.access();
    let mut rows: Vec<String> = Vec::new();
    for item in items {
        let Some(text) = item.text() else {
            let message = "ACL arrays must not contain null values";
            return Err(Error::new(ErrorKind::InvalidData, message).with_code("22004"));
        };
        let (grantee, rest) = grant_name(text);
        let (letters, grantor) = rest.split_once('/').unwrap_or((rest, ""));
        let letters = letters.strip_prefix('=').ok_or_else(|| not_a_grant("missing \"=\" sign"))?;
        let grantee = if grantee.is_empty() { PUBLIC_ROLE } else { role_shown(&state, &grantee)? };
        let grantor = role_shown(&state, &grant_name(grantor).0)?;
        let mut held = Vec::new();
        for letter in letters.chars() {
            if let ('*', Some((_, option))) = (letter, held.last_mut()) {
                *option = true;
                continue;
            }
            let place = LETTERS.iter().position(|(known, _)| *known == letter);
            let place = place.ok_or_else(|| not_a_grant("invalid mode character"))?;
            held.push((place, false));
        }
        held.sort_unstable();
        rows.extend(
            held.into_iter().map(|(place, option)| {
                format!("{grantor} {grantee} {option} {}", LETTERS[place].1)
            }),
        );
    }
    Ok(rows.into())
}

/// Returns the rows of `aclexplode()`.
///
/// # Errors
/// As [`exploded`].
pub(super) fn exploded_rows(call: &Call<'_>, acl: &Cell) -> Result<Vec<Row>> {
    let Cell::List(grants) = exploded(call, std::slice::from_ref(acl))? else {
        return Ok(Vec::new());
    };
    const NAMES: [&str; 4] = ["grantor", "grantee", "is_grantable", "privilege_type"];
    let row = |grant: Cell| {
        let grant = [grant];
        NAMES.iter().enumerate().map(|(part, name)| (*name, part_of_grant(&grant, part))).collect()
    };
    Ok(grants.into_iter().map(row).collect())
}

/// Returns a part of a privilege that [`exploded`] tells of, by its number.
pub(super) fn part_of_grant(args: &[Cell], part: usize) -> Cell {
    let text = args[0].text().unwrap_or_default();
    let text = text.splitn(4, ' ').nth(part).unwrap_or_default();
    match part {
        0 | 1 => text.parse::<i64>().ok().into(),
        2 => (text == "true").into(),
        _ => text.into(),
    }
}

/// Takes a name, which may be in quotes, from the front.
fn grant_name(text: &str) -> (String, &str) {
    let (mut name, mut is_quoted) = (String::new(), false);
    let mut letters = text.char_indices().peekable();
    while let Some((at, one)) = letters.next() {
        match one {
            '"' if is_quoted && letters.next_if(|(_, next)| *next == '"').is_some() => {
                name.push('"');
            }
            '"' => is_quoted = !is_quoted,
            '=' | '/' if !is_quoted => return (name, &text[at..]),
            one => name.push(one),
        }
    }
    (name, "")
}

/// Returns the number of a role, which stands for one that is gone itself.
fn role_shown(state: &AccessState, name: &str) -> Result<u32> {
    match name.parse() {
        Ok(number) if state.role_named(name).is_none() => Ok(number),
        _ => role_of(state, &Cell::from(name)),
    }
}

fn not_a_grant(message: &str) -> Error {
    Error::new(ErrorKind::InvalidData, message).with_code("22P02")
}

/// Answers `pg_has_role()`.
pub(super) fn has_role(call: &Call<'_>, args: &[Cell]) -> Result<Cell> {
    let (role, args) = role_asked(call, args, 2)?;
    let state = call.access();
    let of = role_of(&state, &args[0])?;
    let text = args[1].shown().unwrap_or_default();
    for word in text.split(',') {
        let has = match word.trim().to_ascii_uppercase().as_str() {
            "USAGE" => inherits(&state, role, of),
            "MEMBER" => is_member(&state, role, of),
            "USAGE WITH ADMIN OPTION"
            | "USAGE WITH GRANT OPTION"
            | "MEMBER WITH ADMIN OPTION"
            | "MEMBER WITH GRANT OPTION" => administers(&state, role, of),
            _ => return Err(unrecognized(word)),
        };
        if has {
            return Ok(true.into());
        }
    }
    Ok(false.into())
}

/// Takes the role that is asked about from the front, if it is there.
fn role_asked<'a>(call: &Call<'_>, args: &'a [Cell], count: usize) -> Result<(u32, &'a [Cell])> {
    match args {
        [role, rest @ ..] if rest.len() >= count => Ok((role_of(&call.access(), role)?, rest)),
        _ if args.len() >= count => Ok((call.acting(), args)),
        _ => Err(Error::new(ErrorKind::InvalidStatement, "too few arguments").with_code("42883")),
    }
}

fn role_of(state: &AccessState, cell: &Cell) -> Result<u32> {
    match cell {
        Cell::Text(name) if name == "public" => Ok(PUBLIC_ROLE),
        Cell::Text(name) => state.role_named(name).map(|role| role.oid).ok_or_else(|| {
            let message = format!("role \"{name}\" does not exist");
            Error::new(ErrorKind::UndefinedObject, message)
        }),
        number => Ok(number.int().and_then(|oid| u32::try_from(oid).ok()).unwrap_or(u32::MAX)),
    }
}

/// Reads a list of privileges.
fn asked(cell: Option<&Cell>, all: Rights) -> Result<Vec<Asked>> {
    let text = cell.and_then(Cell::shown).unwrap_or_default();
    let one = |word: &str| {
        let upper = word.trim().to_ascii_uppercase();
        let (name, option) = match upper.strip_suffix("WITH GRANT OPTION") {
            Some(name) => (name.trim_end(), true),
            None => (upper.as_str(), false),
        };
        let name = if name == "TEMP" { "TEMPORARY" } else { name };
        let known = WORDS.iter().find(|(right, _, known)| *known == name && right & all != 0);
        known.map(|(right, ..)| (*right, option)).ok_or_else(|| unrecognized(word))
    };
    text.split(',').map(one).collect()
}

fn unrecognized(word: &str) -> Error {
    Error::invalid_parameter(format!("unrecognized privilege type: \"{}\"", word.trim()))
}

/// Whether a role has any of some privileges on an object.
fn holds(state: &AccessState, role: u32, object: &Securable, asked: &[Asked]) -> bool {
    let (kind, access) = (Kind::of(object), state.object(object));
    let (held, grantable) = match role {
        PUBLIC_ROLE => {
            let default = || default_grants(kind, access.owner);
            let grants = access.grants.clone().unwrap_or_else(default);
            let of_all = grants.iter().filter(|grant| grant.grantee == PUBLIC_ROLE);
            (of_all.fold(0, |rights, grant| rights | grant.privileges), 0)
        }
        role => (rights_of(state, role, kind, access), grantable_by(state, role, kind, access)),
    };
    asked.iter().any(|(right, option)| held & right != 0 && (!option || grantable & right != 0))
}

/// As [`holds`], for what is the system's: everybody has what is `public`.
fn system(state: &AccessState, role: u32, public: Rights, asked: &[Asked]) -> bool {
    let is_superuser = state.role(role).is_some_and(|role| role.is_superuser);
    let held = if is_superuser { Rights::MAX } else { public };
    asked.iter().any(|(right, option)| held & right != 0 && (!option || is_superuser))
}
