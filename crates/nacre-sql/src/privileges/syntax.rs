//! Reads CREATE, ALTER and DROP ROLE, GRANT and REVOKE, and ALTER ... OWNER TO. The parser of the
//! front end knows parts of them only.

use datafusion::sql::sqlparser::ast::ObjectName;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::rights::{Rights, TEMPORARY, WORDS};
use super::roles::{RoleOptions, valid_until, verifier};
use super::statement::{
    GrantStatement, Members, On, Owned, OwnerStatement, PrivilegeStatement, Who,
};
use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_parser;
use crate::names::{CATALOG, SCHEMA, fold};
use crate::own_syntax;

/// The outer error is one of syntax, the inner one of meaning.
type Parsed<T> = std::result::Result<T, ParserError>;
type Read<T> = Parsed<Result<T>>;

/// Words that a role is called by in statements about it.
const ROLE_WORDS: [&str; 3] = ["role", "user", "group"];

/// Objects that PostgreSQL has privileges on and Nacre does not have.
const OTHER_OBJECTS: [&str; 11] = [
    "function",
    "procedure",
    "routine",
    "type",
    "domain",
    "language",
    "foreign",
    "tablespace",
    "parameter",
    "large",
    "functions",
];

/// Reads a statement if it is one of these.
pub(super) fn parse(sql: &str) -> Result<Option<PrivilegeStatement>> {
    for (word, read) in [
        ("grant", grant as fn(&mut Parser<'_>) -> Read<Option<PrivilegeStatement>>),
        ("revoke", revoke),
        ("create", create),
        ("alter", alter),
        ("drop", drop_roles),
        ("reassign", reassign),
    ] {
        if let Some(mut parser) = own_syntax::begin(sql, &[word])? {
            let found = read(&mut parser).and_then(|found| {
                if matches!(found, Ok(Some(_))) {
                    own_syntax::end(&mut parser)?;
                }
                Ok(found)
            });
            return found.map_err(|error| from_parser(&error))?;
        }
    }
    Ok(None)
}

/// Returns the word without quotes at a place ahead, in small letters.
fn word(parser: &Parser<'_>, ahead: usize) -> Option<String> {
    match parser.peek_nth_token(ahead).token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
        _ => None,
    }
}

/// Takes words if they are next.
fn take(parser: &mut Parser<'_>, words: &[&str]) -> bool {
    let is_next =
        |(ahead, expected): (usize, &&str)| word(parser, ahead).as_deref() == Some(*expected);
    let are_next = words.iter().enumerate().all(is_next);
    if are_next {
        words.iter().for_each(|_| parser.advance_token());
    }
    are_next
}

fn expect(parser: &mut Parser<'_>, words: &[&str]) -> Parsed<()> {
    match take(parser, words) {
        true => Ok(()),
        false => parser.expected(&words.join(" ").to_uppercase(), parser.peek_token()),
    }
}

fn role_word(parser: &mut Parser<'_>) -> Option<&'static str> {
    ROLE_WORDS.into_iter().find(|one| take(parser, &[one]))
}

/// Takes a text in quotes. The parser's own way takes words, too, and folds them.
fn literal(parser: &mut Parser<'_>) -> Parsed<String> {
    let token = parser.next_token();
    match token.token {
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => Ok(text),
        Token::DollarQuotedString(text) => Ok(text.value),
        _ => parser.expected("a string", token),
    }
}

fn who(parser: &mut Parser<'_>) -> Parsed<Who> {
    if matches!(parser.peek_token().token, Token::SingleQuotedString(_)) {
        return parser.expected("the name of a role", parser.peek_token());
    }
    let name = parser.parse_identifier()?;
    Ok(match (name.quote_style, fold(&name).as_str()) {
        (None, "current_user" | "current_role") => Who::Current,
        (None, "session_user") => Who::Session,
        (None, "public") => Who::Public,
        (_, folded) => Who::Named(folded.to_owned()),
    })
}

fn whos(parser: &mut Parser<'_>) -> Parsed<Vec<Who>> {
    parser.parse_comma_separated(who)
}

fn create(parser: &mut Parser<'_>) -> Read<Option<PrivilegeStatement>> {
    let Some(kind) = role_word(parser) else { return Ok(Ok(None)) };
    let name = who(parser)?;
    let options = options(parser, true)?;
    Ok(options.map(|mut options| {
        options.can_login = options.can_login.or((kind == "user").then_some(true));
        Some(PrivilegeStatement::CreateRole { name, options: Box::new(options) })
    }))
}

fn drop_roles(parser: &mut Parser<'_>) -> Read<Option<PrivilegeStatement>> {
    if take(parser, &["owned", "by"]) {
        let roles = whos(parser)?;
        let cascades = behavior(parser);
        return Ok(Ok(Some(PrivilegeStatement::DropOwned { roles, cascades })));
    }
    let Some(_) = role_word(parser) else { return Ok(Ok(None)) };
    let if_exists = take(parser, &["if", "exists"]);
    let roles = whos(parser)?;
    Ok(Ok(Some(PrivilegeStatement::DropRoles { roles, if_exists })))
}

fn reassign(parser: &mut Parser<'_>) -> Read<Option<PrivilegeStatement>> {
    expect(parser, &["owned", "by"])?;
    let from = whos(parser)?;
    expect(parser, &["to"])?;
    let to = who(parser)?;
    Ok(Ok(Some(PrivilegeStatement::Reassign { from, to })))
}

fn alter(parser: &mut Parser<'_>) -> Read<Option<PrivilegeStatement>> {
    if take(parser, &["default", "privileges"]) {
        return Ok(Err(Error::not_supported("ALTER DEFAULT PRIVILEGES")));
    }
    let Some(kind) = role_word(parser) else { return owner(parser) };
    let not_supported = |what: &str| Ok(Err(Error::not_supported(format_args!("ALTER {what}"))));
    if take(parser, &["all"]) {
        return not_supported("ROLE ALL");
    }
    let role = who(parser)?;
    if take(parser, &["rename", "to"]) {
        let to = who(parser)?;
        return Ok(Ok(Some(PrivilegeStatement::RenameRole { role, to })));
    }
    match word(parser, 0).as_deref() {
        Some("set" | "reset" | "in") => return not_supported("ROLE ... SET"),
        _ if kind == "group" => return not_supported("GROUP"),
        _ => {}
    }
    let options = options(parser, false)?;
    Ok(options
        .map(|options| Some(PrivilegeStatement::AlterRole { role, options: Box::new(options) })))
}

/// Reads the options of CREATE and ALTER ROLE.
fn options(parser: &mut Parser<'_>, is_new: bool) -> Read<RoleOptions> {
    let _ = take(parser, &["with"]);
    let mut options = RoleOptions::default();
    while !matches!(parser.peek_token().token, Token::EOF | Token::SemiColon) {
        if let Err(error) = option(parser, &mut options, is_new)? {
            return Ok(Err(error));
        }
    }
    Ok(Ok(options))
}

fn option(parser: &mut Parser<'_>, options: &mut RoleOptions, is_new: bool) -> Read<()> {
    let token = parser.next_token();
    let word = match &token.token {
        Token::Word(word) if word.quote_style.is_none() => word.value.to_lowercase(),
        _ => String::new(),
    };
    let (is_on, attribute) = match word.strip_prefix("no") {
        Some(rest) => (false, rest),
        None => (true, word.as_str()),
    };
    let flag = match attribute {
        "superuser" => &mut options.is_superuser,
        "createdb" => &mut options.can_create_db,
        "createrole" => &mut options.can_create_role,
        "inherit" => &mut options.inherits,
        "login" => &mut options.can_login,
        "replication" | "bypassrls" if is_on => {
            return Ok(Err(Error::not_supported(word.to_uppercase())));
        }
        "replication" | "bypassrls" => return Ok(Ok(())),
        _ => return valued_option(parser, options, (&word, token), is_new),
    };
    Ok(once(flag, is_on))
}

/// Takes an option that has a value.
fn valued_option(
    parser: &mut Parser<'_>,
    options: &mut RoleOptions,
    (word, token): (&str, datafusion::sql::sqlparser::tokenizer::TokenWithSpan),
    is_new: bool,
) -> Read<()> {
    match word {
        "encrypted" | "password" => {
            if word == "encrypted" {
                expect(parser, &["password"])?;
            }
            if take(parser, &["null"]) {
                return Ok(once(&mut options.verifier, None));
            }
            let text = literal(parser)?;
            Ok(verifier(&text).and_then(|kept| once(&mut options.verifier, kept)))
        }
        "unencrypted" => {
            let message = "UNENCRYPTED PASSWORD is no longer supported";
            let hint = "Remove UNENCRYPTED to store the password in encrypted form instead.";
            Ok(Err(Error::new(ErrorKind::NotSupported, message).with_hint(hint)))
        }
        "connection" => {
            expect(parser, &["limit"])?;
            let is_negative = parser.consume_token(&Token::Minus);
            let number = parser.parse_literal_uint()?;
            let limit = match (is_negative, u32::try_from(number)) {
                (true, Ok(1)) => None,
                (false, Ok(limit)) if limit <= i32::MAX as u32 => Some(limit),
                _ => {
                    let sign = if is_negative { "-" } else { "" };
                    let message = format!("invalid connection limit: {sign}{number}");
                    return Ok(Err(Error::invalid_parameter(message)));
                }
            };
            Ok(once(&mut options.connection_limit, limit))
        }
        "valid" => {
            expect(parser, &["until"])?;
            let text = literal(parser)?;
            Ok(valid_until(&text).and_then(|until| once(&mut options.valid_until, until)))
        }
        "sysid" => parser.parse_literal_uint().map(|_| Ok(())),
        "in" if is_new => {
            if !take(parser, &["role"]) {
                expect(parser, &["group"])?;
            }
            options.member_of.extend(whos(parser)?);
            Ok(Ok(()))
        }
        "role" | "user" if is_new => {
            options.members.extend(whos(parser)?);
            Ok(Ok(()))
        }
        "admin" if is_new => {
            options.admins.extend(whos(parser)?);
            Ok(Ok(()))
        }
        "" => parser.expected("an option of a role", token),
        word => {
            let message = format!("unrecognized role option \"{word}\"");
            Ok(Err(Error::new(ErrorKind::Syntax, message)))
        }
    }
}

/// Takes what may be said once.
fn once<T>(place: &mut Option<T>, value: T) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::new(ErrorKind::Syntax, "conflicting or redundant options")),
    }
}

