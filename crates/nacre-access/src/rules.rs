//! Which connections are let in, and what they have to prove.
//!
//! Without a file [`Rules::safe`] holds: only this machine, or TLS and a password. A file
//! `access.conf` replaces it: lines of five words as in PostgreSQL's `pg_hba.conf`, the first one
//! that fits decides, and what fits none is refused.
//!
//! # Invariants
//! Nothing lets somebody from another machine in without a password.

use std::fmt;
use std::net::IpAddr;

/// A connection that asks to be let in.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// Where it comes from.
    pub address: IpAddr,
    /// Whether it is encrypted.
    pub is_tls: bool,
    /// The database that it asks for.
    pub database: &'a str,
    /// The role that it asks to be.
    pub user: &'a str,
}

/// What a connection has to prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Nothing.
    Trust,
    /// Nothing if the role is the one that is always there and has no password, else the password.
    PasswordIfAny,
    /// That it knows the password.
    Password,
    /// It cannot: a line says so.
    Reject,
    /// It cannot: no line fits.
    NoEntry,
}

/// A text that is no list of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for RulesError {}

/// What decides about connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// Whether it is for connections with TLS, or for those without; `None` is both.
    is_tls: Option<bool>,
    databases: Names,
    users: Names,
    addresses: Addresses,
    admission: Admission,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Names {
    All,
    List(Vec<Name>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    /// The database with the name of the user.
    SameUser,
    Is(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Addresses {
    All,
    Loopback,
    Network { address: IpAddr, bits: u32 },
}

/// A word of a line; one in quotes has no other meaning than its letters.
#[derive(Debug)]
struct Word {
    text: String,
    is_quoted: bool,
}

impl Rules {
    /// Returns what holds without a file.
    pub fn safe() -> Self {
        let rule = |is_tls, addresses, admission| Rule {
            is_tls,
            databases: Names::All,
            users: Names::All,
            addresses,
            admission,
        };
        Self(vec![
            rule(None, Addresses::Loopback, Admission::PasswordIfAny),
            rule(Some(true), Addresses::All, Admission::Password),
        ])
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first line that is no rule.
    pub fn parse(text: &str) -> Result<Self, RulesError> {
        let mut rules = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let rule = words(line).and_then(|words| rule(&words));
            rules.extend(rule.map_err(|message| RulesError { line: number, message })?);
        }
        Ok(Self(rules))
    }

    /// Decides about a connection.
    pub fn admission(&self, attempt: Attempt<'_>) -> Admission {
        let found = self.0.iter().find(|rule| rule.fits(attempt));
        found.map_or(Admission::NoEntry, |rule| rule.admission)
    }
}

impl Rule {
    fn fits(&self, attempt: Attempt<'_>) -> bool {
        self.is_tls.is_none_or(|is_tls| is_tls == attempt.is_tls)
            && self.addresses.hold(attempt.address.to_canonical())
            && self.databases.hold(attempt.database, attempt.user)
            && self.users.hold(attempt.user, attempt.user)
    }
}

impl Names {
    fn hold(&self, name: &str, user: &str) -> bool {
        match self {
            Self::All => true,
            Self::List(names) => names.iter().any(|one| match one {
                Name::SameUser => name == user,
                Name::Is(one) => one == name,
            }),
        }
    }
}

impl Addresses {
    fn hold(self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::All, _) => true,
            (Self::Loopback, address) => address.is_loopback(),
            (Self::Network { address: IpAddr::V4(network), bits }, IpAddr::V4(address)) => {
                // All bits shifted away are no bits that could differ.
                let differing = network.to_bits() ^ address.to_bits();
                differing.checked_shr(32 - bits).is_none_or(|differing| differing == 0)
            }
            (Self::Network { address: IpAddr::V6(network), bits }, IpAddr::V6(address)) => {
                let differing = network.to_bits() ^ address.to_bits();
                differing.checked_shr(128 - bits).is_none_or(|differing| differing == 0)
            }
            (Self::Network { .. }, _) => false,
        }
    }

    /// Whether it holds nothing but this machine.
    fn is_loopback(self) -> bool {
        match self {
            Self::All => false,
            Self::Loopback => true,
            Self::Network { address: IpAddr::V4(address), bits } => {
                address.is_loopback() && bits >= 8
            }
            Self::Network { address: IpAddr::V6(address), bits } => {
                address.is_loopback() && bits == 128
            }
        }
    }
}

/// Reads a rule; `None` on an empty line.
fn rule(words: &[Word]) -> Result<Option<Rule>, String> {
    let [kind, databases, users, address, method] = words else {
        return match words {
            [] => Ok(None),
            [kind, ..] if kind.text == "local" => {
                Err("not supported: \"local\": there are no Unix-domain sockets".to_owned())
            }
            _ => Err("expected TYPE DATABASE USER ADDRESS METHOD, separated by blanks".to_owned()),
        };
    };
    let is_tls = match kind.text.as_str() {
        "host" => None,
        "hostssl" => Some(true),
        "hostnossl" => Some(false),
        other => return Err(format!("invalid connection type \"{other}\"")),
    };
    let addresses = addresses(&address.text)?;
    let admission = match method.text.as_str() {
        "trust" if addresses.is_loopback() => Admission::Trust,
        "trust" => {
            let message = "not supported: \"trust\" for addresses of other machines";
            return Err(message.to_owned());
        }
        "scram-sha-256" => Admission::Password,
        "reject" => Admission::Reject,
        other => {
            return Err(format!(
                "invalid authentication method \"{other}\": use trust, scram-sha-256 or reject"
            ));
        }
    };
    let (databases, users) = (names(databases, true)?, names(users, false)?);
    Ok(Some(Rule { is_tls, databases, users, addresses, admission }))
}

/// Reads names, separated by commas.
fn names(word: &Word, are_databases: bool) -> Result<Names, String> {
    if word.is_quoted {
        return Ok(Names::List(vec![Name::Is(word.text.clone())]));
    }
    let mut names = Vec::new();
    for name in word.text.split(',') {
        names.push(match name {
            "all" => return Ok(Names::All),
            "" => return Err(format!("a name is missing in \"{}\"", word.text)),
            "sameuser" if are_databases => Name::SameUser,
            "samerole" | "samegroup" | "replication" if are_databases => {
                return Err(format!("not supported: \"{name}\" as a database"));
            }
            name if name.starts_with(['+', '@', '/']) => {
                return Err(format!("not supported: \"{name}\": only names of roles"));
            }
            name => Name::Is(name.to_owned()),
        });
    }
    Ok(Names::List(names))
}

fn addresses(text: &str) -> Result<Addresses, String> {
    match text {
        "all" => return Ok(Addresses::All),
        "loopback" => return Ok(Addresses::Loopback),
        _ => {}
    }
    let invalid = || format!("invalid address \"{text}\": use all, loopback or ADDRESS/BITS");
    let (address, bits) = text.split_once('/').ok_or_else(invalid)?;
    let address: IpAddr = address.parse().map_err(|_| invalid())?;
    let width = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.parse().ok().filter(|bits| *bits <= width).ok_or_else(invalid)?;
    Ok(Addresses::Network { address, bits })
}

/// Cuts a line into words, up to its comment.
fn words(line: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() && !rest.starts_with('#') {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (text, after) =
                    quoted.split_once('"').ok_or("a quotation mark is missing".to_owned())?;
                (Word { text: text.to_owned(), is_quoted: true }, after)
            }
            None => {
                let end = |one: char| one.is_whitespace() || one == '#';
                let (text, after) = rest.split_at(rest.find(end).unwrap_or(rest.len()));
                if text.contains('"') {
                    return Err(format!("not supported: names in quotes in a list: {text}"));
                }
                (Word { text: text.to_owned(), is_quoted: false }, after)
            }
        };
        if !after.is_empty() && !after.starts_with(|one: char| one.is_whitespace() || one == '#') {
            return Err("not supported: names in quotes in a list".to_owned());
        }
        words.push(word);
        rest = after.trim_start();
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(rules: &str, address: &str, is_tls: bool, database: &str, user: &str) -> Admission {
        let address = address.parse().unwrap();
        Rules::parse(rules).unwrap().admission(Attempt { address, is_tls, database, user })
    }

    #[test]
    fn first_line_that_fits_decides() {
        let rules = "# who may come\n\
                     host all mallory all reject # not him\n\
                     hostssl shop a,b 10.0.0.0/8 scram-sha-256\n\
                     hostnossl sameuser all 127.0.0.0/8 trust\n\
                     host all \"all\" fd00::/8 scram-sha-256\n";
        let decide =
            |address, is_tls, database, user| decide(rules, address, is_tls, database, user);
        assert_eq!(decide("10.1.2.3", true, "shop", "mallory"), Admission::Reject);
        assert_eq!(decide("10.1.2.3", true, "shop", "b"), Admission::Password);
        assert_eq!(decide("::ffff:10.1.2.3", true, "shop", "b"), Admission::Password);
        assert_eq!(decide("10.1.2.3", false, "shop", "b"), Admission::NoEntry);
        assert_eq!(decide("11.1.2.3", true, "shop", "b"), Admission::NoEntry);
        assert_eq!(decide("10.1.2.3", true, "nacre", "b"), Admission::NoEntry);
        assert_eq!(decide("127.0.0.1", false, "x", "x"), Admission::Trust);
        assert_eq!(decide("127.0.0.1", false, "y", "x"), Admission::NoEntry);
        assert_eq!(decide("fd12::1", false, "y", "all"), Admission::Password);
        assert_eq!(decide("fd12::1", false, "y", "x"), Admission::NoEntry);
    }

    #[test]
    fn masks_of_no_and_of_all_bits_hold() {
        assert_eq!(
            decide("host all all 0.0.0.0/0 reject", "9.9.9.9", true, "", ""),
            Admission::Reject
        );
        assert_eq!(decide("host all all ::/0 reject", "fe80::1", true, "", ""), Admission::Reject);
        assert_eq!(decide("host all all ::/0 reject", "9.9.9.9", true, "", ""), Admission::NoEntry);
        let one = "host all all 10.0.0.1/32 reject";
        assert_eq!(decide(one, "10.0.0.1", true, "", ""), Admission::Reject);
        assert_eq!(decide(one, "10.0.0.2", true, "", ""), Admission::NoEntry);
    }

    #[test]
    fn without_a_file_only_this_machine_comes_in_without_tls() {
        let admission = |address: &str, is_tls| {
            let address = address.parse().unwrap();
            Rules::safe().admission(Attempt { address, is_tls, database: "x", user: "y" })
        };
        assert_eq!(admission("127.0.0.1", false), Admission::PasswordIfAny);
        assert_eq!(admission("::1", true), Admission::PasswordIfAny);
        assert_eq!(admission("10.0.0.1", true), Admission::Password);
        assert_eq!(admission("10.0.0.1", false), Admission::NoEntry);
    }

    #[test]
    fn lines_that_are_no_rules_are_named() {
        for line in [
            "host all all 127.0.0.1/32",
            "host all all 127.0.0.1/32 trust x",
            "host all all 127.0.0.1 trust",
            "host all all 127.0.0.1/33 trust",
            "host all all localhost trust",
            "host all all 0.0.0.0/0 trust",
            "host all all all trust",
            "host all all 127.0.0.1/7 trust",
            "host all all all md5",
            "host all +admins all reject",
            "host replication all all reject",
            "host all a,,b all reject",
            "host \"all all all reject",
            "host a,\"b\" all all reject",
            "local all all trust",
            "hosts all all all reject",
        ] {
            let error = Rules::parse(&format!("\n# x\n{line}\n")).unwrap_err();
            assert_eq!(error.line, 3, "{line}: {error}");
        }
    }
}
