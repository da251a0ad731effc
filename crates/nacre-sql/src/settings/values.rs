//! What the settings of a session are now.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nacre_store::BOOTSTRAP_ROLE;

use super::characteristics::{Characteristics, level_name, level_named, on_or_off};
use super::known::{ALL, Access, Known};
use super::names::split_list;
use super::session::{SessionInfo, SettingInfo};
use crate::error::{Error, ErrorKind, Result};

/// Values by the names of settings, those of nobody's in small letters.
type Values = BTreeMap<String, String>;

/// The settings of one session.
#[derive(Debug)]
pub(crate) struct Settings {
    info: SessionInfo,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What SET gave.
    session: Arc<Values>,
    /// What SET LOCAL gave, until the block ends.
    local: Arc<Values>,
    /// What RESET goes back to where it is not the default.
    resets: Values,
    block: Option<Block>,
    /// Those that every statement needs.
    ready: Ready,
    /// What the client was told.
    told: Values,
    /// Whether something was set since the client was told.
    is_news: bool,
}

/// An open transaction block.
#[derive(Debug)]
struct Block {
    /// What SET had given before it.
    before: Arc<Values>,
    characteristics: Characteristics,
}

#[derive(Clone, Copy, Debug)]
struct Ready {
    characteristics: Characteristics,
    statement_timeout: Option<Duration>,
    idle_in_transaction_timeout: Option<Duration>,
    idle_timeout: Option<Duration>,
}

/// What a savepoint goes back to.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    session: Arc<Values>,
    local: Arc<Values>,
}

impl Settings {
    /// Makes the settings of a new session.
    pub(crate) fn new(info: SessionInfo) -> Self {
        let resets = [("session_authorization".to_owned(), info.user.clone())].into();
        let mut state = State {
            session: Arc::default(),
            local: Arc::default(),
            resets,
            block: None,
            ready: Ready::INITIAL,
            told: Values::new(),
            is_news: true,
        };
        state.changed();
        Self { info, state: Mutex::new(state) }
    }

    pub(crate) fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// Whether the session may see what one of that role does, and stop it.
    pub(crate) fn may_see(&self, role: &str) -> bool {
        self.info.user == role || self.info.user == BOOTSTRAP_ROLE
    }

    /// Returns the value of a setting as it is shown; `None` if there is none of that name.
    pub(crate) fn shown(&self, name: &str) -> Option<String> {
        let state = self.state();
        match Known::named(name) {
            Some(known) => Some(known.kind.show(&state.value(known))),
            None => state.effective(&name.to_lowercase()).cloned(),
        }
    }

    /// Gives a setting a value, `None` that of RESET, and returns it as it is shown. It is of the
    /// open block, if there is one; with `is_local` it ends with the block, or at once.
    ///
    /// # Errors
    /// 42704, 22023, 55P02 as in PostgreSQL; `not supported` for values that would not hold.
    pub(crate) fn set(&self, name: &str, value: Option<&str>, is_local: bool) -> Result<String> {
        let (key, value) = self.read(name, value)?;
        let mut state = self.state();
        let given = value.clone().or_else(|| state.reset_value(&key)).unwrap_or_default();
        let shown = Known::named(&key).map_or_else(|| given.clone(), |one| one.kind.show(&given));
        match (is_local, state.block.is_some()) {
            (true, false) => return Ok(shown),
            (true, true) => {
                Arc::make_mut(&mut state.local).insert(key, given);
            }
            (false, _) => {
                Arc::make_mut(&mut state.local).remove(&key);
                let session = Arc::make_mut(&mut state.session);
                match value {
                    Some(value) => session.insert(key, value),
                    None => session.remove(&key),
                };
            }
        }
        state.changed();
        Ok(shown)
    }