/// Reads what privileges are on and whose they become, or were; REVOKE has read before whether it
/// is of the grant option only.
fn on_objects(
    parser: &mut Parser<'_>,
    granted: Vec<Granted>,
    is_grant: bool,
    is_option_revoked: bool,
) -> Read<Option<PrivilegeStatement>> {
    let on = match objects(parser)? {
        Ok(on) => on,
        Err(error) => return Ok(Err(error)),
    };
    expect(parser, &[if is_grant { "to" } else { "from" }])?;
    let grantees = grantees(parser)?;
    let option = match is_grant {
        true => take(parser, &["with", "grant", "option"]),
        false => is_option_revoked,
    };
    let granted_by = granted_by(parser)?;
    let cascades = !is_grant && behavior(parser);
    Ok(rights(granted).map(|rights| {
        Some(PrivilegeStatement::Grant(GrantStatement {
            is_grant,
            rights,
            on,
            grantees,
            option,
            granted_by,
            cascades,
        }))
    }))
}

fn grant(parser: &mut Parser<'_>) -> Read<Option<PrivilegeStatement>> {
    let granted = granted(parser)?;
    if take(parser, &["on"]) {
        return on_objects(parser, granted, true, false);
    }
    expect(parser, &["to"])?;
    let members = whos(parser)?;
    let admin = take(parser, &["with", "admin", "option"]);
    let _ = granted_by(parser)?;
    let roles = roles_of(granted);
    Ok(Ok(Some(PrivilegeStatement::Members(Members { is_grant: true, roles, members, admin }))))
}

