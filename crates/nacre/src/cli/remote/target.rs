//! Where a server is and who asks, as `libpq` has it: a URL or `keyword=value` pairs, then the
//! `PG*` variables, then defaults.

use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;

/// Whether and how a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsUse {
    Disable,
    /// If the server can; nobody looks at its certificate.
    Prefer,
    Require,
    /// With a certificate that one of the root certificates vouches for.
    VerifyCa,
    /// Which also is that host's.
    VerifyFull,
}

/// A server, and the session to begin there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) password: Option<String>,
    pub(crate) tls: TlsUse,
    pub(crate) root_certificates: Option<PathBuf>,
    pub(crate) options: Option<String>,
    pub(crate) application_name: String,
    pub(crate) connect_timeout: Option<Duration>,
}

/// Keywords that are understood, and the variables that stand in for them.
const KEYWORDS: [(&str, Option<&str>); 11] = [
    ("host", Some("PGHOST")),
    ("port", Some("PGPORT")),
    ("user", Some("PGUSER")),
    ("dbname", Some("PGDATABASE")),
    ("password", Some("PGPASSWORD")),
    ("sslmode", Some("PGSSLMODE")),
    ("sslrootcert", Some("PGSSLROOTCERT")),
    ("options", Some("PGOPTIONS")),
    ("application_name", Some("PGAPPNAME")),
    ("connect_timeout", Some("PGCONNECT_TIMEOUT")),
    ("client_encoding", None),
];

type Result<T> = std::result::Result<T, String>;

/// What is said of a server, by keyword.
#[derive(Default)]
struct Said(Vec<(String, String)>);

impl Target {
    /// Reads a URL or `keyword=value` pairs, which may be empty.
    ///
    /// # Errors
    /// A text that names what is wrong with what was given.
    pub(crate) fn new(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let said = match text.strip_prefix("postgresql://").or(text.strip_prefix("postgres://")) {
            Some(rest) => Said::of_url(rest)?,
            None => Said::of_pairs(text)?,
        };
        let value = |keyword: &str| {
            let named = KEYWORDS.iter().find(|(known, _)| *known == keyword);
            let from_variable = || variable(named?.1?).filter(|value| !value.is_empty());
            said.value(keyword).map(str::to_owned).or_else(from_variable)
        };
        let host = value("host").unwrap_or_else(|| "localhost".to_owned());
        if host.starts_with('/') {
            return Err(format!("not supported: a socket in the file system ({host})"));
        }
        let number = |keyword: &str| match value(keyword) {
            None => Ok(None),
            Some(text) => text
                .parse::<u16>()
                .map(Some)
                .map_err(|_| format!("invalid value \"{text}\" of \"{keyword}\"")),
        };
        if let Some(other) = value("client_encoding").filter(|name| !is_utf8(name)) {
            return Err(format!("not supported: client_encoding {other}"));
        }
        let user = value("user").unwrap_or_else(|| nacre_sql::BOOTSTRAP_ROLE.to_owned());
        Ok(Self {
            host,
            port: number("port")?.unwrap_or(5432),
            database: value("dbname").unwrap_or_else(|| user.clone()),
            user,
            password: value("password"),
            tls: value("sslmode").map_or(Ok(TlsUse::Prefer), |mode| tls_use(&mode))?,
            root_certificates: value("sslrootcert").map(PathBuf::from),
            options: value("options"),
            application_name: value("application_name").unwrap_or_else(|| "nacre".to_owned()),
            connect_timeout: number("connect_timeout")?
                .filter(|seconds| *seconds > 0)
                .map(|seconds| Duration::from_secs(u64::from(seconds))),
        })
    }

    /// Returns how people name the place: without the password.
    pub(crate) fn place(&self) -> String {
        let host = match self.host.contains(':') {
            true => format!("[{}]", self.host),
            false => self.host.clone(),
        };
        format!("{host}:{}", self.port)
    }
}

fn is_utf8(name: &str) -> bool {
    ["utf8", "utf-8", "auto", "unicode"].contains(&name.to_ascii_lowercase().as_str())
}

fn tls_use(mode: &str) -> Result<TlsUse> {
    match mode {
        "disable" => Ok(TlsUse::Disable),
        "prefer" => Ok(TlsUse::Prefer),
        "require" => Ok(TlsUse::Require),
        "verify-ca" => Ok(TlsUse::VerifyCa),
        "verify-full" => Ok(TlsUse::VerifyFull),
        "allow" => Err("not supported: sslmode allow; use prefer or disable".to_owned()),
        other => Err(format!("invalid sslmode value: \"{other}\"")),
    }
}