    /// Gives a setting the value that RESET goes back to: one that the client named when it
    /// connected. Time zones that Nacre does not work in are passed over: the client is told
    /// which one holds.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub(crate) fn set_initial(&self, name: &str, value: &str) -> Result<()> {
        match self.read(name, Some(value)) {
            Err(error)
                if error.kind() == ErrorKind::NotSupported
                    && name.eq_ignore_ascii_case("timezone") =>
            {
                Ok(())
            }
            Err(error) => Err(error),
            Ok((key, value)) => {
                let mut state = self.state();
                value.and_then(|value| state.resets.insert(key, value));
                state.changed();
                Ok(())
            }
        }
    }

    /// Gives all settings that SET changed the values that RESET goes back to.
    pub(crate) fn reset_all(&self) {
        let mut state = self.state();
        // Those of nobody's stay known.
        let own = |(name, _): &(&String, &String)| Known::named(name).is_none();
        let emptied = state.session.iter().filter(own);
        let emptied: Values = emptied.map(|(name, _)| (name.clone(), String::new())).collect();
        state.session = Arc::new(emptied);
        state.local = Arc::default();
        state.changed();
    }

    /// Returns the characteristics with what a setting that belongs to the open transaction makes
    /// of them; `None` if it is another one.
    ///
    /// # Errors
    /// 22023.
    pub(crate) fn of_transaction(
        &self,
        name: &str,
        value: Option<&str>,
        from: Characteristics,
    ) -> Result<Option<Characteristics>> {
        let Some(known) = Known::named(name).filter(|one| one.access == Access::Transaction) else {
            return Ok(None);
        };
        let value = value.map(|value| known.kind.read(known.name, value)).transpose()?;
        let default = self.characteristics();
        Ok(Some(match known.name {
            "transaction_isolation" => {
                let level = value.map_or(default.level, |value| level_named(&value));
                Characteristics { level, ..from }
            }
            _ => {
                let is_read_only = value.map_or(default.is_read_only, |value| value == "on");
                Characteristics { is_read_only, ..from }
            }
        }))
    }

    /// Checks a value; returns the name and the value as they are kept.
    fn read(&self, name: &str, value: Option<&str>) -> Result<(String, Option<String>)> {
        let Some(known) = Known::named(name) else {
            return Ok((own_name(name)?, Some(value.unwrap_or_default().to_owned())));
        };
        let name = known.name;
        let fixed =
            |message| Err(Error::new(ErrorKind::InvalidStatement, message).with_code("55P02"));
        match known.access {
            Access::User => {}
            Access::Transaction => {
                return Err(Error::not_supported(format_args!("setting {name} in this way"))
                    .with_hint("Use SET TRANSACTION."));
            }
            Access::Identity => return self.identity(known, value),
            Access::Internal => return fixed(format!("parameter \"{name}\" cannot be changed")),
            Access::Server => {
                return fixed(format!(
                    "parameter \"{name}\" cannot be changed without restarting the server"
                ));
            }
        }
        let Some(text) = value else { return Ok((name.to_owned(), None)) };
        let value = known.kind.read(name, text)?;
        if !known.only.is_empty() && !known.only.contains(&value.as_str()) {
            return Err(Error::not_supported(format_args!("{name} \"{value}\""))
                .with_hint(format!("It can be {}.", known.only.join(", "))));
        }
        Ok((name.to_owned(), Some(value)))
    }

    /// Checks a value of `role` or `session_authorization`: there is one user.
    fn identity(&self, known: &Known, value: Option<&str>) -> Result<(String, Option<String>)> {
        let is_role = known.name == "role";
        match value {
            None => Ok((known.name.to_owned(), None)),
            Some(name) if name == self.info.user || (is_role && name == "none") => {
                Ok((known.name.to_owned(), Some(name.to_owned())))
            }
            Some(name) => Err(invalid_role(name)),
        }
    }

    /// Returns the characteristics of a new transaction.
    pub(crate) fn characteristics(&self) -> Characteristics {
        self.state().ready.characteristics
    }

    /// Returns the names in `search_path`.
    pub(crate) fn search_path(&self) -> Vec<String> {
        let state = self.state();
        let known = Known::named("search_path");
        known.and_then(|known| split_list(&state.value(known))).unwrap_or_default()
    }

    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        self.state().ready.statement_timeout
    }

    pub(crate) fn idle_in_transaction_timeout(&self) -> Option<Duration> {
        self.state().ready.idle_in_transaction_timeout
    }

    pub(crate) fn idle_timeout(&self) -> Option<Duration> {
        self.state().ready.idle_timeout
    }

    /// Notes that a block begins.
    pub(crate) fn begin_block(&self, characteristics: Characteristics) {
        let mut state = self.state();
        let before = Arc::clone(&state.session);
        state.block = Some(Block { before, characteristics });
    }

    /// Notes that the open block's transaction has other characteristics.
    pub(crate) fn change_block(&self, characteristics: Characteristics) {
        if let Some(block) = &mut self.state().block {
            block.characteristics = characteristics;
        }
    }

    /// Ends the block, if one is open; returns what was before it.
    pub(crate) fn end_block(&self, is_committed: bool) -> Option<Saved> {
        let mut state = self.state();
        let block = state.block.take()?;
        let has_local = !state.local.is_empty();
        let is_undone = !is_committed && !Arc::ptr_eq(&block.before, &state.session);
        if !is_committed {
            state.session = Arc::clone(&block.before);
        }
        if has_local || is_undone {
            state.local = Arc::default();
            state.changed();
        }
        Some(Saved { session: block.before, local: Arc::default() })
    }

    /// Returns what [`Settings::go_back`] goes back to.
    pub(crate) fn save(&self) -> Saved {
        let state = self.state();
        Saved { session: Arc::clone(&state.session), local: Arc::clone(&state.local) }
    }

    pub(crate) fn go_back(&self, saved: &Saved) {
        let mut state = self.state();
        state.session = Arc::clone(&saved.session);
        state.local = Arc::clone(&saved.local);
        state.changed();
    }

    /// Returns what clients are told of, if it changed since the last call.
    pub(crate) fn reported_changes(&self) -> Vec<(String, String)> {
        let mut state = self.state();
        if !std::mem::take(&mut state.is_news) {
            return Vec::new();
        }
        let now = ALL.iter().filter(|known| known.is_reported).map(|known| {
            let shown = known.kind.show(&state.value(known));
            (known.name.to_owned(), shown)
        });
        let news: Vec<(String, String)> =
            now.filter(|(name, value)| state.told.get(name) != Some(value)).collect();
        state.told.extend(news.iter().cloned());
        news
    }

    /// Returns all settings, in the order of their names.
    pub(crate) fn list(&self) -> Vec<SettingInfo> {
        let state = self.state();
        let known = ALL.iter().map(|known| state.info(known));
        let given = [&*state.session, &*state.local, &state.resets].map(Values::keys);
        let own = given.into_iter().flatten().filter(|name| Known::named(name).is_none());
        let mut all: Vec<SettingInfo> = known.chain(own.map(|name| state.own_info(name))).collect();
        all.sort_by_cached_key(|info| info.name.to_lowercase());
        all.dedup_by(|a, b| a.name == b.name);
        all
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ready {
    const INITIAL: Self = Self {
        characteristics: Characteristics {
            level: nacre_store::IsolationLevel::Serializable,
            is_read_only: false,
            is_synchronous: true,
        },
        statement_timeout: None,
        idle_in_transaction_timeout: None,
        idle_timeout: None,
    };
}

impl State {
    /// Has what depends on values be that of the values now.
    fn changed(&mut self) {
        self.is_news = true;
        let text = |name: &str| self.effective(name).map_or("", String::as_str);
        let time = |name| {
            let milliseconds: u64 = text(name).parse().unwrap_or(0);
            (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
        };
        self.ready = Ready {
            characteristics: Characteristics {
                level: level_named(text("default_transaction_isolation")),
                is_read_only: text("default_transaction_read_only") == "on",
                is_synchronous: text("synchronous_commit") != "off",
            },
            statement_timeout: time("statement_timeout"),
            idle_in_transaction_timeout: time("idle_in_transaction_session_timeout"),
            idle_timeout: time("idle_session_timeout"),
        };
    }

    /// Returns what a setting was given; `None` if nothing.
    fn effective(&self, name: &str) -> Option<&String> {
        let given = self.local.get(name).or_else(|| self.session.get(name));
        given.or_else(|| self.resets.get(name))
    }

    fn value(&self, known: &Known) -> String {
        let of_transaction = |block: &Block| block.characteristics;
        let now = self.block.as_ref().map_or(self.ready.characteristics, of_transaction);
        match known.name {
            "transaction_isolation" => level_name(now.level).to_owned(),
            "transaction_read_only" => on_or_off(now.is_read_only).to_owned(),
            name => self.effective(name).map_or(known.default, String::as_str).to_owned(),
        }
    }

    /// Returns what RESET gives; nothing to a setting of nobody's.
    fn reset_value(&self, name: &str) -> Option<String> {
        let default = || Known::named(name).map(|known| known.default.to_owned());
        self.resets.get(name).cloned().or_else(default)
    }

    fn info(&self, known: &Known) -> SettingInfo {
        let value = self.value(known);
        let is_given = self.local.contains_key(known.name) || self.session.contains_key(known.name);
        let source = match (is_given, self.resets.contains_key(known.name)) {
            (true, _) => "session",
            (false, true) => "client",
            (false, false) => "default",
        };
        SettingInfo {
            name: known.name.to_owned(),
            shown: known.kind.show(&value),
            value,
            unit: known.kind.unit(),
            description: known.description,
            context: match known.access {
                Access::User | Access::Transaction | Access::Identity => "user",
                Access::Internal => "internal",
                Access::Server => "postmaster",
            },
            kind: known.kind.name(),
            source,
            bounds: known.kind.bounds(),
            choices: known.kind.choices(),
            default: known.default.to_owned(),
            reset: self.reset_value(known.name).unwrap_or_default(),
        }
    }

    fn own_info(&self, name: &str) -> SettingInfo {
        let value = self.effective(name).cloned().unwrap_or_default();
        SettingInfo {
            name: name.to_owned(),
            shown: value.clone(),
            value,
            unit: None,
            description: "",
            context: "user",
            kind: "string",
            source: "session",
            bounds: None,
            choices: &[],
            default: String::new(),
            reset: self.reset_value(name).unwrap_or_default(),
        }
    }
}

/// Checks a name that only programs know; it is kept in small letters.
fn own_name(name: &str) -> Result<String> {
    if !name.contains('.') {
        return Err(unknown(name));
    }
    let is_word = |part: &str| {
        let is_letter = |c: char| c.is_alphabetic() || c == '_' || !c.is_ascii();
        part.starts_with(is_letter)
            && part.chars().all(|c| is_letter(c) || c.is_ascii_digit() || c == '$')
    };
    if name.split('.').all(is_word) {
        return Ok(name.to_lowercase());
    }
    let message = format!("invalid configuration parameter name \"{name}\"");
    let detail = "Custom parameter names must be two or more simple identifiers separated by dots.";
    Err(Error::new(ErrorKind::Syntax, message).with_code("42602").with_detail(detail))
}

/// Returns the error for a setting that is not there.
pub(crate) fn unknown(name: &str) -> Error {
    let message = format!("unrecognized configuration parameter \"{name}\"");
    Error::new(ErrorKind::UndefinedObject, message)
}

fn invalid_role(name: &str) -> Error {
    let error = Error::new(ErrorKind::UndefinedObject, format!("role \"{name}\" does not exist"));
    error.with_code("22023")
}