fn revoke(parser: &mut Parser<'_>) -> Read<Option<PrivilegeStatement>> {
    let option = take(parser, &["grant", "option", "for"]);
    let admin = !option && take(parser, &["admin", "option", "for"]);
    let granted = granted(parser)?;
    if !admin && take(parser, &["on"]) {
        return on_objects(parser, granted, false, option);
    }
    expect(parser, &["from"])?;
    let members = whos(parser)?;
    let _ = granted_by(parser)?;
    let _ = behavior(parser);
    let roles = roles_of(granted);
    Ok(Ok(Some(PrivilegeStatement::Members(Members { is_grant: false, roles, members, admin }))))
}

/// Takes CASCADE or RESTRICT.
fn behavior(parser: &mut Parser<'_>) -> bool {
    let cascades = take(parser, &["cascade"]);
    let _ = !cascades && take(parser, &["restrict"]);
    cascades
}

fn grantees(parser: &mut Parser<'_>) -> Parsed<Vec<Who>> {
    parser.parse_comma_separated(|parser| {
        if word(parser, 0).as_deref() == Some("group") && word(parser, 1).is_some() {
            parser.advance_token();
        }
        who(parser)
    })
}

fn granted_by(parser: &mut Parser<'_>) -> Parsed<Option<Who>> {
    match take(parser, &["granted", "by"]) {
        true => who(parser).map(Some),
        false => Ok(None),
    }
}