impl Said {
    fn value(&self, keyword: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(known, _)| known == keyword);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    fn put(&mut self, keyword: &str, value: String) -> Result<()> {
        if KEYWORDS.iter().all(|(known, _)| *known != keyword) {
            let known: Vec<&str> = KEYWORDS.iter().map(|(known, _)| *known).collect();
            let known = known.join(", ");
            return Err(format!("unknown connection option \"{keyword}\": there are {known}"));
        }
        self.0.push((keyword.to_owned(), value));
        Ok(())
    }

    /// Reads what follows `postgres://`: `[user[:password]@][host][:port][/database][?...]`.
    fn of_url(rest: &str) -> Result<Self> {
        let mut said = Self::default();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        said.put("dbname", decoded(database)?)?;
        let (user, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        said.put("user", decoded(user)?)?;
        said.put("password", decoded(password)?)?;
        let (host, port) = match place.strip_prefix('[') {
            Some(bracketed) => {
                let (host, rest) = bracketed.split_once(']').ok_or("an IPv6 address without ]")?;
                (host, rest.strip_prefix(':').unwrap_or(rest))
            }
            None => place.split_once(':').unwrap_or((place, "")),
        };
        if host.contains(',') || port.contains(',') {
            return Err("not supported: more than one host".to_owned());
        }
        said.put("host", decoded(host)?)?;
        said.put("port", decoded(port)?)?;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (keyword, value) =
                pair.split_once('=').ok_or_else(|| format!("\"{pair}\" has no value"))?;
            said.put(&decoded(keyword)?, decoded(value)?)?;
        }
        Ok(said)
    }

    /// Reads `keyword=value keyword='value with blanks'`.
    fn of_pairs(text: &str) -> Result<Self> {
        let mut said = Self::default();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (keyword, after) = rest.split_once('=').ok_or_else(|| {
                format!("\"{rest}\" is no URL (postgres://...) and no keyword=value")
            })?;
            let (value, after) = pair_value(after.trim_start())?;
            said.put(keyword.trim_end(), value)?;
            rest = after.trim_start();
        }
        Ok(said)
    }
}

/// Returns the value that a text begins with, and what follows it.
fn pair_value(text: &str) -> Result<(String, &str)> {
    let is_quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut chars = text.char_indices().skip(usize::from(is_quoted));
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            '\'' if is_quoted => return Ok((value, &text[at + 1..])),
            c if !is_quoted && c.is_whitespace() => return Ok((value, &text[at..])),
            c => value.push(c),
        }
    }
    if is_quoted {
        return Err("a quote of the connection string has no end".to_owned());
    }
    Ok((value, ""))
}

fn decoded(text: &str) -> Result<String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| format!("\"{text}\" is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        Target::new(text, |_| None).unwrap()
    }

    #[test]
    fn url_names_all_there_is_to_name() {
        let found = target(
            "postgres://ann:p%40ss@db.example:6543/shop?sslmode=require&application_name=a%20b",
        );
        assert_eq!((found.host.as_str(), found.port), ("db.example", 6543));
        assert_eq!((found.user.as_str(), found.password.as_deref()), ("ann", Some("p@ss")));
        assert_eq!((found.database.as_str(), found.tls), ("shop", TlsUse::Require));
        assert_eq!(found.application_name, "a b");
        let six = target("postgresql://[::1]:7000");
        assert_eq!(
            (six.host.as_str(), six.port, six.place().as_str()),
            ("::1", 7000, "[::1]:7000")
        );
    }

    #[test]
    fn nothing_said_is_this_machine() {
        let found = target("");
        assert_eq!((found.place().as_str(), found.user.as_str()), ("localhost:5432", "nacre"));
        assert_eq!((found.database.as_str(), found.tls), ("nacre", TlsUse::Prefer));
        assert_eq!(target("user=ann").database, "ann");
    }

    #[test]
    fn variables_stand_in_for_what_is_not_said() {
        let variable = |name: &str| match name {
            "PGHOST" => Some("other".to_owned()),
            "PGPORT" => Some("6000".to_owned()),
            "PGUSER" => Some(String::new()),
            _ => None,
        };
        let found = Target::new("host='two words' password=it\\'s", variable).unwrap();
        assert_eq!((found.host.as_str(), found.port), ("two words", 6000));
        assert_eq!((found.user.as_str(), found.password.as_deref()), ("nacre", Some("it's")));
    }

    #[test]
    fn what_cannot_be_is_named() {
        let error = |text: &str| Target::new(text, |_| None).unwrap_err();
        assert_eq!(error("postgres://h:x"), "invalid value \"x\" of \"port\"");
        assert!(error("postgres://h/?hots=a").starts_with("unknown connection option \"hots\""));
        assert!(error("shells").contains("no URL"));
        assert!(error("host='a").contains("no end"));
        assert!(error("host=/run/x").starts_with("not supported"));
        assert!(error("sslmode=allow").starts_with("not supported"));
        assert!(error("postgres://%ff@h").contains("not UTF-8"));
    }
}
