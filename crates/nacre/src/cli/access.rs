//! Who may do what: roles, and privileges on tables, views and sequences, as psql lists them.

use super::console::{Console, Flow};
use super::describe::{ask, texts};
use super::glob;
use super::meta::Complaint;
use super::render::text_box;

/// Values of a role that say more than its name, in the order of the query.
const ATTRIBUTES: [(usize, &str, &str); 7] = [
    (1, "true", "Superuser"),
    (2, "false", "No inheritance"),
    (3, "true", "Create role"),
    (4, "true", "Create DB"),
    (5, "false", "Cannot login"),
    (6, "true", "Replication"),
    (7, "true", "Bypass RLS"),
];

/// `\du` and `\dg`.
pub(crate) fn roles(console: &mut Console, rest: &str) -> Result<Flow, Complaint> {
    let pattern = rest.trim_end_matches(';').trim();
    let sql = "SELECT r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, \
               r.rolcanlogin, r.rolreplication, r.rolbypassrls, r.rolconnlimit, \
               r.rolvaliduntil FROM pg_catalog.pg_roles r ORDER BY 1";
    let roles = texts(ask(console, sql)?);
    let sql = "SELECT m.rolname, r.rolname FROM pg_catalog.pg_auth_members a \
               JOIN pg_catalog.pg_roles m ON m.oid = a.member \
               JOIN pg_catalog.pg_roles r ON r.oid = a.roleid ORDER BY 1, 2";
    let memberships = texts(ask(console, sql)?);
    let row = |role: &Vec<String>| {
        let of_role = memberships.iter().filter(|one| one[0] == role[0]);
        let groups: Vec<&str> = of_role.map(|one| one[1].as_str()).collect();
        vec![role[0].clone(), attributes(role), format!("{{{}}}", groups.join(","))]
    };
    let is_wanted = |role: &&Vec<String>| pattern.is_empty() || glob::matches(pattern, &role[0]);
    let rows: Vec<Vec<String>> = roles.iter().filter(is_wanted).map(row).collect();
    Ok(listed(
        console,
        ("List of roles", "role"),
        pattern,
        &["Role name", "Attributes", "Member of"],
        rows,
    ))
}

/// `\dp` and `\z`.
pub(crate) fn privileges(console: &mut Console, rest: &str) -> Result<Flow, Complaint> {
    let pattern = rest.trim_end_matches(';').trim();
    let sql = "SELECT n.nspname, c.relname, CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN \
               'view' ELSE 'sequence' END, pg_catalog.array_to_string(c.relacl, E'\\n') \
               FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n \
               ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'S') \
               AND n.nspname = 'public' ORDER BY 1, 2";
    let rows = texts(ask(console, sql)?).into_iter();
    let rows = rows.filter(|row| pattern.is_empty() || glob::matches(pattern, &row[1])).collect();
    let header = ["Schema", "Name", "Type", "Access privileges"];
    Ok(listed(console, ("Access privileges", "relation"), pattern, &header, rows))
}

/// Shows rows with a title, each line of a value on one of its own.
fn listed(
    console: &mut Console,
    (title, noun): (&str, &str),
    pattern: &str,
    header: &[&str],
    rows: Vec<Vec<String>>,
) -> Flow {
    if rows.is_empty() {
        let message = match pattern {
            "" => format!("There is no {noun}.\n"),
            _ => format!("No {noun} matches {pattern}.\n"),
        };
        return console.show(&message);
    }
    let lines = rows.iter().flat_map(|row| {
        let count = row.iter().map(|value| value.lines().count()).max().unwrap_or(0).max(1);
        (0..count).map(move |line| {
            let part = |value: &String| value.lines().nth(line).unwrap_or_default().to_owned();
            row.iter().map(part).collect::<Vec<String>>()
        })
    });
    console.show(&format!("{title}\n{}", text_box(header, lines.collect())))
}

/// Returns what is said of a role beside its name.
fn attributes(role: &[String]) -> String {
    let said = ATTRIBUTES.iter().filter(|(column, value, _)| role[*column] == *value);
    let words: Vec<&str> = said.map(|(.., word)| *word).collect();
    let connections = match role[8].as_str() {
        "0" => "No connections".to_owned(),
        "1" => "1 connection".to_owned(),
        limit if limit.starts_with('-') => String::new(),
        limit => format!("{limit} connections"),
    };
    let until = match role[9].as_str() {
        "" => String::new(),
        until => format!("Password valid until {until}"),
    };
    let lines = [words.join(", "), connections, until];
    let lines: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_told_where_they_are_not_the_usual_ones() {
        let role = |values: [&str; 10]| values.map(str::to_owned);
        let plain = ["r", "false", "true", "false", "false", "true", "false", "false", "-1", ""];
        assert_eq!(attributes(&role(plain)), "");
        let limited = ["r", "false", "false", "true", "true", "false", "false", "false", "1", "x"];
        assert_eq!(
            attributes(&role(limited)),
            "No inheritance, Create role, Create DB, Cannot login\n1 connection\n\
             Password valid until x"
        );
        let all = ["r", "true", "true", "false", "false", "true", "true", "true", "0", ""];
        assert_eq!(attributes(&role(all)), "Superuser, Replication, Bypass RLS\nNo connections");
    }
}