/// A privilege, or a role, and whether it has columns.
struct Granted {
    who: Who,
    has_columns: bool,
}

/// Takes a list of privileges or roles; empty is ALL.
fn granted(parser: &mut Parser<'_>) -> Parsed<Vec<Granted>> {
    if word(parser, 0).as_deref() == Some("all") {
        parser.advance_token();
        let _ = take(parser, &["privileges"]);
        let has_columns = columns(parser)?;
        let all = Granted { who: Who::Public, has_columns };
        return Ok(if has_columns { vec![all] } else { Vec::new() });
    }
    parser.parse_comma_separated(|parser| {
        let who = who(parser)?;
        Ok(Granted { who, has_columns: columns(parser)? })
    })
}

fn columns(parser: &mut Parser<'_>) -> Parsed<bool> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(false);
    }
    parser.parse_comma_separated(Parser::parse_identifier)?;
    parser.expect_token(&Token::RParen).map(|_| true)
}

fn roles_of(granted: Vec<Granted>) -> Vec<Who> {
    granted.into_iter().map(|one| one.who).collect()
}

/// Returns the privileges that are meant; `None` is all.
fn rights(granted: Vec<Granted>) -> Result<Option<Rights>> {
    if granted.iter().any(|one| one.has_columns) {
        return Err(Error::not_supported("privileges on single columns")
            .with_hint("Grant on a view of these columns."));
    }
    let right = |one: &Granted| {
        let Who::Named(name) = &one.who else {
            return Err(Error::new(ErrorKind::Syntax, "unrecognized privilege type"));
        };
        let known = WORDS.iter().find(|(.., word)| word.eq_ignore_ascii_case(name));
        match known {
            Some((right, ..)) => Ok(*right),
            None if name == "temp" => Ok(TEMPORARY),
            None => {
                let message = format!("unrecognized privilege type \"{name}\"");
                Err(Error::new(ErrorKind::Syntax, message))
            }
        }
    };
    let all: Vec<Rights> = granted.iter().map(right).collect::<Result<_>>()?;
    Ok((!all.is_empty()).then(|| all.into_iter().fold(0, |rights, one| rights | one)))
}

/// Reads what privileges are on.
fn objects(parser: &mut Parser<'_>) -> Read<On> {
    let names = |parser: &mut Parser<'_>| {
        parser.parse_comma_separated(|parser| parser.parse_object_name(false))
    };
    if take(parser, &["all"]) {
        let kind = word(parser, 0).unwrap_or_default();
        parser.advance_token();
        expect(parser, &["in", "schema"])?;
        let schemas = names(parser)?;
        return Ok(match kind.as_str() {
            "tables" => only(&schemas, "schema", SCHEMA).map(|()| On::AllTables),
            "sequences" => only(&schemas, "schema", SCHEMA).map(|()| On::AllSequences),
            other => Err(Error::not_supported(format_args!("privileges on ALL {other}"))),
        });
    }
    let is_kind = matches!(parser.peek_nth_token(1).token, Token::Word(_));
    match word(parser, 0).as_deref().filter(|_| is_kind) {
        Some("table") => parser.advance_token(),
        Some("sequence") => {
            parser.advance_token();
            return names(parser).map(|names| Ok(On::Sequences(names)));
        }
        Some("schema") => {
            parser.advance_token();
            let names = names(parser)?;
            return Ok(only(&names, "schema", SCHEMA).map(|()| On::Schemas));
        }
        Some("database") => {
            parser.advance_token();
            let names = names(parser)?;
            return Ok(only(&names, "database", CATALOG).map(|()| On::Databases));
        }
        Some(other) if OTHER_OBJECTS.contains(&other) => {
            return Ok(Err(Error::not_supported(format_args!("privileges on a {other}"))));
        }
        _ => {}
    }
    names(parser).map(|names| Ok(On::Relations(names)))
}

/// Refuses other names than that of the only schema or database.
fn only(names: &[ObjectName], kind: &str, there_is: &str) -> Result<()> {
    for name in names {
        let last = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
        if matches!(last.as_str(), "pg_catalog" | "information_schema") && kind == "schema" {
            return Err(Error::not_supported(format_args!("privileges on schema {last}")));
        }
        if last != there_is || name.0.len() != 1 {
            let code = if kind == "schema" { "3F000" } else { "3D000" };
            let message = format!("{kind} \"{last}\" does not exist");
            return Err(Error::new(ErrorKind::UndefinedObject, message).with_code(code));
        }
    }
    Ok(())
}

/// Reads ALTER ... OWNER TO; `None` if it is another ALTER.
fn owner(parser: &mut Parser<'_>) -> Read<Option<PrivilegeStatement>> {
    const KINDS: [&str; 5] = ["table", "view", "sequence", "schema", "database"];
    let Some(kind) = KINDS.into_iter().find(|kind| take(parser, &[kind])) else {
        return Ok(Ok(None));
    };
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let _ = kind == "table" && take(parser, &["only"]);
    let Ok(name) = parser.parse_object_name(false) else { return Ok(Ok(None)) };
    let _ = parser.consume_token(&Token::Mul);
    if !take(parser, &["owner", "to"]) {
        return Ok(Ok(None));
    }
    let to = who(parser)?;
    let object = match kind {
        "table" => Ok(Owned::Table(name)),
        "view" => Ok(Owned::View(name)),
        "sequence" => Ok(Owned::Sequence(name)),
        "schema" => only(&[name], kind, SCHEMA).map(|()| Owned::Schema),
        _ => only(&[name], kind, CATALOG).map(|()| Owned::Database),
    };
    Ok(object
        .map(|object| Some(PrivilegeStatement::Owner(OwnerStatement { object, if_exists, to }))))
}
